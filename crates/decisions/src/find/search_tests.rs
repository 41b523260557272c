use super::*;
use crate::find::simulated::{
    BUSY_POOL, FULL_POOL, KNOWN, KnownLoadLine, Objective, POOL, ProbeLength, SLOWING,
    SearchStatistics, ServiceTime, SimulatedService, config, search,
};

#[derive(Clone, Copy)]
enum Form {
    Usual,
    Short,
}

impl Form {
    fn config(self, seed: u64) -> SearchConfig {
        match self {
            Form::Usual => config(300.0, 15.0, seed),
            Form::Short => SearchConfig {
                from: 100.0,
                ..config(90.0, 8.0, seed)
            },
        }
    }
}

fn searches(known: &KnownLoadLine, form: Form, count: u64) -> SearchStatistics {
    SearchStatistics::of_searches(known, count, |seed| form.config(seed))
}

#[test]
fn the_load_line_of_a_known_service_is_found_and_lies_in_the_interval() {
    for known in &KNOWN {
        let found = searches(known, Form::Usual, 12);
        assert!(
            found.covered >= 10,
            "{}: {} of 12",
            known.name,
            found.covered
        );
        assert!(
            found.error(0.5) < 0.04,
            "{}: {:?}",
            known.name,
            found.errors
        );
        assert!(
            found.error(0.8) < 0.08,
            "{}: {:?}",
            known.name,
            found.errors
        );
    }
}

#[test]
#[ignore = "thousands of searches take minutes"]
fn intervals_hold_the_load_lines() {
    for known in &KNOWN {
        for (form, count, error) in [(Form::Usual, 300, 0.03), (Form::Short, 150, 0.06)] {
            let found = searches(known, form, count);
            println!(
                "{}: covered {:.3}, drifts {}, error {:.4} in half of them, {:.4} in 19 of 20",
                known.name,
                found.covered as f64 / count as f64,
                found.drifted,
                found.error(0.5),
                found.error(0.95)
            );
            assert!(
                found.covered as f64 >= 0.92 * count as f64,
                "{}",
                found.covered
            );
            assert!(found.error(0.5) < error);
        }
    }
}

#[test]
fn a_service_that_gets_slower_has_no_load_line() {
    let slowing = searches(&SLOWING, Form::Usual, 20);
    assert!(slowing.drifted >= 15, "{} of 20", slowing.drifted);
    for known in [&KNOWN[0], &KNOWN[3], &KNOWN[4], &KNOWN[6]] {
        let found = searches(known, Form::Usual, 10);
        assert!(found.drifted <= 1, "{}: {}", known.name, found.drifted);
    }
}

fn steady_share(known: &KnownLoadLine, rate: f64) -> f64 {
    let (mut count, mut beyond) = (0.0, 0.0);
    let length = ProbeLength {
        settle_s: 30.0,
        seconds: 600,
    };
    for seed in 0..120 {
        let seen = known.service.load(rate, known.objective, length, seed, 0.0);
        for (n, over) in seen.counted {
            count += n;
            beyond += over;
        }
    }
    beyond / count
}

#[test]
#[ignore = "days of simulated load take a minute"]
fn the_load_lines_without_a_closed_form_are_right() {
    for known in &KNOWN {
        let allowed = known.objective.allowed;
        let below = steady_share(known, known.load_line * 0.985);
        let above = steady_share(known, known.load_line * 1.015);
        println!("{}: {below} < {allowed} < {above}", known.name);
        assert!(below < allowed && allowed < above, "{}", known.name);
    }
}

#[test]
fn a_full_pool_is_found_where_it_is_full() {
    for seed in 0..10 {
        let (end, _) = search(POOL, FULL_POOL.objective, &config(300.0, 15.0, seed));
        let SearchEnd::Found(found) = end else {
            panic!("{end:?}")
        };
        // Just above 160/s, the queue grows too slowly to exceed the bound within a probe.
        let (low, high) = found.interval();
        assert!(
            low.exp() < 162.0 && high.exp() > 158.0,
            "{seed}: {low} {high}"
        );
        let estimate = found.estimate().exp();
        assert!((150.0..=165.0).contains(&estimate), "{seed}: {estimate}");
    }
}

