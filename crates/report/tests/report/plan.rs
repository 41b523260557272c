//! Plan against achieved, and how a target came back to rest.

use report::{
    page,
    summary::{self, Peak, ScenarioRow},
};

use super::{
    support::SECOND,
    worlds::{RATE, SECONDS, World, run},
};

fn only_scenario(world: World) -> ScenarioRow {
    let mut rows = summary::of(&run(world, &[])).scenarios;
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn a_scenario_is_asked_for_what_its_weight_gives_it() {
    let row = only_scenario(World::Healthy);
    assert_eq!(row.name, "checkout");
    assert_eq!(row.share, Some(1.0));
    assert_eq!(row.planned, Some(RATE * SECONDS));
    assert_eq!(row.planned_per_hour, Some(360_000.0));
    assert_eq!(row.planned_per_second, Some(100.0));
    assert_eq!((row.completed, row.of_plan), (RATE * SECONDS, Some(1.0)));
    assert_eq!((row.failed, row.unfinished), (0, 0));
    // What came to its end after the load counts, and over the load's length.
    let late = only_scenario(World::Overloaded);
    assert_eq!(late.completed_per_hour, 360_000.0);
}

#[test]
fn failed_iterations_are_not_delivered() {
    let row = only_scenario(World::Erring);
    assert_eq!(row.failed, RATE * SECONDS / 5);
    assert_eq!(row.completed, RATE * SECONDS * 4 / 5);
    assert_eq!(row.of_plan, Some(0.8));
}

#[test]
fn of_a_killed_run_only_what_was_due_was_asked_for() {
    let row = only_scenario(World::Killed);
    let arrivals = summary::of(&run(World::Killed, &[])).arrivals.unwrap();
    assert_eq!(row.planned, arrivals.planned);
    assert!(row.planned.unwrap() < RATE * SECONDS);
}

#[test]
fn what_was_under_way_when_the_load_ended_is_told() {
    let recovery = summary::of(&run(World::Overloaded, &[])).recovery.unwrap();
    // The queue grew by a quarter of 40 s: whoever arrived in the last 8 s of the load waits beyond it.
    assert_eq!(recovery.load_end_ns, SECONDS * SECOND);
    assert!(
        (790..=801).contains(&recovery.backlog),
        "{}",
        recovery.backlog
    );
    assert_eq!(recovery.ended, recovery.backlog);
    assert_eq!(recovery.errors, 0);
    assert!((9 * SECOND..11 * SECOND).contains(&recovery.drained_ns));
    let p95 = recovery.p95.unwrap().ns.unwrap();
    assert!((9 * SECOND..11 * SECOND).contains(&p95), "{p95}");
    assert_eq!(recovery.peak, None);
    let healthy = summary::of(&run(World::Healthy, &[])).recovery.unwrap();
    assert_eq!((healthy.backlog, healthy.ended, healthy.p95), (0, 0, None));
    assert!(summary::of(&run(World::Killed, &[])).recovery.is_none());
}

#[test]
fn answers_slow_beyond_a_peak_say_for_how_long() {
    let page = page::of(&run(World::Peak, &[]));
    let Peak {
        phase,
        end_ns,
        before,
        settled_ns,
        ..
    } = page.summary.recovery.clone().unwrap().peak.unwrap();
    assert_eq!((phase, end_ns), (1, 24 * SECOND));
    assert!((1_500_000..2_100_000).contains(&before.ns.unwrap()));
    assert!((2 * SECOND..=4 * SECOND).contains(&settled_ns.unwrap()));
    let text = report::markdown::of(&page).text;
    assert!(text.contains("After the peak (phase 2) it took "), "{text}");
    assert!(text.contains("## Recovery\n"), "{text}");
}
