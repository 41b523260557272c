//! Simulated groups, with their times and results.

use plan::{
    Load, Plan, PoolPolicy, Step,
    scenario::{Block, BlockKind, Branch, Loop, LoopCount, LoopRange, Parallel, Think, ThinkTime},
    units::{MILLISECOND, SECOND},
};

use measure::{
    Interval, Label, NoAnswer, OutcomeClass, Slot, TimeKind,
    label::{self, LabelGroup},
    summary::{KindTimes, Quantile},
};

use super::{Model, flows::named, near, open, plan, simulate_held_up, stalling, total};
use crate::program::Program;

fn group(name: &str, steps: Vec<Step>) -> Step {
    let by = BlockKind::Group(name.to_owned());
    Step::Block(Block { by, steps })
}

fn pause(ns: u64) -> Step {
    Step::Think(Think {
        time: ThinkTime::Fixed(ns),
        jitter: None,
    })
}

struct Grouped {
    intervals: Vec<Interval>,
    labels: Vec<Label>,
}

impl Grouped {
    fn run(load: Load, pool: PoolPolicy, steps: Vec<Step>, model: Model) -> Grouped {
        let mut plan = plan(load, pool);
        plan.work.scenarios_mut()[0].steps = steps;
        Grouped::held_up(&plan, model, |at| at)
    }

    fn held_up(plan: &Plan, model: Model, held_up: impl Fn(u64) -> u64) -> Grouped {
        let program = Program::compile(plan, 1, None).expect("a plan that compiles");
        Grouped {
            intervals: simulate_held_up(plan, model, held_up),
            labels: program.labels.all().to_vec(),
        }
    }

    fn p95_ms(&self, name: &str) -> f64 {
        let slot = self.slot(LabelGroup::Transaction, name);
        match KindTimes::from_slot(&slot, TimeKind::Iteration).quantile(0.95) {
            Quantile::Ns(ns) => ns as f64 / MILLISECOND as f64,
            other => panic!("{other:?}"),
        }
    }

    fn slot(&self, group: LabelGroup, name: &str) -> Slot {
        let mut labels = self.labels.iter();
        let label = labels.find(|label| label.group == group && label.name == name);
        total(&self.intervals, label.expect("a label").id)
    }

    fn ok(&self, name: &str) -> (u64, [u64; 2], Option<[u64; 2]>) {
        let slot = self.slot(LabelGroup::Transaction, name);
        let ends = |kind| {
            let times = slot.histogram(kind, OutcomeClass::Ok)?;
            Some([times.min()?, times.max()?].map(|ns| ns / MILLISECOND))
        };
        let times = ends(TimeKind::Iteration).unwrap_or_default();
        (slot.counters.ok, times, ends(TimeKind::Unpaused))
    }
}

fn after(ns: u64) -> Model {
    Box::new(move |arrival| Some(arrival + ns))
}

#[test]
fn groups_have_times_with_and_without_pauses() {
    let base = plan(open(10, 10), PoolPolicy::PerUser);
    let get = || named(&base, "/");
    let steps = vec![
        get(),
        group(
            "Buy",
            vec![
                pause(100 * MILLISECOND),
                group("Choose", vec![get(), get()]),
                pause(50 * MILLISECOND),
                group("Pay", vec![get()]),
            ],
        ),
        get(),
    ];
    let run = Grouped::run(
        open(10, 10),
        PoolPolicy::PerUser,
        steps,
        after(10 * MILLISECOND),
    );
    assert_eq!(run.ok("Buy"), (100, [180, 180], Some([30, 30])));
    assert_eq!(run.ok("Choose"), (100, [20, 20], None));
    assert_eq!(run.ok("Pay"), (100, [10, 10], None));
    let all = total(&run.intervals, label::ALL).counters;
    assert_eq!((all.issued, all.ok), (500, 500));
    let iterations = run.slot(LabelGroup::Iteration, "0");
    assert_eq!(
        (iterations.counters.ok, iterations.counters.bytes_in),
        (100, 0)
    );
    let times = iterations.histogram(TimeKind::Iteration, OutcomeClass::Ok);
    assert_eq!(
        times.and_then(measure::Histogram::max),
        Some(200 * MILLISECOND)
    );
}