#[test]
fn an_overload_that_is_too_slow_for_the_bound_is_found_by_its_backlog() {
    // At 163/s, each second adds 19 ms of waiting time, so 15 s are not enough to reach 2 s.
    for service in [POOL, BUSY_POOL] {
        for (form, off) in [(Form::Usual, 0.05), (Form::Short, 0.10)] {
            for (bound, seed) in (0..10).flat_map(|seed| [(1.0, seed), (2.0, seed)]) {
                let objective = Objective {
                    allowed: 0.01,
                    bound_s: Some(bound),
                };
                let (end, _) = search(service, objective, &form.config(seed));
                let SearchEnd::Found(found) = end else {
                    panic!("{end:?}")
                };
                let estimate = found.estimate().exp();
                assert!((estimate / 160.0 - 1.0).abs() < off, "{seed}: {estimate}");
            }
        }
    }
}

/// Services with exponential service times: with one server, with four servers, and with as many
/// servers as the pool has.
const SLOW: SimulatedService = SimulatedService {
    mean_s: 0.010,
    ..KNOWN[0].service
};
const FOUR: SimulatedService = KNOWN[1].service;
const EIGHT: SimulatedService = SimulatedService {
    time: ServiceTime::Exponential,
    ..BUSY_POOL
};

fn grows(service: SimulatedService, times: f64, seconds: usize, probes: u64) -> f64 {
    let rate = times * service.servers as f64 / service.mean_s;
    let objective = Objective {
        allowed: 0.01,
        bound_s: Some(2.0),
    };
    let growing = (0..probes).filter(|seed| {
        let length = ProbeLength {
            settle_s: 2.0,
            seconds,
        };
        let seen = service.load(rate, objective, length, *seed, 0.0);
        seen.grows(rate, seconds) == Some(true)
    });
    growing.count() as f64 / probes as f64
}

#[test]
fn growing_backlog_differs_from_long_one() {
    for seconds in [5, 8, 15] {
        for service in [SLOW, FOUR, EIGHT, BUSY_POOL, POOL] {
            for times in [0.8, 0.9, 0.95] {
                let share = grows(service, times, seconds, 100);
                assert!(share <= 0.01, "{service:?} {times} {seconds}: {share}");
            }
        }
    }
    assert!(grows(BUSY_POOL, 1.03, 15, 100) > 0.7);
    assert!(grows(BUSY_POOL, 1.05, 8, 100) > 0.7);
    assert!(grows(POOL, 1.03, 5, 20) > 0.99);
}

#[test]
#[ignore = "the figures that the documents give take a minute"]
fn how_often_a_backlog_is_said_to_grow() {
    for service in [SLOW, FOUR, EIGHT, BUSY_POOL] {
        for seconds in [5, 8, 15] {
            let shares = [0.8, 0.9, 0.95, 1.02, 1.03, 1.05, 1.1].map(|times| {
                let share = grows(service, times, seconds, 1_000);
                assert!(times > 1.0 || share <= 0.01, "{service:?} {times}: {share}");
                format!("{times}: {:.1} %", share * 100.0)
            });
            println!(
                "{} servers, {:?}, {seconds} s: {}",
                service.servers,
                service.time,
                shares.join(", ")
            );
        }
    }
}

fn probed(level: f64, over: f64, invalid: Option<InvalidProbe>) -> ProbeResult {
    ProbeResult {
        level,
        reason: ProbeReason::Up,
        spent_s: 4.0,
        tallies: vec![ViolationTally {
            allowed: 0.01,
            seconds: vec![(level, over * level); 3],
        }],
        grows: None,
        answered: None,
        invalid,
    }
}

