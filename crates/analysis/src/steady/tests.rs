use plan::{Phase, Plan, Rate, Shape, criteria::parse_criterion, units::SECOND};
use record::{Manifest, RunContext, RunState};

use super::simulated::{MS, RATE, SimulatedSecond, about, phase, queue, random, run};
use super::*;
use crate::verdict::{self, Judged, Judgement};

fn plan(phases: Vec<Phase>, criteria: &[&str]) -> Plan {
    let mut plan = simulated::plan(phases);
    let parsed = criteria.iter().map(|text| parse_criterion(text).unwrap());
    plan.policy.criteria = parsed.collect();
    plan
}

fn ramp(seconds: u64) -> Phase {
    let (from, to) = (Rate::per_second(1), Rate::per_second(RATE));
    Phase::new(seconds * SECOND, Shape::Staircase { from, to })
}

fn simulated_run(seed: u64, seconds: u64, criteria: &[&str], ms: impl Fn(f64) -> f64) -> Run {
    let plan = plan(vec![phase(seconds)], criteria);
    simulated::simulated_run(&plan, seed, seconds, ms)
}

fn steady_state(run: &Run) -> Steady {
    detect(run, &moments::collect(run)).unwrap()
}

#[test]
fn warm_up_is_cut_and_rest_is_unchanged() {
    for seed in 0..20 {
        let warm = simulated_run(seed, 120, &[], |t| 5.0 + 45.0 * (-t / 10.0).exp());
        let reported = steady_state(&warm);
        assert_eq!(reported.behaviour, Behaviour::Steady, "{reported:?}");
        let cut = reported.settled_ns.unwrap() / SECOND;
        assert!((25..=60).contains(&cut), "{reported:?}");
        let p50 = reported.stats.unwrap().p50.ns.unwrap() as f64;
        assert!((p50 / (5.0 * MS) - 1.0).abs() < 0.02, "{p50}");
        assert!(
            reported.sentence.contains("after a warm-up of"),
            "{}",
            reported.sentence
        );
    }
}

#[test]
fn drift_shift_and_level_are_distinguished() {
    for seed in 0..20 {
        let up = steady_state(&simulated_run(seed, 120, &[], |t| 5.0 + 5.0 * t / 120.0));
        assert_eq!(
            (up.behaviour, up.settled_ns),
            (Behaviour::Drifting, None),
            "{up:?}"
        );
        let per_minute = up.change_per_minute.unwrap();
        assert!((0.3..0.55).contains(&per_minute), "{up:?}");
        let down = steady_state(&simulated_run(seed, 120, &[], |t| 10.0 - 5.0 * t / 120.0));
        assert_eq!(down.behaviour, Behaviour::WarmingUp, "{down:?}");
        let step = steady_state(&simulated_run(seed, 120, &[], |t| {
            if t < 60.0 { 5.0 } else { 6.0 }
        }));
        assert_eq!(step.behaviour, Behaviour::Shifting, "{step:?}");
        let at = step.at_ns.unwrap() / SECOND;
        assert!((57..=63).contains(&at), "{step:?}");
        assert!(
            (step.after_ns.unwrap() as f64 / (6.0 * MS) - 1.0).abs() < 0.03,
            "{step:?}"
        );
    }
    let steady = (0..40).map(|seed| steady_state(&simulated_run(seed, 60, &[], |_| 5.0)));
    let whole = steady
        .filter(|reported| reported.settled_ns == Some(0))
        .count();
    assert!(whole >= 38, "{whole} of 40");
}

#[test]
fn errors_that_come_and_go_on_are_a_shift() {
    let mut random = random(1);
    let plan = plan(vec![phase(90)], &[]);
    let failing = run(&plan, 90, |second| SimulatedSecond {
        failed: if second < 40 { 0 } else { 10 },
        ..about(&mut random, 5.0)
    });
    let reported = steady_state(&failing);
    assert_eq!(reported.figure.as_deref(), Some("errors"), "{reported:?}");
    assert_eq!(reported.at_ns, Some(40 * SECOND), "{reported:?}");
    assert!(
        reported.sentence.contains("from 0 % to 10.0 %"),
        "{}",
        reported.sentence
    );
}

#[test]
fn more_than_can_be_answered_is_an_overload_from_fifteen_seconds_on() {
    for (seconds, gives_up) in [(15, None), (60, None), (60, Some(1.0)), (60, Some(2.0))] {
        let reported = steady_state(&queue(seconds, 1100, gives_up));
        assert_eq!(
            reported.behaviour,
            Behaviour::Overload,
            "{seconds} {gives_up:?} {reported:?}"
        );
    }
    for comes in [500, 800, 950] {
        for seconds in [15, 60] {
            let reported = steady_state(&queue(seconds, comes, None));
            assert_ne!(
                reported.behaviour,
                Behaviour::Overload,
                "{comes} {reported:?}"
            );
        }
    }
}

#[test]
fn the_longest_phase_of_constant_load_is_looked_at_and_no_other() {
    let mut noise = random(3);
    let phases = vec![ramp(40), phase(30), phase(60), ramp(90)];
    let plan = plan(phases, &["p99 in steady < 20ms"]);
    let slow = |second| {
        if (70..130).contains(&second) {
            5.0
        } else {
            50.0
        }
    };
    let run = run(&plan, 220, |second| about(&mut noise, slow(second)));
    let reported = steady_state(&run);
    assert_eq!(reported.phase, Some(2));
    assert_eq!(
        (reported.from_ns, reported.to_ns),
        (70 * SECOND, 130 * SECOND)
    );
    assert_eq!(reported.behaviour, Behaviour::Steady, "{reported:?}");
    assert!(
        reported.sentence.contains("in phase 3"),
        "{}",
        reported.sentence
    );
    assert_eq!(judged(&run)[0].judgement, Judgement::Pass);
    assert_eq!(reported.stats.unwrap().count, 60 * RATE);
}

