//! Simulated loss of a process. The other processes must send each arrival that they take over
//! once, when it is due.

use plan::ArrivalProcess;
use proptest::prelude::*;

use super::*;
use crate::run::{EngineOptions, Prepared, RunRole};
use worker::{stop::Cause, takeover::TakeoverRefusal};

#[derive(Debug, Default)]
struct ArrivalTimes {
    moments: Vec<u64>,
    due: u64,
    started: u64,
}

impl ArrivalTimes {
    fn add(&mut self, other: ArrivalTimes) {
        self.moments.extend(other.moments);
        self.due += other.due;
        self.started += other.started;
    }
}

#[derive(Debug, Clone, Copy)]
struct PlannedTakeover {
    at_ns: u64,
    share: Share,
    from_ns: u64,
}

fn process(
    plan: &Plan,
    share: Share,
    workers: usize,
    reported: &[PlannedTakeover],
    end: Option<u64>,
) -> ArrivalTimes {
    let mut seen = ArrivalTimes::default();
    for index in 0..workers {
        let takeovers = ShardTakeover::default();
        takeovers.open(share, &Schedule::new(&plan.load, 1));
        let stop = StopHandle::default();
        let (asked, next) = (takeovers.clone(), Cell::new(0));
        let stopped = stop.clone();
        let held_up = move |at: u64| {
            while let Some(reported) = reported
                .get(next.get())
                .filter(|reported| reported.at_ns <= at)
            {
                next.set(next.get() + 1);
                let answer = asked.take_over(reported.share, reported.from_ns, || reported.at_ns);
                assert!(
                    matches!(answer, Ok(()) | Err(TakeoverRefusal::Over)),
                    "{answer:?}"
                );
            }
            if end.is_some_and(|end| at >= end) {
                stopped.stop(Cause::Limit("its lease".into()));
            }
            at
        };
        let moments = Rc::<RefCell<Vec<u64>>>::default();
        let keeps = Rc::clone(&moments);
        let model = Box::new(move |arrival| {
            keeps.borrow_mut().push(arrival);
            Some(arrival + MILLISECOND)
        });
        let around = Around {
            share,
            takeovers: Some(takeovers),
            stop,
            position: Some(WorkerPosition { index, workers }),
            ..Around::default()
        };
        let intervals = simulate_around(plan, model, held_up, around);
        let count = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
        seen.add(ArrivalTimes {
            moments: moments.take(),
            due: count(|interval| interval.run.due),
            started: count(|interval| interval.run.started),
        });
    }
    seen
}

/// Stops one of several processes and lets the others take over its share. Checks that each arrival
/// is sent exactly once.
fn lose(plan: &Plan, of: u64, workers: usize, lost_ns: u64, from_ns: u64) {
    let schedule = Schedule::new(&plan.load, 1);
    let lost = Share { index: of - 1, of };
    let gone = process(plan, lost, workers, &[], Some(lost_ns));
    assert_eq!(
        (gone.due, gone.started),
        (gone.moments.len() as u64, gone.due)
    );
    let mut sent = ArrivalTimes::default();
    for index in 0..of - 1 {
        let reported = PlannedTakeover {
            at_ns: from_ns - ShardTakeover::AHEAD_NS,
            share: lost.part(index, of - 1),
            from_ns,
        };
        let own = Share { index, of };
        sent.add(process(plan, own, workers, &[reported], None));
    }
    assert_eq!(
        (sent.due, sent.started),
        (sent.moments.len() as u64, sent.due)
    );
    let mut expected: Vec<u64> = schedule
        .shard(0, 1)
        .filter(|arrival| !lost.has(arrival.number) || arrival.intended_ns >= from_ns)
        .map(|arrival| arrival.intended_ns)
        .collect();
    let mut own = schedule.shard(lost.index, lost.of).map(|a| a.intended_ns);
    expected.extend(own.by_ref().take(gone.moments.len()));
    let gap = own.take_while(|at| *at < from_ns).count() as u64;
    sent.add(gone);
    expected.sort_unstable();
    sent.moments.sort_unstable();
    assert_eq!(sent.moments, expected);
    assert_eq!(sent.due + gap, schedule.total());
}

fn at_random(rate: u64, seconds: u64) -> Load {
    let mut phase = Phase::new(seconds * SECOND, Shape::Rate(Rate::per_second(rate)));
    phase.arrivals = ArrivalProcess::Poisson;
    Load::Open {
        phases: vec![phase],
        first: FirstArrival::AtStart,
    }
}

#[test]
fn takeover_sends_at_full_rate_from_its_moment() {
    let lost = Share { index: 1, of: 2 };
    let reported = PlannedTakeover {
        at_ns: 3 * SECOND,
        share: lost,
        from_ns: 4 * SECOND,
    };
    let test = plan(open(100, 8), PoolPolicy::PerUser);
    let own = Share { index: 0, of: 2 };
    let seen = process(&test, own, 1, &[reported], None);
    assert_eq!(
        (seen.due, seen.started),
        (4 * 50 + 4 * 100, 4 * 50 + 4 * 100)
    );
    let phases = vec![
        Phase::new(10 * MILLISECOND, Shape::Count(1)),
        Phase::new(5 * SECOND, Shape::Count(1)),
        Phase::new(5 * SECOND, Shape::Count(1)),
    ];
    let first = FirstArrival::AfterOneGap;
    let few = plan(Load::Open { phases, first }, PoolPolicy::PerUser);
    let lost = Share { index: 2, of: 3 };
    let reported = PlannedTakeover {
        share: lost,
        ..reported
    };
    let own = Share { index: 0, of: 3 };
    let seen = process(&few, own, 1, &[reported], None);
    assert_eq!(seen.moments, [10 * MILLISECOND, 10_010 * MILLISECOND]);
}

