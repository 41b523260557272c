//! Simulated users and steps: changing numbers of users, branches and conditions.

use plan::{
    Load, Plan, PoolPolicy, Request, Step, UserPhase,
    scenario::{Block, BlockKind, Branch, Loop, LoopCount, LoopRange},
    units::{MILLISECOND, SECOND},
};
use query::filtrex::{Filtrex, NameSource};

use measure::label;

use super::{open, plan, simulate, total};

#[test]
fn users_are_active_as_computed() {
    let phase = |from, to| UserPhase {
        name: None,
        from,
        to,
        duration_ns: 10 * SECOND,
        duration_text: String::new(),
    };
    let load = Load::Closed {
        users: 10,
        duration_ns: 30 * SECOND,
        phases: vec![phase(0, 10), phase(10, 10), phase(10, 0)],
    };
    let intervals = simulate(
        &plan(load, PoolPolicy::PerUser),
        Box::new(|arrival| Some(arrival + 10 * MILLISECOND)),
    );
    let all = total(&intervals, label::ALL).counters;
    // User k is active from second k to second 30 - k and sends a request every 10 ms.
    let expected: u64 = (0..10).map(|k| (30 - 2 * k) * 100).sum();
    assert_eq!((all.ok, all.without_answer()), (expected, 0));
    let in_second = |second: u64| -> u64 {
        let of = intervals
            .iter()
            .filter(|i| i.span.to_ns > second * SECOND && i.span.to_ns <= (second + 1) * SECOND);
        of.map(|i| i.run.started).sum()
    };
    let started: Vec<u64> = [0, 4, 15, 20, 25, 29].map(in_second).to_vec();
    assert_eq!(started, [100, 500, 1000, 1000, 500, 100]);
}

pub(super) fn named(plan: &Plan, label: &str) -> Step {
    let Step::Request(first) = plan.scenarios()[0].steps[0].clone() else {
        panic!("the first step is a request");
    };
    Step::Request(Box::new(Request {
        label: label.into(),
        ..*first
    }))
}

#[test]
fn branches_and_conditions_are_followed() {
    let mut plan = plan(open(200, 20), PoolPolicy::PerUser);
    let [often, seldom, round, never] =
        ["often", "seldom", "round", "never"].map(|label| named(&plan, label));
    let only_if = |text: &str, step: Step| {
        let condition = Filtrex::parse(text, NameSource::Variables).expect("a condition");
        Step::Block(Block {
            by: BlockKind::If(condition),
            steps: vec![step],
        })
    };
    let branch = |weight, step| Branch {
        weight,
        steps: vec![step],
    };
    plan.work.scenarios_mut()[0].steps.extend([
        Step::Choose(vec![branch(3, often), branch(1, seldom)]),
        Step::Loop(Loop {
            steps: vec![only_if("round > 0", round), only_if("round > 2", never)],
            count: LoopCount::Fixed(LoopRange {
                start: 0,
                end: Some(3),
            }),
            over: None,
            index_as: "round".into(),
            element_as: "element".into(),
            while_true: None,
        }),
    ]);
    let counted = || {
        let intervals = simulate(&plan, Box::new(|arrival| Some(arrival + MILLISECOND)));
        [2, 3, 4, 5, 6, 7].map(|label| total(&intervals, label).counters.ok)
    };
    let [first, often, seldom, round, never, iterations] = counted();
    assert_eq!((first, often + seldom, iterations), (4000, 4000, 4000));
    assert!(often.abs_diff(3000) < 137, "{often}");
    assert_eq!((round, never), (8000, 0));
    assert_eq!(counted(), [first, often, seldom, round, never, iterations]);
}
