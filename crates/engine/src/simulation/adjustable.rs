//! Simulated changes of the load. Checks that every arrival that is still planned when due is sent
//! exactly once.

use plan::UserPhase;
use proptest::prelude::*;

use super::*;
use worker::load_control::{AdjustedLoad, Change, ChangeRefusal, KNOWN_NS, LEAD_NS, Most};

const MOST: Most = Most {
    per_second: 1e6,
    users: 1_000,
};

fn rate(per_second: u64) -> AdjustedLoad {
    AdjustedLoad::Rate(Rate::per_second(per_second))
}

type Answers = Vec<Result<Change, ChangeRefusal>>;

/// Runs a plan and requests changes at given times. Returns the intervals, the load, and the
/// results of the requests.
fn steer(
    plan: &Plan,
    model: Model,
    share: Share,
    asked: &[(u64, AdjustedLoad)],
) -> (Vec<Interval>, LoadControl, Answers) {
    let load_control = LoadControl::new(&plan.load, &Schedule::new(&plan.load, 1), MOST);
    let (next, answers) = (Cell::new(0), RefCell::new(Vec::new()));
    let (asking, reported) = (load_control.clone(), &answers);
    let held_up = |at: u64| {
        while let Some((moment, wanted)) = asked.get(next.get()).filter(|(moment, _)| *moment <= at)
        {
            next.set(next.get() + 1);
            reported
                .borrow_mut()
                .push(asking.change(*wanted, || *moment));
        }
        at
    };
    let intervals = simulate_load_control(plan, model, held_up, share, Some(load_control.clone()));
    (intervals, load_control, answers.into_inner())
}

fn quick() -> Model {
    Box::new(|arrival| Some(arrival + MILLISECOND))
}

fn seen() -> (Rc<RefCell<Vec<u64>>>, Model) {
    let seen = Rc::<RefCell<Vec<u64>>>::default();
    let keeps = Rc::clone(&seen);
    let model = Box::new(move |arrival| {
        keeps.borrow_mut().push(arrival);
        Some(arrival + MILLISECOND)
    });
    (seen, model)
}

fn planned(load_control: &LoadControl) -> Vec<u64> {
    let schedule = load_control.state().schedule;
    schedule
        .shard(0, 1)
        .map(|arrival| arrival.intended_ns)
        .collect()
}

fn sums(intervals: &[Interval]) -> (u64, u64) {
    let due = intervals.iter().map(|interval| interval.run.due).sum();
    (due, total(intervals, label::ALL).counters.issued)
}

#[test]
fn changed_load_is_sent_once_at_its_moments() {
    let asked = [
        (SECOND, rate(80)),
        (3 * SECOND + 7, rate(0)),
        (5 * SECOND, rate(3)),
        (9_600 * MILLISECOND, rate(500)),
    ];
    let (arrived, model) = seen();
    let (intervals, load_control, answers) = steer(
        &plan(open(50, 10), PoolPolicy::PerUser),
        model,
        Share::WHOLE,
        &asked,
    );
    assert_eq!(*arrived.borrow(), planned(&load_control));
    let expected = 75 + 160 + 1 + 13;
    assert_eq!(sums(&intervals), (expected, expected));
    assert_eq!(
        intervals
            .iter()
            .map(|interval| interval.run.started)
            .sum::<u64>(),
        expected
    );
    let by_second: Vec<u64> = intervals.iter().map(|interval| interval.run.due).collect();
    assert_eq!(by_second[..5], [50, 25 + 40, 80, 41, 0]);
    let fixed = ChangeRefusal::Fixed(plan::load::Fixed::Over);
    assert_eq!(answers[3], Err(fixed));
    assert_eq!(load_control.state().changes.len(), 3);
}

#[test]
fn delayed_worker_sends_changed_arrivals() {
    let load_control = LoadControl::new(&open(100, 6), &Schedule::new(&open(100, 6), 1), MOST);
    let (asking, asked) = (load_control.clone(), Cell::new(false));
    let held_up = move |at: u64| {
        // The change is requested while the worker is blocked, from 1 s to 4 s.
        if (SECOND..4 * SECOND).contains(&at) {
            if !asked.replace(true) {
                asking.change(rate(10), || 2 * SECOND).expect("a change");
            }
            return 4 * SECOND;
        }
        at
    };
    let (arrived, model) = seen();
    let intervals = simulate_load_control(
        &plan(open(100, 6), PoolPolicy::PerUser),
        model,
        held_up,
        Share::WHOLE,
        Some(load_control.clone()),
    );
    assert_eq!(sums(&intervals), (250 + 35, 250 + 35));
    let late: Vec<u64> = planned(&load_control)
        .into_iter()
        .map(|at| {
            if (SECOND..4 * SECOND).contains(&at) {
                4 * SECOND
            } else {
                at
            }
        })
        .collect();
    assert_eq!(*arrived.borrow(), late);
    assert!(response_ms(&intervals, 0.99) > 2_900.0);
}