#[test]
fn what_fails_at_the_lowest_level_ends_the_search() {
    let config = config(300.0, 15.0, 1);
    let twice = [10.0, 10.0].map(|level| probed(level, 0.5, None));
    let down = next(&config, &twice);
    assert!(
        matches!(&down, SearchStep::Probe(probe) if probe.level == 2.5 && probe.reason == ProbeReason::Down)
    );
    let probes = [10.0, 2.5, 1.0].map(|level| probed(level, 0.5, None));
    assert_eq!(
        next(&config, &probes),
        SearchStep::End(SearchEnd::NotEvenLowest)
    );
}

fn one_look(over: f64) -> ViolationTally {
    ViolationTally {
        allowed: 0.5,
        seconds: vec![(1.0, over)],
    }
}

#[test]
fn criterion_without_share_fails_by_one_sample() {
    let mut failed = probed(10.0, 0.0, None);
    failed.tallies = vec![one_look(1.0)];
    assert!(!failed.holds());
    failed.tallies = vec![one_look(0.0)];
    assert!(failed.holds());
    failed.tallies = vec![ViolationTally {
        allowed: 0.5,
        seconds: vec![(5.0, 5.0)],
    }];
    assert!(!failed.holds());
    // Among twenty samples, one sample beyond p99 may be due to chance.
    failed.tallies = vec![ViolationTally {
        allowed: 0.01,
        seconds: vec![(20.0, 1.0)],
    }];
    assert!(failed.holds());
}

#[test]
fn a_wrong_first_look_is_asked_again_and_forgotten() {
    let config = config(300.0, 15.0, 1);
    let mut probes = vec![probed(10.0, 0.5, None)];
    let again = next(&config, &probes);
    assert!(matches!(again, SearchStep::Probe(probe) if probe.level == 10.0));
    probes.push(probed(10.0, 0.0, None));
    let up = next(&config, &probes);
    assert!(
        matches!(up, SearchStep::Probe(probe) if probe.level == 20.0 && probe.reason == ProbeReason::Up)
    );
    let probes = [(10.0, 0.0), (20.0, 0.5), (22.0, 0.0), (24.0, 0.0)];
    let probes = probes.map(|(level, over)| probed(level, over, None));
    let up = next(&config, &probes);
    assert!(
        matches!(&up, SearchStep::Probe(probe) if probe.level == 48.0),
        "{up:?}"
    );
}

#[test]
fn what_is_known_is_not_lost_where_the_generator_comes_to_its_limit() {
    let config = config(300.0, 15.0, 1);
    let looks = [(10.0, 0.0), (20.0, 0.9), (14.0, 0.0), (16.0, 0.9)];
    let mut probes: Vec<ProbeResult> = looks
        .iter()
        .map(|(level, over)| probed(*level, *over, None))
        .collect();
    let limited = [15.0, 15.0].map(|level| probed(level, 0.9, Some(InvalidProbe::Limited)));
    let mut without = probes.clone();
    without.extend(limited.clone());
    assert_eq!(
        next(&config, &without),
        SearchStep::End(SearchEnd::GeneratorLimited)
    );
    let near =
        [(13.8, 0.0), (14.4, 0.0), (15.4, 0.9), (15.8, 0.9)].map(|(level, over)| ProbeResult {
            reason: ProbeReason::Near,
            ..probed(level, over, None)
        });
    probes.extend(near);
    probes.extend(limited);
    let end = next(&config, &probes);
    assert!(
        matches!(&end, SearchStep::End(SearchEnd::Found(_))),
        "{end:?}"
    );
}

#[test]
fn what_holds_everywhere_ends_it_at_the_highest_level() {
    let config = SearchConfig {
        most: Some(30.0),
        ..config(300.0, 15.0, 1)
    };
    let probes = [10.0, 20.0].map(|level| probed(level, 0.0, None));
    let last = next(&config, &probes);
    assert!(matches!(last, SearchStep::Probe(probe) if probe.level == 30.0));
    let probes = [10.0, 20.0, 30.0].map(|level| probed(level, 0.0, None));
    assert_eq!(
        next(&config, &probes),
        SearchStep::End(SearchEnd::HoldsToMost)
    );
}

