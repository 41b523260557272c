//! Several workloads on one timeline. Each follows its own schedule, and their counts are correct.

use measure::label::LabelGroup;
use plan::{Shape, Workload, seed_of_workload, units::MILLISECOND};
use proptest::prelude::*;

use super::*;

fn named(name: &str, path: &str, weight: u32) -> Scenario {
    let request = Request::new("GET", Template::Literal(path.into()), path);
    Scenario {
        name: Some(name.to_owned()),
        weight,
        volume: None,
        on_error: Vec::new(),
        steps: vec![Step::Request(Box::new(request))],
    }
}

fn workload(name: &str, starts_s: u64, load: Load, scenarios: &[usize]) -> Workload {
    Workload {
        name: name.to_owned(),
        starts_ns: starts_s * SECOND,
        graceful_stop_ns: 0,
        load,
        planned: None,
        text: String::new(),
        scenarios: scenarios.to_vec(),
    }
}

fn several(workloads: Vec<Workload>, scenarios: Vec<Scenario>) -> Plan {
    let mut plan = plan(Load::Several { workloads }, PoolPolicy::PerUser);
    plan.work = scenarios.into();
    plan
}

/// Orders arrive at 5/s for 10 s, and one scenario gets three of four. Two users browse from second
/// 2 to second 8. A health check is due every 2 s from second 1.
fn mix() -> Plan {
    let scenarios = vec![
        named("order", "/order", 3),
        named("browse", "/browse", 1),
        named("reorder", "/reorder", 1),
        named("health", "/health", 1),
    ];
    let checks = Phase::new(8 * SECOND, Shape::Count(4));
    let checks = Load::Open {
        phases: vec![checks],
        first: FirstArrival::AtStart,
    };
    let workloads = vec![
        workload("orders", 0, open(5, 10), &[0, 2]),
        workload("browsing", 2, closed(2, 6), &[1]),
        workload("checks", 1, checks, &[3]),
    ];
    several(workloads, scenarios)
}

/// Arrivals at 50/s alongside one user, for two seconds.
pub(super) fn open_and_closed() -> Plan {
    let workloads = vec![
        workload("arrivals", 0, open(50, 2), &[0]),
        workload("user", 0, closed(1, 2), &[1]),
    ];
    several(workloads, vec![named("a", "/a", 1), named("b", "/b", 1)])
}

fn answering(service_ns: u64) -> Model {
    Box::new(move |arrival| Some(arrival + service_ns))
}

/// Returns the number of finished iterations of a scenario.
fn ended(plan: &Plan, intervals: &[Interval], name: &str) -> u64 {
    let program = Program::compile(plan, 1, None).unwrap();
    let mut labels = program.labels.all().iter();
    let is_own =
        |label: &&measure::Label| label.group == LabelGroup::Iteration && label.text == name;
    let id = labels.find(is_own).unwrap().id;
    total(intervals, id).counters.ended()
}

#[test]
fn counts_of_workloads_follow_their_own_schedules() {
    let plan = mix();
    let intervals = simulate(&plan, answering(100 * MILLISECOND));
    let counts = ["order", "browse", "reorder", "health"];
    let counts = counts.map(|name| ended(&plan, &intervals, name));
    let drawn = plan.draw_of_workload(0, 1).counts(50);
    assert_eq!([counts[0], counts[2]], [drawn[0], drawn[2]]);
    assert_eq!(counts[0] + counts[2], 50);
    // Two users, each with ten iterations per second for six seconds.
    assert_eq!(counts[1], 120);
    assert_eq!(counts[3], 4);
    let sum = |of: fn(&Interval) -> u64| intervals.iter().map(of).sum::<u64>();
    assert_eq!(sum(|interval| interval.run.due), 54);
    assert_eq!(sum(|interval| interval.run.started), 54);
}

#[test]
fn summary_counts_arrivals_and_users_separately() {
    let plan = mix();
    let intervals = simulate(&plan, answering(100 * MILLISECOND));
    let summary = judged::summary(&plan, intervals);
    let arrivals = summary.arrivals.unwrap();
    assert_eq!(
        (arrivals.planned, arrivals.started, arrivals.completed),
        (Some(54), 54, 54)
    );
    assert!(arrivals.adds_up);
    assert_eq!(summary.run.model, record::Model::Mixed);
    let workloads = summary.workloads.iter();
    let rows: Vec<_> = workloads
        .map(|row| (row.planned, row.users, row.ended))
        .collect();
    let expected = [
        (Some(50), None, 50),
        (None, Some(2), 120),
        (Some(4), None, 4),
    ];
    assert_eq!(rows, expected);
    for row in &summary.scenarios {
        let planned = (row.name != "browse").then_some(row.ended);
        assert_eq!(row.planned, planned, "{}", row.name);
    }
    let measurement = summary.measurement.unwrap();
    assert_eq!(measurement.sent, Some(1.0));
    assert!(measurement.lateness_p99_ns.is_some() && measurement.stall_p99_ns.is_some());
}

