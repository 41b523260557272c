//! Searches in simulated services whose capacity is known in closed form.

use super::*;

/// A service of `servers` that each take so long on average: at random, from what comes at random; or always alike, from what comes evenly.
#[derive(Clone, Copy)]
struct Service {
    servers: usize,
    mean_s: f64,
    is_random: bool,
}

/// Samples and exceedances of the bound, second by second, of a load of this rate that began a while before.
fn load(
    service: Service,
    rate: f64,
    bound_s: f64,
    (settle_s, seconds): (f64, usize),
    seed: u64,
) -> Vec<(f64, f64)> {
    let mut random = Rng::keyed(seed, Purpose::Resampling, 12, 0);
    let mut free = vec![0.0f64; service.servers];
    let mut counted = vec![(0.0, 0.0); seconds];
    let mut at = 0.0f64;
    let until = settle_s + seconds as f64;
    loop {
        at += if service.is_random {
            -(1.0 - random.unit()).ln() / rate
        } else {
            1.0 / rate
        };
        if at >= until {
            return counted;
        }
        let takes = if service.is_random {
            -(1.0 - random.unit()).ln() * service.mean_s
        } else {
            service.mean_s
        };
        let first = free.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        let done = first.max(at) + takes;
        *first = done;
        // By when it was due, as a probe's phases have it; what is still under way at the end is waited for.
        if at >= settle_s {
            let second = &mut counted[(at - settle_s) as usize];
            second.0 += 1.0;
            second.1 += f64::from(u8::from(done - at > bound_s));
        }
    }
}

fn asked(budget_s: f64, probe_s: f64, seed: u64) -> Asked {
    Asked {
        from: 10.0,
        least: 1.0,
        most: None,
        precision: 0.025,
        budget_s,
        probe_s,
        settle_s: 2.0,
        whole: false,
        seed,
    }
}

/// A whole search: how it ended, and what it took.
fn search(service: Service, bound_s: f64, asked: &Asked) -> (End, Vec<Probed>) {
    let mut probes: Vec<Probed> = Vec::new();
    loop {
        match next(asked, &probes) {
            Step::End(end) => return (end, probes),
            Step::Probe(probe) => {
                let number = asked.seed * 1_000 + probes.len() as u64;
                let seconds = probe.seconds.ceil() as usize;
                let counted = load(
                    service,
                    probe.level,
                    bound_s,
                    (asked.settle_s, seconds),
                    number,
                );
                let tally = |until: usize| Tally {
                    allowed: 0.01,
                    seconds: counted[..until].to_vec(),
                };
                let is_over = |until: &usize| match probe.why {
                    Why::Near => tally(*until).fails_plainly(),
                    _ => tally(*until).standing() != Standing::Open,
                };
                let until = (3..seconds).find(is_over).unwrap_or(seconds);
                probes.push(Probed {
                    level: probe.level,
                    why: probe.why,
                    spent_s: until as f64 + asked.settle_s,
                    tallies: vec![tally(until)],
                    spoilt: None,
                });
            }
        }
    }
}

/// Of searches with these seeds: how many have the truth in their interval, and the errors of their answers, the smallest first.
struct Came {
    covered: usize,
    errors: Vec<f64>,
}

impl Came {
    fn of(service: Service, (bound_s, truth): (f64, f64), searches: u64, form: Form) -> Came {
        let mut came = Came {
            covered: 0,
            errors: Vec::new(),
        };
        for seed in 0..searches {
            let asked = form.asked(seed);
            let (end, probes) = search(service, bound_s, &asked);
            let End::Found(found) = end else {
                panic!("{seed}: {end:?} after {} probes", probes.len());
            };
            let spent: f64 = probes.iter().map(|probe| probe.spent_s).sum();
            assert!(spent <= asked.budget_s, "{seed}: {spent} s");
            let (low, high) = found.interval();
            came.covered += usize::from((low..=high).contains(&truth.ln()));
            came.errors.push((found.estimate() - truth.ln()).abs());
        }
        came.errors.sort_by(f64::total_cmp);
        came
    }

    fn share_covered(&self) -> f64 {
        self.covered as f64 / self.errors.len() as f64
    }

    /// The error that this share of the searches stays below.
    fn error(&self, share: f64) -> f64 {
        self.errors[((self.errors.len() - 1) as f64 * share) as usize]
    }
}

#[derive(Clone, Copy)]
enum Form {
    /// As it is when nobody says anything.
    Usual,
    /// A minute of probing, and what settling takes beside it.
    Short,
}

impl Form {
    fn asked(self, seed: u64) -> Asked {
        match self {
            Form::Usual => asked(300.0, 15.0, seed),
            Form::Short => Asked {
                from: 100.0,
                ..asked(90.0, 8.0, seed)
            },
        }
    }
}