#[test]
fn first_group_starts_at_the_intended_arrival() {
    let base = plan(open(1000, 20), PoolPolicy::Shared(10));
    let steps = vec![
        group("First", vec![named(&base, "/")]),
        group("Second", vec![named(&base, "/")]),
    ];
    let model = stalling(MILLISECOND, SECOND, 10 * SECOND);
    let run = Grouped::run(open(1000, 20), PoolPolicy::Shared(10), steps, model);
    let first = run.slot(LabelGroup::Transaction, "First");
    assert_eq!((first.counters.issued, first.counters.ok), (20_000, 20_000));
    assert!(run.p95_ms("First") > 400.0, "{}", run.p95_ms("First"));
    let sum = |slot: &Slot| {
        let times = slot.histogram(TimeKind::Iteration, OutcomeClass::Ok);
        times.map(measure::Histogram::sum)
    };
    let second = sum(&run.slot(LabelGroup::Transaction, "Second"));
    assert_eq!(
        sum(&first).zip(second).map(|(a, b)| a + b),
        sum(&run.slot(LabelGroup::Iteration, "0"))
    );
}

#[test]
fn lateness_is_in_the_first_group() {
    let mut plan = plan(open(1000, 20), PoolPolicy::PerUser);
    plan.work.scenarios_mut()[0].steps = vec![
        group("First", vec![named(&plan, "/")]),
        group("Second", vec![named(&plan, "/")]),
    ];
    let held_up = |at: u64| {
        let into = at % (5 * SECOND);
        let is_stalled = into > 4_500 * MILLISECOND;
        if is_stalled {
            at - into + 5 * SECOND
        } else {
            at
        }
    };
    let run = Grouped::held_up(&plan, after(MILLISECOND), held_up);
    near(run.p95_ms("First"), 250.0, 0.03);
    near(run.p95_ms("Second"), 1.0, 0.01);
}