#[test]
fn stalls_of_the_server_delay_only_closed_workloads() {
    let plan = mix();
    let intervals = simulate(&plan, answering(3 * SECOND));
    assert_eq!(ended(&plan, &intervals, "health"), 4);
    assert_eq!(ended(&plan, &intervals, "browse"), 4);
    let orders = ["order", "reorder"].map(|name| ended(&plan, &intervals, name));
    assert_eq!(orders.iter().sum::<u64>(), 50);
}

#[test]
fn user_limit_of_one_workload_does_not_turn_away_others() {
    let mut plan = mix();
    if let Load::Several { workloads } = &mut plan.load
        && let Load::Open { phases, .. } = &mut workloads[2].load
    {
        phases[0].max_users = Some(1);
    }
    let intervals = simulate(&plan, answering(3 * SECOND));
    let skipped: u64 = intervals.iter().map(|one| one.run.skipped).sum();
    // Checks are due at 1, 3, 5 and 7 s, and each takes 3 s.
    assert_eq!((skipped, ended(&plan, &intervals, "health")), (2, 2));
    let orders = ["order", "reorder"].map(|name| ended(&plan, &intervals, name));
    assert_eq!(orders.iter().sum::<u64>(), 50);
}

#[test]
fn iterations_of_closed_workloads_alone_are_started_iterations() {
    let workloads = vec![
        workload("first", 0, closed(1, 2), &[0]),
        workload("second", 3, closed(2, 1), &[1]),
    ];
    let scenarios = vec![named("a", "/a", 1), named("b", "/b", 1)];
    let plan = several(workloads, scenarios);
    let intervals = simulate(&plan, answering(100 * MILLISECOND));
    let started: u64 = intervals.iter().map(|one| one.run.started).sum();
    assert_eq!(started, 40);
    assert_eq!(ended(&plan, &intervals, "a"), 20);
    assert_eq!(ended(&plan, &intervals, "b"), 20);
}

#[test]
fn max_duration_ends_all_workloads() {
    let mut plan = mix();
    plan.max_duration_ns = Some(4 * SECOND);
    let intervals = simulate(&plan, answering(100 * MILLISECOND));
    assert_eq!(ended(&plan, &intervals, "browse"), 40);
    assert_eq!(ended(&plan, &intervals, "health"), 2);
    let due: u64 = intervals.iter().map(|one| one.run.due).sum();
    assert_eq!(due, 22);
}

#[test]
fn workloads_draw_different_random_numbers() {
    assert_eq!(seed_of_workload(7, 0), 7);
    assert_ne!(seed_of_workload(7, 1), seed_of_workload(7, 2));
}

/// Generates a workload for the property test: its load, its start in seconds, and the number of
/// iterations that must finish if each takes 50 ms.
fn any_workload() -> impl Strategy<Value = (Load, u64, u64)> {
    let open = (1..60u64, 1..4u64, 0..4u64)
        .prop_map(|(rate, seconds, start)| (open(rate, seconds), start, rate * seconds));
    let closed = (1..4u32, 1..4u64, 0..4u64).prop_map(|(users, seconds, start)| {
        let ended = u64::from(users) * seconds * SECOND / (50 * MILLISECOND);
        (closed(users, seconds), start, ended)
    });
    prop_oneof![open, closed]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn every_mix_follows_its_closed_forms(
        mix in proptest::collection::vec(any_workload(), 1..5),
    ) {
        let names: Vec<String> = (0..mix.len()).map(|index| format!("s{index}")).collect();
        let scenarios = names.iter().map(|name| named(name, "/", 1)).collect();
        let workloads = mix.iter().enumerate();
        let workloads = workloads.map(|(index, (load, start, _))| {
            workload(&names[index], *start, load.clone(), &[index])
        });
        let plan = several(workloads.collect(), scenarios);
        let intervals = simulate(&plan, answering(50 * MILLISECOND));
        for (name, (_, _, expected)) in names.iter().zip(&mix) {
            prop_assert_eq!(ended(&plan, &intervals, name), *expected, "{}", name);
        }
        let open = plan.workloads().iter().zip(&mix).filter(|(one, _)| one.is_open());
        let planned: u64 = open.map(|(_, (_, _, expected))| expected).sum();
        let due: u64 = intervals.iter().map(|one| one.run.due).sum();
        prop_assert_eq!(due, planned);
    }
}
