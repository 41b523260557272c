use std::collections::BinaryHeap;

use measure::{Histogram, NoAnswer, OutcomeClass, TimeSpan, label};
use plan::{Format, Plan, units::SECOND};
use record::{Manifest, RunContext};

use super::*;

const MS: u64 = 1_000_000;

fn plan(rules: &[&str]) -> Plan {
    let load = Load::users(1, 3600 * SECOND);
    let mut plan = Plan::new("t".into(), Format::NATIVE, "http://x".into(), load, vec![]);
    let parsed = rules
        .iter()
        .map(|rule| plan::criteria::parse_stop(rule).unwrap());
    plan.policy.stop = parsed.collect();
    plan
}

fn run(plan: &Plan) -> Run {
    let started = RunContext {
        version: String::new(),
        command: Vec::new(),
        frontend: "run".into(),
        workers: 1,
        seed: 0,
        wall_ns: 0,
        monotonic_ns: 0,
        run_id: String::new(),
        share: None,
        node: None,
        processes: None,
    };
    Run::planned(Manifest::new(plan, started), Vec::new())
}

fn second(number: u64, answered: &[(u64, u64)], lost: u64) -> Interval {
    let mut slot = Slot::default();
    slot.counters.ok = answered.iter().map(|(_, n)| n).sum();
    slot.counters.unanswered[NoAnswer::Reset as usize] = lost;
    for (ms, n) in answered {
        for kind in [TimeKind::Response, TimeKind::Service] {
            slot.histogram_mut(kind, OutcomeClass::Ok)
                .record_n(ms * MS, *n);
        }
    }
    Interval {
        index: number,
        span: TimeSpan::new(number * SECOND, (number + 1) * SECOND),
        slots: [((label::ALL, 0), slot)].into(),
        ..Interval::default()
    }
}

fn fires(rule: &str, seconds: impl IntoIterator<Item = Interval>) -> Option<u64> {
    let plan = plan(&[rule]);
    let (mut rules, run) = (StopRules::from_plan(&plan), run(&plan));
    seconds
        .into_iter()
        .find_map(|second| rules.look(&second, &run).map(|_| second.index + 1))
}

#[test]
fn a_condition_that_holds_from_a_second_on_stops_within_its_window_and_a_second() {
    let slow_from_30 = |n| second(n, &[(if n < 30 { 20 } else { 3000 }, 100)], 0);
    assert_eq!(
        fires("p95 > 2s for 10s: stop", (0..90).map(slow_from_30)),
        Some(40)
    );
    let failing_from_30 = |n| second(n, &[(20, 90)], if n < 30 { 0 } else { 10 });
    assert_eq!(
        fires("errors > 5% for 5s: stop", (0..90).map(failing_from_30)),
        Some(35)
    );
    let sparse = |n| second(n, &[(if n < 30 { 20 } else { 3000 }, 4)], 0);
    let fired = fires("p95 > 2s for 10s: stop", (0..90).map(sparse));
    assert!(fired.is_some_and(|second| second <= 40), "{fired:?}");
}

#[test]
fn one_bad_second_does_not_fire() {
    let burst = |n| {
        second(
            n,
            &[(20, if n == 30 { 0 } else { 100 })],
            if n == 30 { 100 } else { 0 },
        )
    };
    assert_eq!(fires("errors > 5% for 10s: stop", (0..90).map(burst)), None);
    let first_only = |n| second(n, &[(if n < 8 { 3000 } else { 20 }, 100)], 0);
    assert_eq!(
        fires("p95 > 2s for 10s: stop", (0..60).map(first_only)),
        None
    );
}

#[test]
fn two_bad_seconds_with_few_samples_do_not_fire() {
    for (rate, bad) in [(20, 1), (20, 2), (80, 2), (80, 3), (80, 5), (200, 7)] {
        for rule in ["p95 > 2s for 10s: stop", "errors > 5% for 10s: stop"] {
            let burst = |n: u64| {
                let is_bad = (30..30 + bad).contains(&n);
                let slow = if is_bad { rate } else { 0 };
                if rule.starts_with("errors") {
                    second(n, &[(20, rate - slow)], slow)
                } else {
                    second(n, &[(20, rate - slow), (3000, slow)], 0)
                }
            };
            assert_eq!(fires(rule, (0..90).map(burst)), None, "{rate} {bad} {rule}");
        }
    }
}

