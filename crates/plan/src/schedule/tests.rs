use proptest::prelude::*;

use super::*;
use crate::units::{MINUTE, Rate};

fn open(phases: Vec<Phase>, first: FirstArrival) -> Load {
    Load::Open { phases, first }
}

fn artillery(duration_s: u64, shape: Shape) -> Schedule {
    Schedule::new(
        &open(
            vec![Phase::new(duration_s * SECOND, shape)],
            FirstArrival::AfterOneGap,
        ),
        0,
    )
}

fn ramp(from: u64, to: u64, seconds: u64) -> Schedule {
    artillery(
        seconds,
        Shape::Staircase {
            from: Rate::per_second(from),
            to: Rate::per_second(to),
        },
    )
}

fn per_second_counts(schedule: &Schedule) -> Vec<u64> {
    let mut counts = vec![0; (schedule.end_ns() / SECOND) as usize];
    for arrival in schedule.shard(0, 1) {
        counts[((arrival.intended_ns - 1) / SECOND) as usize] += 1;
    }
    counts
}

#[test]
fn ramp_totals_match_artillery() {
    for (from, to, seconds, total) in [
        (6, 1, 2, 7),
        (1, 5, 1, 3),
        (3, 10, 1, 7),
        (1, 20, 15, 158),
        (0, 30, 10, 150),
        (1, 5, 60, 180),
        (5, 10, 60, 450),
        (10, 30, 30, 600),
        (10, 50, 60, 1800),
        (10, 100, 300, 16_500),
    ] {
        assert_eq!(
            ramp(from, to, seconds).total(),
            total,
            "{from} to {to} over {seconds} s"
        );
    }
}

#[test]
fn ramp_seconds_match_artillery() {
    assert_eq!(per_second_counts(&ramp(6, 1, 2)), [6, 1]);
    assert_eq!(
        per_second_counts(&ramp(0, 30, 10)),
        [0, 3, 7, 10, 13, 17, 20, 23, 27, 30]
    );
    assert_eq!(
        per_second_counts(&ramp(1, 20, 15)),
        [1, 2, 4, 5, 6, 8, 9, 11, 12, 13, 15, 16, 17, 19, 20]
    );
}

#[test]
fn uniform_counts_are_exact() {
    for (rate, seconds) in [
        (10, 10),
        (3, 10),
        (7, 60),
        (20, 60),
        (50, 60),
        (1000, 10),
        (900, 60),
        (3000, 10),
    ] {
        assert_eq!(
            artillery(seconds, Shape::Rate(Rate::per_second(rate))).total(),
            rate * seconds
        );
    }
}

#[test]
fn medplum_plans_16600_virtual_users() {
    let phases = vec![
        Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(10))),
        Phase::new(
            300 * SECOND,
            Shape::Staircase {
                from: Rate::per_second(10),
                to: Rate::per_second(100),
            },
        ),
    ];
    let schedule = Schedule::new(&open(phases, FirstArrival::AfterOneGap), 0);
    assert_eq!(
        (
            schedule.total(),
            schedule.phase_total(0),
            schedule.phase_total(1)
        ),
        (16_600, 100, 16_500)
    );
    assert_eq!(schedule.at(0).map(|a| a.intended_ns), Some(SECOND / 10));
    assert_eq!(
        schedule.at(99).map(|a| (a.intended_ns, a.phase)),
        Some((10 * SECOND, 0))
    );
    assert_eq!(
        schedule.at(16_599).map(|a| (a.intended_ns, a.phase)),
        Some((310 * SECOND, 1))
    );
    assert_eq!(schedule.at(16_600), None);
}

#[test]
fn fractional_rates_do_not_drift() {
    let schedule = artillery(3600, Shape::Rate(Rate::from_f64(0.5).expect("a rate")));
    assert_eq!(schedule.total(), 1800);
    assert_eq!(
        schedule.at(1799).map(|a| a.intended_ns),
        Some(3600 * SECOND)
    );
    let thirds = artillery(86_400, Shape::Rate(Rate::per_second(3)));
    assert_eq!(
        thirds.at(thirds.total() - 1).map(|a| a.intended_ns),
        Some(86_400 * SECOND)
    );
}

#[test]
fn native_plans_start_with_an_arrival() {
    let load = open(
        vec![Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(200)))],
        FirstArrival::AtStart,
    );
    let schedule = Schedule::new(&load, 0);
    assert_eq!(schedule.total(), 2000);
    assert_eq!(schedule.at(0).map(|a| a.intended_ns), Some(0));
    assert_eq!(
        schedule.at(1999).map(|a| a.intended_ns),
        Some(9_995_000_000)
    );
}