#[test]
fn failed_iteration_fails_its_groups() {
    let mut requests = 0;
    let model: Model = Box::new(move |arrival| {
        requests += 1;
        (requests % 3 != 0).then_some(arrival + MILLISECOND)
    });
    let mut plan = plan(open(1, 10), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(100 * MILLISECOND);
    let get = || named(&plan, "/");
    let steps = vec![
        group("Whole", vec![get()]),
        group(
            "Outer",
            vec![get(), group("Inner", vec![get(), get()]), get()],
        ),
        group("Never", vec![get()]),
    ];
    plan.work.scenarios_mut()[0].steps = steps;
    let run = Grouped::held_up(&plan, model, |at| at);
    assert_eq!(run.ok("Whole"), (10, [1, 1], None));
    for (name, took) in [("Outer", 101), ("Inner", 100)] {
        let slot = run.slot(LabelGroup::Transaction, name);
        let counted = &slot.counters;
        assert_eq!((counted.issued, counted.ok), (10, 0), "{name}");
        assert_eq!(counted.unanswered[NoAnswer::Timeout as usize], 10, "{name}");
        let times = slot.histogram(TimeKind::Iteration, OutcomeClass::Unanswered);
        let longest = times.and_then(measure::Histogram::max).unwrap_or(0);
        assert!(
            (took..took + 20).contains(&(longest / MILLISECOND)),
            "{name}: {longest}"
        );
    }
    let never = run.slot(LabelGroup::Transaction, "Never").counters;
    assert_eq!((never.issued, never.ended()), (0, 0));
}

#[test]
fn groups_in_loops_count_each_round() {
    let base = plan(open(10, 10), PoolPolicy::PerUser);
    let get = || named(&base, "/");
    let thrice = |steps| {
        Step::Loop(Loop {
            steps,
            count: LoopCount::Fixed(LoopRange {
                start: 0,
                end: Some(3),
            }),
            over: None,
            index_as: "round".into(),
            element_as: "element".into(),
            while_true: None,
        })
    };
    let leaving = Step::Choose(vec![
        Branch {
            weight: 1,
            steps: vec![group("Leaving", vec![get(), Step::Exit(1.0), get()])],
        },
        Branch {
            weight: 1,
            steps: vec![group("Staying", vec![get()])],
        },
    ]);
    let steps = vec![
        group("All", vec![thrice(vec![group("Round", vec![get()])])]),
        group("Last", vec![leaving]),
    ];
    let run = Grouped::run(
        open(10, 10),
        PoolPolicy::PerUser,
        steps,
        after(10 * MILLISECOND),
    );
    assert_eq!(run.ok("All"), (100, [30, 30], None));
    assert_eq!(run.ok("Round"), (300, [10, 10], None));
    assert_eq!(run.ok("Last"), (100, [10, 10], None));
    let (left, stayed) = (run.ok("Leaving").0, run.ok("Staying").0);
    assert_eq!(left + stayed, 100);
    assert!(left > 20 && stayed > 20, "{left}");
}

#[test]
fn groups_of_one_name_share_a_row() {
    let base = plan(open(10, 1), PoolPolicy::PerUser);
    let get = || named(&base, "/");
    let steps = vec![
        group("Look", vec![get()]),
        group("Look", vec![pause(5 * MILLISECOND), get()]),
    ];
    let run = Grouped::run(
        open(10, 1),
        PoolPolicy::PerUser,
        steps,
        after(10 * MILLISECOND),
    );
    assert_eq!(run.ok("Look"), (20, [10, 15], Some([10, 10])));
}

#[test]
fn parallel_steps_are_in_the_groups_time() {
    let base = plan(open(10, 10), PoolPolicy::PerUser);
    let get = || named(&base, "/");
    let side_by_side = Step::Parallel(Parallel {
        steps: vec![
            group("One", vec![get()]),
            group("Two", vec![get(), pause(100 * MILLISECOND)]),
        ],
        limit: 2,
    });
    let steps = vec![group("Both", vec![side_by_side])];
    let run = Grouped::run(
        open(10, 10),
        PoolPolicy::PerUser,
        steps,
        after(10 * MILLISECOND),
    );
    assert_eq!((run.ok("One").0, run.ok("Two").0), (100, 100));
    assert_eq!(run.ok("Two"), (100, [120, 120], Some([20, 20])));
    assert_eq!(run.ok("Both"), (100, [120, 120], Some([20, 20])));
}

#[test]
fn parallel_pause_counts_if_it_delays_the_end() {
    let base = plan(open(10, 10), PoolPolicy::PerUser);
    let get = || named(&base, "/");
    let counts_with_pause = |ns| {
        let steps = vec![
            group("Pausing", vec![get(), pause(ns)]),
            group("Busy", vec![get(), get(), get()]),
        ];
        let both = Step::Parallel(Parallel { steps, limit: 2 });
        let steps = vec![group("Both", vec![both])];
        let run = Grouped::run(
            open(10, 10),
            PoolPolicy::PerUser,
            steps,
            after(10 * MILLISECOND),
        );
        assert_eq!(run.ok("Busy"), (100, [40, 40], None));
        run.ok("Both")
    };
    // Both branches use one connection. One takes 10 ms and the pause, the other takes 40 ms.
    assert_eq!(
        counts_with_pause(5 * MILLISECOND),
        (100, [40, 40], Some([40, 40]))
    );
    assert_eq!(
        counts_with_pause(100 * MILLISECOND),
        (100, [110, 110], Some([40, 40]))
    );
}

#[test]
fn failed_branch_fails_enclosing_groups() {
    let mut requests = 0;
    let model: Model = Box::new(move |arrival| {
        requests += 1;
        (requests % 2 != 0).then_some(arrival + MILLISECOND)
    });
    let mut plan = plan(open(1, 10), PoolPolicy::PerUser);
    plan.http.timeouts.total_ns = Some(100 * MILLISECOND);
    let side_by_side = Step::Parallel(Parallel {
        steps: vec![
            group("One", vec![named(&plan, "/")]),
            group("Two", vec![named(&plan, "/")]),
        ],
        limit: 2,
    });
    plan.work.scenarios_mut()[0].steps = vec![group("Both", vec![side_by_side])];
    let run = Grouped::held_up(&plan, model, |at| at);
    assert_eq!(run.ok("One"), (10, [1, 1], None));
    for name in ["Two", "Both"] {
        let counted = run.slot(LabelGroup::Transaction, name).counters;
        let timeouts = counted.unanswered[NoAnswer::Timeout as usize];
        assert_eq!(
            (counted.issued, counted.ok, timeouts),
            (10, 0, 10),
            "{name}"
        );
    }
}