const ONE: Service = Service {
    servers: 1,
    mean_s: 0.001,
    is_random: true,
};
const FOUR: Service = Service {
    servers: 4,
    mean_s: 0.010,
    is_random: true,
};
/// Exponential services, the bound of p99, and the rate at which it is met exactly: by the closed forms of M/M/1 and M/M/c.
const KNOWN: [(Service, (f64, f64)); 3] = [
    (ONE, (0.020, 769.7)),
    (FOUR, (0.060, 299.8)),
    (FOUR, (0.100, 350.1)),
];

#[test]
fn the_load_line_of_a_known_service_is_found_and_lies_in_the_interval() {
    for (service, known) in KNOWN {
        let came = Came::of(service, known, 25, Form::Usual);
        assert!(came.share_covered() >= 0.84, "{} of 25", came.covered);
        assert!(came.error(0.5) < 0.03, "{:?}", came.errors);
        assert!(came.error(0.9) < 0.06, "{:?}", came.errors);
        let short = Came::of(service, known, 15, Form::Short);
        assert!(short.error(0.5) < 0.10, "{:?}", short.errors);
    }
}

/// The figures that the documents give. Of a minute of probing the intervals are a little too narrow, which the documents say.
fn covers((service, known): (Service, (f64, f64))) {
    for (form, searches, covered, error) in [
        (Form::Usual, 1_000, 0.92, 0.03),
        (Form::Short, 300, 0.85, 0.10),
    ] {
        let came = Came::of(service, known, searches, form);
        let (half, most) = (came.error(0.5), came.error(0.95));
        println!(
            "{} servers, p99 < {} s: covered {:.3}, error {half:.4} in half of them, {most:.4} in 19 of 20",
            service.servers,
            known.0,
            came.share_covered()
        );
        assert!(came.share_covered() >= covered, "{}", came.covered);
        assert!(half < error, "{half}");
    }
}

#[test]
#[ignore = "a thousand searches take a minute"]
fn intervals_cover_the_truth_of_one_server() {
    covers(KNOWN[0]);
}

#[test]
#[ignore = "a thousand searches take a minute"]
fn intervals_cover_the_truth_of_four_servers() {
    covers(KNOWN[1]);
}

#[test]
#[ignore = "a thousand searches take a minute"]
fn intervals_cover_the_truth_of_four_busy_servers() {
    covers(KNOWN[2]);
}

#[test]
fn a_pool_that_takes_always_as_long_is_found_between_what_held_and_what_did_not() {
    let pool = Service {
        servers: 8,
        mean_s: 0.050,
        is_random: false,
    };
    for seed in 0..10 {
        let (end, _) = search(pool, 0.2, &asked(300.0, 15.0, seed));
        let End::Found(found) = end else {
            panic!("{end:?}")
        };
        // 160/s is all it can do. A little above that the queue grows so slowly that the bound is not exceeded within a probe.
        let (low, high) = found.interval();
        assert!(
            low.exp() < 163.0 && high.exp() > 158.0,
            "{seed}: {low} {high}"
        );
        let estimate = found.estimate().exp();
        assert!((155.0..=165.0).contains(&estimate), "{seed}: {estimate}");
    }
}

fn probed(level: f64, over: f64, spoilt: Option<Spoilt>) -> Probed {
    Probed {
        level,
        why: Why::Up,
        spent_s: 4.0,
        tallies: vec![Tally {
            allowed: 0.01,
            seconds: vec![(level, over * level); 3],
        }],
        spoilt,
    }
}

#[test]
fn what_fails_at_the_lowest_level_ends_the_search() {
    let asked = asked(300.0, 15.0, 1);
    let twice = [10.0, 10.0].map(|level| probed(level, 0.5, None));
    let down = next(&asked, &twice);
    assert!(matches!(&down, Step::Probe(probe) if probe.level == 2.5 && probe.why == Why::Down));
    let probes = [10.0, 2.5, 1.0].map(|level| probed(level, 0.5, None));
    assert_eq!(next(&asked, &probes), Step::End(End::NotEvenLowest));
}

fn one_look(over: f64) -> Tally {
    Tally {
        allowed: 0.5,
        seconds: vec![(1.0, over)],
    }
}

#[test]
fn a_condition_that_is_no_question_of_shares_fails_by_its_one_look() {
    let mut failed = probed(10.0, 0.0, None);
    failed.tallies = vec![one_look(1.0)];
    assert!(!failed.holds());
    failed.tallies = vec![one_look(0.0)];
    assert!(failed.holds());
    failed.tallies = vec![Tally {
        allowed: 0.5,
        seconds: vec![(5.0, 5.0)],
    }];
    assert!(!failed.holds());
    // One of twenty beyond p99 is chance, as long as nobody looks nearer.
    failed.tallies = vec![Tally {
        allowed: 0.01,
        seconds: vec![(20.0, 1.0)],
    }];
    assert!(failed.holds());
}