#[test]
fn what_the_generator_spoils_is_tried_once_more() {
    let config = config(300.0, 15.0, 1);
    let mut probes = vec![
        probed(10.0, 0.0, None),
        probed(20.0, 0.0, Some(InvalidProbe::Limited)),
    ];
    let again = next(&config, &probes);
    assert!(matches!(again, SearchStep::Probe(probe) if probe.level == 20.0));
    probes.push(probed(20.0, 0.0, Some(InvalidProbe::Limited)));
    assert_eq!(
        next(&config, &probes),
        SearchStep::End(SearchEnd::GeneratorLimited)
    );
}

#[test]
fn disturbed_generator_gets_retries_then_ends_search() {
    let config = config(300.0, 15.0, 1);
    let mut probes = vec![probed(10.0, 0.0, None)];
    for _ in 0..DISTURBED {
        let again = next(&config, &probes);
        assert!(matches!(again, SearchStep::Probe(probe) if probe.level == 20.0));
        probes.push(probed(20.0, 0.0, Some(InvalidProbe::Disturbed)));
    }
    assert_eq!(
        next(&config, &probes),
        SearchStep::End(SearchEnd::GeneratorDisturbed)
    );
}

#[test]
fn a_spent_budget_without_an_answer_is_none() {
    let config = config(20.0, 15.0, 1);
    let probes: Vec<ProbeResult> = (0..5)
        .map(|n| probed(10.0 * 2f64.powi(n), 0.0, None))
        .collect();
    assert_eq!(
        next(&config, &probes),
        SearchStep::End(SearchEnd::OutOfBudget)
    );
}

#[test]
fn users_are_whole_numbers() {
    let config = SearchConfig {
        whole: true,
        from: 3.0,
        ..config(300.0, 15.0, 1)
    };
    let mut probes = vec![
        probed(3.0, 0.0, None),
        probed(6.0, 0.0, None),
        probed(12.0, 0.9, None),
    ];
    for _ in 0..4 {
        let SearchStep::Probe(probe) = next(&config, &probes) else {
            break;
        };
        assert_eq!(probe.level, probe.level.round());
        let over = if probe.level > 8.0 { 0.9 } else { 0.0 };
        probes.push(ProbeResult {
            reason: probe.reason,
            ..probed(probe.level, over, None)
        });
    }
    let found = known(&probes).unwrap().estimate().exp();
    assert!((7.5..=9.5).contains(&found), "{found}");
}

#[test]
fn each_probe_has_a_seed_of_its_own() {
    let seeds: std::collections::BTreeSet<u64> =
        (0..100).map(|number| probe_seed(3, number)).collect();
    assert_eq!(seeds.len(), 100);
    assert_eq!(probe_seed(3, 7), probe_seed(3, 7));
    assert_ne!(probe_seed(4, 7), probe_seed(3, 7));
}

#[test]
fn contradicting_probes_have_what_held_probed_again() {
    let config = config(300.0, 15.0, 1);
    let long = |level: f64, over: f64, answered: f64| ProbeResult {
        reason: ProbeReason::Near,
        spent_s: 17.0,
        answered: Some(answered),
        ..probed(level, over, None)
    };
    let mut probes = vec![probed(80.0, 0.0, None), probed(320.0, 0.9, None)];
    probes.extend([
        long(140.0, 0.0, 140.0),
        long(160.0, 0.0, 160.0),
        long(158.0, 0.5, 150.0),
        long(150.0, 0.5, 140.0),
        long(130.0, 0.5, 120.0),
    ]);
    let SearchStep::Probe(again) = next(&config, &probes) else {
        panic!("the search ended")
    };
    assert_eq!((again.level, again.reason), (160.0, ProbeReason::Again));
    probes.push(ProbeResult {
        reason: ProbeReason::Again,
        ..long(160.0, 0.9, 110.0)
    });
    let end = next(&config, &probes);
    assert!(
        matches!(end, SearchStep::End(SearchEnd::Drifts(by)) if by < -0.1),
        "{end:?}"
    );
}