#[test]
fn a_target_that_says_nothing_any_more_is_too_slow() {
    let stuck = |n: u64| {
        let mut interval = second(n, &[(20, if n < 10 { 50 } else { 0 })], 0);
        if n >= 10 {
            let mut ages = Histogram::default();
            ages.record_n((n - 9) * SECOND, 50);
            interval.in_flight_ages = [(label::ALL, ages)].into();
        }
        interval
    };
    let fired = fires("p99 > 3s for 5s: stop", (0..60).map(stuck));
    assert!(
        fired.is_some_and(|second| (14..=19).contains(&second)),
        "{fired:?}"
    );
}

#[test]
fn what_has_no_samples_fires_nothing_and_a_number_of_errors_is_a_number() {
    let nothing = |n| second(n, &[], 0);
    for rule in ["p95 > 1ms for 2s: stop", "errors > 1% for 2s: stop"] {
        assert_eq!(fires(rule, (0..20).map(nothing)), None);
    }
    assert_eq!(
        fires("rate < 1/s for 2s: stop", (0..20).map(nothing)),
        Some(2)
    );
    let one_each = |n| second(n, &[], 1);
    assert_eq!(
        fires("errors > 4 for 10s: stop", (0..20).map(one_each)),
        Some(10)
    );
}

#[test]
fn the_guard_acts_only_where_the_load_goes_up() {
    let mut guarded = plan(&[]);
    guarded.policy.guard = true;
    guarded.load = Load::Open {
        phases: [10, 20]
            .map(|rate| {
                plan::Phase::new(40 * SECOND, plan::Shape::Rate(plan::Rate::per_second(rate)))
            })
            .into(),
        first: plan::FirstArrival::AtStart,
    };
    let (mut rules, run) = (StopRules::from_plan(&guarded), run(&guarded));
    let fired = (0..80).find_map(|n| {
        let fired = rules.look(&second(n, &[(20, 4)], 6), &run)?;
        Some((n + 1, fired.text.starts_with("guard: ")))
    });
    assert_eq!(fired, Some((39, true)));
}

fn queue(seed: u64, seconds: u64) -> impl Iterator<Item = Interval> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut exponential = move |mean_ns: f64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let uniform = (state >> 11) as f64 / (1u64 << 53) as f64;
        (-(1.0 - uniform).ln() * mean_ns) as u64
    };
    let mut by_second: Vec<Vec<(u64, u64)>> = vec![Vec::new(); seconds as usize];
    let mut free: BinaryHeap<std::cmp::Reverse<u64>> =
        (0..4).map(|_| std::cmp::Reverse(0)).collect();
    let mut now = 0;
    while now < seconds * SECOND {
        now += exponential(SECOND as f64 / 32.0);
        let begins = free.pop().map_or(now, |at| at.0.max(now));
        let ends = begins + exponential(100.0 * MS as f64);
        free.push(std::cmp::Reverse(ends));
        if let Some(ended) = by_second.get_mut((ends / SECOND) as usize) {
            ended.push(((ends - now) / MS, 1));
        }
    }
    let numbered = (0..).zip(by_second);
    numbered.map(|(number, answered)| second(number, &answered, 0))
}

const OF_THE_STUDY: [&str; 3] = [
    "p95 > 2s for 10s: stop",
    "errors > 5% for 5s: stop",
    "mean > 1s for 10s: stop",
];

fn false_stops(runs: u64) -> usize {
    let fired = |seed: &u64| {
        let plan = plan(&OF_THE_STUDY);
        let (mut rules, run) = (StopRules::from_plan(&plan), run(&plan));
        queue(*seed, 60).any(|second| rules.look(&second, &run).is_some())
    };
    (1..=runs).filter(fired).count()
}

#[test]
fn a_queue_that_keeps_up_is_never_stopped() {
    assert_eq!(false_stops(50), 0);
}

#[test]
#[ignore = "two thousand runs take a while"]
fn a_queue_that_keeps_up_is_never_stopped_in_two_thousand_runs() {
    assert_eq!(false_stops(2000), 0);
}