#[test]
fn a_wrong_first_look_is_asked_again_and_forgotten() {
    let asked = asked(300.0, 15.0, 1);
    let mut probes = vec![probed(10.0, 0.5, None)];
    let again = next(&asked, &probes);
    assert!(matches!(again, Step::Probe(probe) if probe.level == 10.0));
    probes.push(probed(10.0, 0.0, None));
    let up = next(&asked, &probes);
    assert!(matches!(up, Step::Probe(probe) if probe.level == 20.0 && probe.why == Why::Up));
    // A failure that two higher levels contradict is none.
    let probes = [(10.0, 0.0), (20.0, 0.5), (22.0, 0.0), (24.0, 0.0)];
    let probes = probes.map(|(level, over)| probed(level, over, None));
    let up = next(&asked, &probes);
    assert!(
        matches!(&up, Step::Probe(probe) if probe.level == 48.0),
        "{up:?}"
    );
}

#[test]
fn what_is_known_is_not_lost_where_the_generator_comes_to_its_limit() {
    let asked = asked(300.0, 15.0, 1);
    let looks = [(10.0, 0.0), (20.0, 0.9), (14.0, 0.0), (16.0, 0.9)];
    let mut probes: Vec<Probed> = looks
        .iter()
        .map(|(level, over)| probed(*level, *over, None))
        .collect();
    probes.extend([15.0, 15.0].map(|level| probed(level, 0.9, Some(Spoilt::Limited))));
    let end = next(&asked, &probes);
    assert!(matches!(&end, Step::End(End::Found(_))), "{end:?}");
}

#[test]
fn what_holds_everywhere_ends_it_at_the_highest_level() {
    let asked = Asked {
        most: Some(30.0),
        ..asked(300.0, 15.0, 1)
    };
    let probes = [10.0, 20.0].map(|level| probed(level, 0.0, None));
    let last = next(&asked, &probes);
    assert!(matches!(last, Step::Probe(probe) if probe.level == 30.0));
    let probes = [10.0, 20.0, 30.0].map(|level| probed(level, 0.0, None));
    assert_eq!(next(&asked, &probes), Step::End(End::HoldsToMost));
}

#[test]
fn what_the_generator_spoils_is_tried_once_more() {
    let asked = asked(300.0, 15.0, 1);
    let mut probes = vec![
        probed(10.0, 0.0, None),
        probed(20.0, 0.0, Some(Spoilt::Limited)),
    ];
    let again = next(&asked, &probes);
    assert!(matches!(again, Step::Probe(probe) if probe.level == 20.0));
    probes.push(probed(20.0, 0.0, Some(Spoilt::Limited)));
    assert_eq!(next(&asked, &probes), Step::End(End::GeneratorLimited));
}

#[test]
fn a_machine_that_is_busy_with_something_else_is_given_more_chances_and_then_told_of() {
    let asked = asked(300.0, 15.0, 1);
    let mut probes = vec![probed(10.0, 0.0, None)];
    for _ in 0..DISTURBED {
        let again = next(&asked, &probes);
        assert!(matches!(again, Step::Probe(probe) if probe.level == 20.0));
        probes.push(probed(20.0, 0.0, Some(Spoilt::Disturbed)));
    }
    assert_eq!(next(&asked, &probes), Step::End(End::GeneratorDisturbed));
}

#[test]
fn a_spent_budget_without_an_answer_is_none() {
    let asked = asked(20.0, 15.0, 1);
    let probes: Vec<Probed> = (0..5)
        .map(|n| probed(10.0 * 2f64.powi(n), 0.0, None))
        .collect();
    assert_eq!(next(&asked, &probes), Step::End(End::OutOfBudget));
}

#[test]
fn users_are_whole_numbers() {
    let asked = Asked {
        whole: true,
        from: 3.0,
        ..asked(300.0, 15.0, 1)
    };
    let mut probes = vec![
        probed(3.0, 0.0, None),
        probed(6.0, 0.0, None),
        probed(12.0, 0.9, None),
    ];
    for _ in 0..4 {
        let Step::Probe(probe) = next(&asked, &probes) else {
            break;
        };
        assert_eq!(probe.level, probe.level.round());
        let over = if probe.level > 8.0 { 0.9 } else { 0.0 };
        probes.push(Probed {
            why: probe.why,
            ..probed(probe.level, over, None)
        });
    }
    let found = known(&probes).unwrap().estimate().exp();
    assert!((7.5..=9.5).contains(&found), "{found}");
}