#[test]
fn late_change_is_revoked() {
    let load_control = LoadControl::new(&open(50, 4), &Schedule::new(&open(50, 4), 1), MOST);
    let (asking, asked) = (load_control.clone(), Cell::new(false));
    let held_up = move |at: u64| {
        if at > SECOND && !asked.replace(true) {
            let clock = Cell::new(at);
            let refused = asking.change(rate(500), || clock.replace(at + LEAD_NS - KNOWN_NS + 1));
            assert_eq!(refused, Err(ChangeRefusal::TooLate));
        }
        at
    };
    let intervals = simulate_load_control(
        &plan(open(50, 4), PoolPolicy::PerUser),
        quick(),
        held_up,
        Share::WHOLE,
        Some(load_control),
    );
    assert_eq!(sums(&intervals), (200, 200));
}

#[test]
fn changed_users_start_and_stop() {
    let users = [
        (2 * SECOND, AdjustedLoad::Users(5)),
        (5 * SECOND, AdjustedLoad::Users(0)),
        (7 * SECOND, AdjustedLoad::Users(2)),
    ];
    let slow: Model = Box::new(|arrival| Some(arrival + 100 * MILLISECOND));
    let (intervals, load_control, answers) = steer(
        &plan(closed(3, 10), PoolPolicy::PerUser),
        slow,
        Share::WHOLE,
        &users,
    );
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 3);
    // Each user sends ten requests/s: three users for 2.5 s, five for 3 s, none for 2 s, two for
    // 2.5 s.
    assert_eq!(total(&intervals, label::ALL).counters.ok, 75 + 150 + 50);
    assert_eq!(load_control.state().changes.len(), 3);
    let last: Vec<u64> = intervals
        .iter()
        .map(|interval| interval.run.users.last)
        .collect();
    assert_eq!(last[..9], [3, 3, 5, 5, 5, 0, 0, 2, 2]);
}

#[test]
fn ramp_of_users_follows_the_plan() {
    let phase = |from, to, seconds: u64| UserPhase {
        name: None,
        from,
        to,
        duration_ns: seconds * SECOND,
        duration_text: String::new(),
    };
    let load = Load::Closed {
        users: 4,
        duration_ns: 9 * SECOND,
        phases: vec![phase(0, 4, 3), phase(4, 4, 3), phase(4, 0, 3)],
    };
    let test = plan(load, PoolPolicy::PerUser);
    let slow = || -> Model { Box::new(|arrival| Some(arrival + 90 * MILLISECOND)) };
    let counted = |asked: &[(u64, AdjustedLoad)]| {
        let (intervals, _, answers) = steer(&test, slow(), Share::WHOLE, asked);
        (total(&intervals, label::ALL).counters.ok, answers)
    };
    let as_planned = simulate(&test, slow());
    let (ok, answers) = counted(&[
        (SECOND, AdjustedLoad::Users(9)),
        (7 * SECOND, AdjustedLoad::Users(9)),
    ]);
    let ramp = ChangeRefusal::Fixed(plan::load::Fixed::Ramp);
    assert_eq!(answers, [Err(ramp), Err(ramp)]);
    assert_eq!(ok, total(&as_planned, label::ALL).counters.ok);
    let (more, answers) = counted(&[(4 * SECOND, AdjustedLoad::Users(8))]);
    assert!(answers[0].is_ok());
    assert!(more > ok + 4 * 15, "{more} {ok}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn workers_send_the_whole_changed_load(
        asked in prop::collection::vec((0_u64..9_000, 0_u64..300), 0..5),
        of in 1_u64..4,
    ) {
        let mut asked: Vec<_> = asked.iter().map(|(ms, per_second)| (ms * MILLISECOND, rate(*per_second))).collect();
        asked.sort_by_key(|(at, _)| *at);
        let test = plan(open(40, 9), PoolPolicy::PerUser);
        let (mut all, mut due) = (Vec::new(), 0);
        let mut schedule = Vec::new();
        for index in 0..of {
            let (arrived, model) = seen();
            let (intervals, load_control, _) = steer(&test, model, Share { index, of }, &asked);
            all.extend(arrived.borrow().iter().copied());
            due += sums(&intervals).0;
            schedule = planned(&load_control);
        }
        all.sort_unstable();
        prop_assert_eq!(due, schedule.len() as u64);
        prop_assert_eq!(all, schedule);
    }
}