#[test]
fn of_what_is_too_short_or_never_the_same_nothing_is_said() {
    let short = steady_state(&simulated_run(4, 20, &[], |_| 5.0));
    assert_eq!(short.behaviour, Behaviour::Unknown);
    assert!(
        short.sentence.contains("constant for only"),
        "{}",
        short.sentence
    );
    let mut noise = random(5);
    let ramped = run(&plan(vec![ramp(60)], &[]), 60, |_| about(&mut noise, 5.0));
    assert!(
        steady_state(&ramped)
            .sentence
            .contains("the load is never constant")
    );
    let mut stopped = simulated_run(6, 120, &[], |_| 5.0);
    stopped.manifest.state = RunState::Interrupted;
    stopped.manifest.end = Some(record::RunEnd {
        ns: 20 * SECOND,
        reason: None,
        cause: None,
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    });
    assert_eq!(steady_state(&stopped).behaviour, Behaviour::Unknown);
    let silent = run(&plan(vec![phase(60)], &[]), 60, |second| SimulatedSecond {
        issued: u64::from(second % 10 == 0),
        ..SimulatedSecond::default()
    });
    assert_eq!(steady_state(&silent).behaviour, Behaviour::Unknown);
}

fn judged(run: &Run) -> Vec<Judged> {
    verdict::judge(run, &verdict::timeline::build(run), 120 * SECOND)
}

#[test]
fn a_criterion_in_the_steady_state_is_not_of_the_warm_up() {
    let criteria = [
        "p99 < 20ms",
        "p99 in steady < 20ms",
        "p99 of \"GET /\" in steady < 20ms",
        "service p50 in steady < 4ms",
        "rate in steady > 99/s",
        "errors in steady < 1%",
        "in-flight in steady < 1",
        "unsent in steady < 1%",
    ];
    let run = simulated_run(7, 120, &criteria, |t| 5.0 + 45.0 * (-t / 10.0).exp());
    let judged = judged(&run);
    let came_out: Vec<Judgement> = judged.iter().map(|judged| judged.judgement).collect();
    use Judgement::{Fail, Inconclusive, Pass};
    assert_eq!(
        came_out,
        [Fail, Pass, Pass, Fail, Pass, Pass, Pass, Inconclusive],
        "{judged:?}"
    );
    let timeline = verdict::timeline::build(&run);
    let cut = (timeline.steady.unwrap().settled_ns.unwrap() / SECOND) as usize;
    assert!(timeline.criteria[1][..cut].iter().all(Option::is_none));
    assert!(
        timeline.criteria[1][cut..]
            .iter()
            .all(|held| *held == Some(true))
    );
}

#[test]
fn without_a_steady_state_nothing_is_judged_in_it() {
    let run = simulated_run(8, 120, &["p50 in steady < 20ms"], |t| 5.0 + 5.0 * t / 120.0);
    let judged = judged(&run).remove(0);
    assert_eq!(judged.judgement, Judgement::Inconclusive);
    let reason = judged.reason.unwrap();
    assert!(
        reason.starts_with("there was no steady state: p50 of the response time rose"),
        "{reason}"
    );
    let error = |phases: Vec<Phase>| {
        let manifest = Manifest::new(&plan(phases, &[]), RunContext::default());
        let criterion = parse_criterion("p50 in steady < 20ms").unwrap();
        verdict::without_subject(
            &manifest,
            None,
            &record::server::ServerMetrics::default(),
            &criterion,
        )
    };
    assert_eq!(error(vec![phase(10)]), None);
    assert!(
        error(vec![ramp(60)])
            .unwrap()
            .contains("the load is never constant")
    );
}

#[test]
fn a_load_that_is_changed_is_another_load() {
    let mut run = simulated_run(9, 120, &[], |t| if t < 50.0 { 5.0 } else { 8.0 });
    assert_eq!(steady_state(&run).behaviour, Behaviour::Shifting);
    let mut event = record::Event::new(50 * SECOND, record::EventKind::Warning, "changed");
    event.change = Some(record::LoadChange {
        quantity: record::Changed::Rate,
        from: 50.0,
        to: 100.0,
        planned: None,
        phases: Vec::new(),
    });
    run.events.push(event);
    let reported = steady_state(&run);
    assert_eq!(reported.behaviour, Behaviour::Steady, "{reported:?}");
    assert_eq!(
        (reported.from_ns, reported.to_ns),
        (50 * SECOND, 120 * SECOND)
    );
}

#[test]
fn of_a_phase_it_is_said_what_came_and_went_and_whether_a_backlog_grew() {
    let of = |seconds: u64, answered: u64, slower: f64| {
        let plan = plan(vec![phase(2), phase(seconds)], &[]);
        let run = run(&plan, 2 + seconds, |second| SimulatedSecond {
            issued: RATE,
            answered: vec![(10.0 + slower * second as f64) * MS; answered as usize],
            ..SimulatedSecond::default()
        });
        of_phase(&run, &moments::collect(&run), 1, RATE as f64).unwrap()
    };
    let overload = of(12, 80, 50.0);
    assert_eq!((overload.arrived, overload.answered), (100.0, 80.0));
    assert_eq!(overload.grows, Some(20.0));
    assert_eq!(
        (of(12, 100, 0.0).grows, of(12, 100, 0.0).is_judged),
        (None, true)
    );
    assert_eq!(of(12, 80, 0.0).grows, None);
    assert_eq!(
        (of(6, 80, 50.0).grows, of(6, 80, 50.0).is_judged),
        (None, false)
    );
}
