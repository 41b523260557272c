use proptest::prelude::*;

use super::*;
use crate::units::MILLISECOND;

fn load(phases: &[(u64, u64)], first: FirstArrival) -> Load {
    let phase = |(seconds, rate): &(u64, u64)| {
        Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(*rate)))
    };
    Load::Open {
        phases: phases.iter().map(phase).collect(),
        first,
    }
}

fn arrivals(schedule: &Schedule) -> Vec<Arrival> {
    schedule.shard(0, 1).collect()
}

#[test]
fn changed_rate_starts_a_new_piece() {
    let load = load(&[(10, 5), (10, 2)], FirstArrival::AtStart);
    let schedule = Schedule::new(&load, 1);
    // 5/s for 3.1 s give 16 arrivals, the last one at 3.0 s. 8/s for the remaining 6.9 s give 55.
    let changed = schedule.with_rate(3_100 * MILLISECOND, Rate::per_second(8));
    assert_eq!(changed.total(), 16 + 55 + 20);
    assert_eq!((changed.phase_total(0), changed.phase_total(1)), (71, 20));
    let at = |number| changed.at(number).map(|arrival| arrival.intended_ns);
    assert_eq!(at(15), Some(3_000 * MILLISECOND));
    assert_eq!(at(16), Some(3_100 * MILLISECOND));
    assert_eq!(at(17), Some(3_225 * MILLISECOND));
    assert_eq!(at(71), Some(10 * SECOND));
    let none = changed.with_rate(5 * SECOND, Rate::per_second(0));
    assert_eq!((none.due(5 * SECOND), none.due(10 * SECOND)), (32, 32));
    let again = none.with_rate(9 * SECOND, Rate::per_second(3));
    assert_eq!((again.phase_total(0), again.total()), (35, 55));
    assert_eq!(
        again.with_rate(21 * SECOND, Rate::per_second(9)).total(),
        55
    );
}

#[test]
fn only_constant_even_rates_can_be_changed() {
    let mut phases = vec![Phase::new(SECOND, Shape::Rate(Rate::per_second(7)))];
    let ramp = Shape::Staircase {
        from: Rate::per_second(1),
        to: Rate::per_second(9),
    };
    let shapes = [ramp, Shape::Count(3), Shape::Pause];
    phases.extend(shapes.map(|shape| Phase::new(SECOND, shape)));
    phases.push(Phase {
        arrivals: ArrivalProcess::Poisson,
        ..phases[0].clone()
    });
    let load = Load::Open {
        phases,
        first: FirstArrival::AtStart,
    };
    let at = |second: u64| load.constant_rate_at(second * SECOND);
    use crate::load::Fixed;
    assert_eq!(at(0), Ok(Rate::per_second(7)));
    let fixed = [1, 2, 3, 4, 5].map(|second| at(second).unwrap_err());
    let reason = [
        Fixed::Ramp,
        Fixed::Count,
        Fixed::Pause,
        Fixed::Poisson,
        Fixed::Over,
    ];
    assert_eq!(fixed, reason);
    let closed = Load::users(3, SECOND);
    assert_eq!(closed.constant_rate_at(0), Err(Fixed::NoRate));
    assert_eq!(closed.constant_users_at(0), Ok(3));
    assert_eq!(closed.constant_users_at(SECOND), Err(Fixed::Over));
    assert_eq!(load.constant_users_at(0), Err(Fixed::NoUsers));
}

#[test]
fn changed_users_start_immediately_and_highest_numbers_leave() {
    let changed = Load::users(3, 10 * SECOND)
        .with_users(2 * SECOND, 5)
        .with_users(4 * SECOND, 1);
    let Load::Closed {
        users,
        phases,
        duration_ns,
    } = &changed
    else {
        panic!("{changed:?}");
    };
    assert_eq!((*users, *duration_ns), (5, 10 * SECOND));
    let stays = |user| -> Vec<(u64, u64)> {
        let stays = crate::ActivePeriod::all(phases, user, *duration_ns).into_iter();
        stays
            .map(|stay| (stay.from_ns / SECOND, stay.until_ns / SECOND))
            .collect()
    };
    assert_eq!(
        [0, 1, 2, 3, 4, 5].map(stays),
        [
            vec![(0, 10)],
            vec![(0, 4)],
            vec![(0, 4)],
            vec![(2, 4)],
            vec![(2, 4)],
            vec![],
        ]
    );
    let at = |second| changed.constant_users_at(second * SECOND);
    assert_eq!(
        [at(1), at(2), at(4), at(10)],
        [Ok(3), Ok(5), Ok(1), Err(crate::load::Fixed::Over)]
    );
}

proptest! {
    #[test]
    fn pieces_add_up_and_keep_later_times(
        phases in prop::collection::vec((1_u64..8, 0_u64..40), 1..4),
        changes in prop::collection::vec((0_u64..24_000, 0_u64..60_000), 1..6),
        at_ends: bool,
    ) {
        let first = if at_ends { FirstArrival::AfterOneGap } else { FirstArrival::AtStart };
        let mut load = load(&phases, first);
        let mut schedule = Schedule::new(&load, 1);
        let mut changes = changes;
        changes.sort_unstable();
        for (from_ms, per_1000_s) in changes {
            let from = from_ms * MILLISECOND;
            let rate = Rate { count: per_1000_s, per_ns: 1000 * SECOND };
            let before = arrivals(&schedule);
            let changed = schedule.with_rate(from, rate);
            let after = arrivals(&changed);
            let due = schedule.due(from) as usize;
            prop_assert_eq!(&before[..due], &after[..due]);
            prop_assert_eq!(changed.due(from) as usize, due);
            if from < schedule.end_ns() {
                let phase = schedule.phase_at(from);
                let end = schedule.phase_ends()[phase as usize];
                let piece = after[due..].iter().filter(|arrival| arrival.phase == phase);
                let times: Vec<u64> = piece.map(|arrival| arrival.intended_ns).collect();
                prop_assert_eq!(times.len() as u64, rate.events_in(end - from));
                prop_assert!(times.iter().all(|at| (from..=end).contains(at)));
                let later = |all: &[Arrival]| -> Vec<u64> {
                    let following = all.iter().filter(|arrival| arrival.phase > phase);
                    following.map(|arrival| arrival.intended_ns).collect()
                };
                prop_assert_eq!(later(&before), later(&after));
                load = load.with_rate(from, rate);
                prop_assert_eq!(load.rate_at(from), Some(rate.as_f64()));
                prop_assert_eq!(load.end_ns(), schedule.end_ns());
            } else {
                prop_assert_eq!(&before, &after);
            }
            prop_assert!(after.iter().enumerate().all(|(n, arrival)| arrival.number == n as u64));
            prop_assert!(after.is_sorted_by_key(|arrival| arrival.intended_ns));
            prop_assert_eq!(after.len() as u64, changed.total());
            let of_phases: u64 = (0..phases.len() as u32).map(|phase| changed.phase_total(phase)).sum();
            prop_assert_eq!(of_phases, changed.total());
            let shards: u64 = (0..3).map(|s| changed.due_of_shard(s, 3, changed.end_ns() + 1)).sum();
            prop_assert_eq!(shards, changed.total());
            schedule = changed;
        }
    }
}