#[test]
fn pauses_counts_and_once_are_scheduled() {
    let phases = vec![
        Phase::new(2 * SECOND, Shape::Pause),
        Phase::new(2 * SECOND, Shape::Count(5)),
        Phase::new(SECOND, Shape::Count(0)),
    ];
    let schedule = Schedule::new(&open(phases, FirstArrival::AfterOneGap), 0);
    let times: Vec<u64> = schedule
        .shard(0, 1)
        .map(|a| a.intended_ns / 1_000_000)
        .collect();
    assert_eq!(times, [2400, 2800, 3200, 3600, 4000]);
    assert_eq!(schedule.end_ns(), 5 * SECOND);
    let once = Schedule::new(&Load::Once, 0);
    assert_eq!(
        (once.total(), once.at(0).map(|a| a.intended_ns)),
        (1, Some(0))
    );
    assert_eq!(Schedule::new(&Load::users(3, SECOND), 0).total(), 0);
}

#[test]
fn moments_belong_to_their_phase() {
    let phases = vec![
        Phase::new(SECOND, Shape::Pause),
        Phase::new(SECOND, Shape::Pause),
    ];
    let schedule = Schedule::new(&open(phases, FirstArrival::AtStart), 0);
    let found: Vec<u32> = [0, SECOND - 1, SECOND, 2 * SECOND, 9 * SECOND]
        .map(|at| schedule.phase_at(at))
        .to_vec();
    assert_eq!(found, [0, 0, 1, 1, 1]);
}

#[test]
fn poisson_gaps_are_exponential() {
    let mut phase = Phase::new(10 * MINUTE, Shape::Rate(Rate::per_second(100)));
    phase.arrivals = ArrivalProcess::Poisson;
    let schedule = Schedule::new(&open(vec![phase], FirstArrival::AtStart), 42);
    let n = schedule.total() as f64;
    // The expected number is 60,000, with a standard deviation of 245.
    assert!((n - 60_000.0).abs() < 1_000.0, "{n}");
    let times: Vec<u64> = schedule.shard(0, 1).map(|a| a.intended_ns).collect();
    let mut gaps: Vec<f64> = times
        .windows(2)
        .map(|w| (w[1] - w[0]) as f64 / 1e7)
        .collect();
    gaps.sort_by(f64::total_cmp);
    // Kolmogorov-Smirnov distance to 1 - e^-x. The 1 % critical value is 1.63 / sqrt(n).
    let distance = gaps
        .iter()
        .enumerate()
        .map(|(i, gap)| ((1.0 - (-gap).exp()) - i as f64 / n).abs())
        .fold(0.0, f64::max);
    assert!(distance < 1.63 / n.sqrt(), "{distance}");
}

fn any_phase() -> impl Strategy<Value = Phase> {
    let rate = prop_oneof![
        (0u64..400).prop_map(Rate::per_second),
        (0.0f64..50.0).prop_filter_map("rate", Rate::from_f64)
    ];
    let shape = prop_oneof![
        rate.clone().prop_map(Shape::Rate),
        (0u64..500).prop_map(Shape::Count),
        (rate.clone(), rate).prop_map(|(from, to)| Shape::Staircase { from, to }),
        Just(Shape::Pause),
    ];
    (1u64..6_000, shape, any::<bool>()).prop_map(|(ms, shape, poisson)| {
        let mut phase = Phase::new(ms * 1_000_000, shape);
        if poisson {
            phase.arrivals = ArrivalProcess::Poisson;
        }
        phase
    })
}