#[test]
fn arrival_at_the_end_is_sent_only_if_due() {
    let test = plan(open(2, 5), PoolPolicy::PerUser);
    lose(&test, 2, 1, 490_000_001, 800 * MILLISECOND);
}

#[test]
fn second_loss_includes_earlier_takeover() {
    let test = plan(at_random(80, 12), PoolPolicy::PerUser);
    let schedule = Schedule::new(&test.load, 1);
    let share = |index| Share { index, of: 3 };
    let (first, second) = (4 * SECOND, 8 * SECOND);
    let reported = |share, from_ns| PlannedTakeover {
        at_ns: from_ns - SECOND,
        share,
        from_ns,
    };
    let halves = [share(2).part(0, 2), share(2).part(1, 2)];
    let mut sent = process(&test, share(2), 1, &[], Some(2 * SECOND));
    sent.add(process(
        &test,
        share(1),
        2,
        &[reported(halves[1], first)],
        Some(6 * SECOND),
    ));
    let all = [
        reported(halves[0], first),
        reported(share(1), second),
        reported(halves[1], second),
    ];
    sent.add(process(&test, share(0), 1, &all, None));
    sent.moments.sort_unstable();
    let following: Vec<u64> = schedule
        .shard(0, 1)
        .map(|a| a.intended_ns)
        .filter(|at| *at >= second)
        .collect();
    let after = sent.moments.iter().filter(|at| **at >= second);
    assert_eq!(after.copied().collect::<Vec<_>>(), following);
    assert_eq!(
        (sent.due, sent.started),
        (sent.moments.len() as u64, sent.due)
    );
    assert!(sent.moments.windows(2).all(|pair| pair[0] < pair[1]));
}

#[test]
fn delayed_worker_sends_taken_over_arrivals_late() {
    let own = Share { index: 0, of: 2 };
    let test = plan(open(100, 8), PoolPolicy::PerUser);
    let takeovers = ShardTakeover::default();
    takeovers.open(own, &Schedule::new(&test.load, 1));
    let (asked, once) = (takeovers.clone(), Cell::new(false));
    let held_up = move |at: u64| {
        if !(2 * SECOND..5 * SECOND).contains(&at) {
            return at;
        }
        if !once.replace(true) {
            let lost = Share { index: 1, of: 2 };
            let reported = asked.take_over(lost, 3 * SECOND, || 2 * SECOND + 1);
            assert_eq!(reported, Ok(()));
        }
        5 * SECOND
    };
    let around = Around {
        share: own,
        takeovers: Some(takeovers),
        ..Around::default()
    };
    let model: Model = Box::new(|arrival| Some(arrival + MILLISECOND));
    let intervals = simulate_around(&test, model, held_up, around);
    let by_second: Vec<u64> = intervals.iter().map(|interval| interval.run.due).collect();
    assert_eq!(by_second[..8], [50, 50, 50, 100, 100, 100, 100, 100]);
    let started: Vec<u64> = intervals.iter().map(|i| i.run.started).collect();
    assert_eq!(started[5], 50 + 100 + 100 + 100);
    assert!(response_ms(&intervals, 0.99) > 2_800.0);
}

#[test]
fn takeover_requires_scenarios_and_permission() {
    let answer = |load: Load, role: RunRole| {
        let own = Share { index: 0, of: 2 };
        let options = EngineOptions {
            role,
            share: own,
            ..EngineOptions::default()
        };
        let takeovers = options.takeovers.clone();
        let prepared = Prepared::new(&plan(load, PoolPolicy::PerUser), options);
        assert!(prepared.is_ok());
        takeovers.take_over(Share { index: 1, of: 2 }, SECOND, || 0)
    };
    assert_eq!(answer(open(100, 8), RunRole::TakesOver), Ok(()));
    for refused in [
        answer(open(100, 8), RunRole::AsPlanned),
        answer(closed(4, 8), RunRole::TakesOver),
        answer(Load::Once, RunRole::TakesOver),
    ] {
        assert_eq!(refused, Err(TakeoverRefusal::NotHere));
    }
}

fn phase() -> impl Strategy<Value = Phase> {
    let shape = prop_oneof![
        (1..200u64).prop_map(|rate| Shape::Rate(Rate::per_second(rate))),
        (1..300u64).prop_map(Shape::Count),
        Just(Shape::Pause),
    ];
    (300..2500u64, shape, any::<bool>()).prop_map(|(ms, shape, at_random)| {
        let mut phase = Phase::new(ms * MILLISECOND, shape);
        if at_random {
            phase.arrivals = ArrivalProcess::Poisson;
        }
        phase
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn arrivals_outside_the_gap_are_sent_once(
        phases in prop::collection::vec(phase(), 1..5),
        after: bool,
        lost in 0.0f64..1.1,
        gap_ms in 300..3_000u64,
        workers in 1..3usize,
    ) {
        let first = if after { FirstArrival::AfterOneGap } else { FirstArrival::AtStart };
        let test = plan(Load::Open { phases, first }, PoolPolicy::PerUser);
        let end_ns = Schedule::new(&test.load, 1).end_ns();
        let lost_ns = (end_ns as f64 * lost) as u64;
        for of in [2, 3, 5] {
            lose(&test, of, workers, lost_ns, lost_ns + gap_ms * MILLISECOND);
        }
    }
}