proptest! {
    #[test]
    fn arrivals_are_monotone_and_independent(
        phases in prop::collection::vec(any_phase(), 1..5),
        after in any::<bool>(),
        seed in any::<u64>(),
        workers in 1u64..7,
    ) {
        let first = if after { FirstArrival::AfterOneGap } else { FirstArrival::AtStart };
        let load = open(phases, first);
        let schedule = Schedule::new(&load, seed);
        let all: Vec<Arrival> = schedule.shard(0, 1).collect();
        prop_assert_eq!(all.len() as u64, schedule.total());
        let by_phase: u64 = (0..schedule.phase_ends().len()).map(|p| schedule.phase_total(p as u32)).sum();
        prop_assert_eq!(by_phase, schedule.total());
        for (k, arrival) in all.iter().enumerate() {
            prop_assert_eq!(arrival.number, k as u64);
            prop_assert!(arrival.intended_ns <= schedule.phase_ends()[arrival.phase as usize]);
        }
        prop_assert!(all.windows(2).all(|w| w[0].intended_ns <= w[1].intended_ns && w[0].phase <= w[1].phase));
        let other = Schedule::new(&load, seed);
        for arrival in all.iter().rev().step_by(7) {
            prop_assert_eq!(other.at(arrival.number), Some(*arrival));
        }
        let mut dealt: Vec<Arrival> = (0..workers).flat_map(|w| other.shard(w, workers).collect::<Vec<_>>()).collect();
        dealt.sort_by_key(|a| a.number);
        prop_assert_eq!(dealt, all);
    }

    #[test]
    fn remaining_arrivals_of_a_share_are_computed(
        phases in prop::collection::vec(any_phase(), 1..5),
        after in any::<bool>(),
        seed in any::<u64>(),
        of in 1u64..7,
        from in 0.0f64..1.2,
        until in 0.0f64..1.2,
    ) {
        let first = if after { FirstArrival::AfterOneGap } else { FirstArrival::AtStart };
        let schedule = Schedule::new(&open(phases, first), seed);
        let at = |share: f64| (schedule.end_ns() as f64 * share) as u64;
        let edges = schedule.shard(0, 1).step_by(97).map(|arrival| arrival.intended_ns);
        let edges: Vec<u64> = edges.take(5).chain(schedule.phase_ends().iter().copied()).chain([at(from)]).collect();
        let until_ns = at(until);
        for from_ns in edges {
            let mut left = 0;
            for index in 0..of {
                let share = Share { index, of };
                let wanted: Vec<Arrival> = schedule.shard(index, of).filter(|a| a.intended_ns >= from_ns).collect();
                let due = wanted.iter().filter(|a| a.intended_ns < until_ns || after && a.intended_ns == until_ns);
                prop_assert_eq!(schedule.due_of_share(share, from_ns, until_ns), due.count() as u64);
                left += wanted.len() as u64;
                prop_assert_eq!(schedule.shard_from(share, from_ns).collect::<Vec<_>>(), wanted);
            }
            prop_assert_eq!(schedule.total() - schedule.before(from_ns), left);
        }
    }

    #[test]
    fn truncated_schedule_is_a_prefix(
        phases in prop::collection::vec(any_phase(), 1..5),
        after in any::<bool>(),
        seed in any::<u64>(),
        share in 0.0f64..1.2,
    ) {
        let first = if after { FirstArrival::AfterOneGap } else { FirstArrival::AtStart };
        let whole = Schedule::new(&open(phases, first), seed);
        let end_ns = (whole.end_ns() as f64 * share) as u64;
        let cut = whole.clone().until(end_ns);
        let expected: Vec<Arrival> = whole.shard(0, 1).take_while(|a| a.intended_ns < end_ns || after && a.intended_ns == end_ns).collect();
        prop_assert_eq!(cut.shard(0, 1).collect::<Vec<_>>(), expected.clone());
        prop_assert_eq!((cut.total(), cut.end_ns()), (expected.len() as u64, end_ns.min(whole.end_ns())));
        let by_phase: u64 = (0..cut.phase_ends().len()).map(|p| cut.phase_total(p as u32)).sum();
        prop_assert_eq!(by_phase, cut.total());
        prop_assert!(whole.phase_ends().starts_with(&cut.phase_ends()[..cut.phase_ends().len() - 1]));
    }
}

#[test]
fn staircase_of_unwieldy_fractions_matches_neighbours() {
    // 180,260 an hour times 0.333333. Over a long ramp, products with this fraction exceed 128
    // bits.
    let odd = Rate::ratio(180_260 * 333_333, 3_600_000_000_000_000_001).unwrap();
    let near = Rate::from_f64(odd.as_f64()).unwrap();
    let counts = |rate: Rate| -> Vec<u64> {
        staircase(rate, rate.times(3, 1).unwrap(), 3_600 * SECOND).collect()
    };
    let (odd, near) = (counts(odd), counts(near));
    let apart = odd.iter().zip(&near).filter(|(a, b)| a != b).count();
    assert_eq!(odd.len(), 3_600);
    assert!(apart <= 2 && odd[3_599] > 45, "{apart} {}", odd[3_599]);
}
