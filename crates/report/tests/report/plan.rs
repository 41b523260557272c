use analysis::{
    page,
    summary::{PeakRecovery, ScenarioRow},
};

use super::{
    support::SECOND,
    worlds::{RATE, SECONDS, World, run},
};

fn only_scenario(world: World) -> ScenarioRow {
    let mut rows = analysis::summarise(&run(world, &[])).scenarios;
    assert_eq!(rows.len(), 1);
    rows.remove(0)
}

#[test]
fn scenario_share_follows_its_weight() {
    let row = only_scenario(World::Healthy);
    assert_eq!(row.name, "checkout");
    assert_eq!(row.share, Some(1.0));
    assert_eq!(row.planned, Some(RATE * SECONDS));
    assert_eq!(row.planned_per_hour, Some(360_000.0));
    assert_eq!(row.planned_per_second, Some(100.0));
    assert_eq!((row.completed, row.of_plan), (RATE * SECONDS, Some(1.0)));
    assert_eq!((row.failed, row.unfinished), (0, Some(0)));
    let late = analysis::summarise(&run(World::Overloaded, &[]));
    let seconds = late.run.elapsed_ns as f64 / SECOND as f64;
    assert!(seconds > SECONDS as f64);
    let per_second = (RATE * SECONDS) as f64 / seconds;
    let row = &late.scenarios[0];
    assert!((row.completed_per_second - per_second).abs() < 1e-9);
    assert_eq!(row.completed_per_second, late.all.per_second);
    assert_eq!(row.completed_per_second, late.iterations[0].per_second);
}

#[test]
fn failed_iterations_are_not_delivered() {
    let row = only_scenario(World::Erring);
    assert_eq!(row.failed, RATE * SECONDS / 5);
    assert_eq!(row.completed, RATE * SECONDS * 4 / 5);
    assert_eq!(row.of_plan, Some(0.8));
}

#[test]
fn killed_run_expects_only_due_arrivals() {
    let row = only_scenario(World::Killed);
    let arrivals = analysis::summarise(&run(World::Killed, &[]))
        .arrivals
        .unwrap();
    assert_eq!(row.planned, arrivals.planned);
    assert!(row.planned.unwrap() < RATE * SECONDS);
}

#[test]
fn requests_in_flight_at_end_of_load_are_reported() {
    let recovery = analysis::summarise(&run(World::Overloaded, &[]))
        .recovery
        .unwrap();
    assert_eq!(recovery.peak, None);
    let after = recovery.after_load.unwrap();
    // The queue grew by a quarter for 40 s, so arrivals of the last 8 s wait beyond the end.
    assert_eq!(after.from_ns, SECONDS * SECOND);
    assert!(
        (790..=801).contains(&after.in_flight),
        "{}",
        after.in_flight
    );
    assert_eq!((after.ended, after.errors), (after.in_flight, 0));
    assert!((9 * SECOND..11 * SECOND).contains(&after.drained_ns));
    let p95 = after.p95.unwrap().ns.unwrap();
    assert!((9 * SECOND..11 * SECOND).contains(&p95), "{p95}");
    for world in [World::Healthy, World::Killed, World::Once, World::Empty] {
        assert_eq!(
            analysis::summarise(&run(world, &[])).recovery,
            None,
            "{world:?}"
        );
    }
}

fn peak(slow_until: u64) -> (PeakRecovery, Vec<String>) {
    peak_of(World::Peak(slow_until))
}

fn peak_of(world: World) -> (PeakRecovery, Vec<String>) {
    let page = page::build(&run(world, &[]));
    let text = report::markdown::render(&page).text;
    assert!(text.contains("## Recovery\n"), "{text}");
    let kinds = page.summary.conclusions.iter().map(|c| c.kind.clone());
    let kinds = kinds.collect();
    (page.summary.recovery.unwrap().peak.unwrap(), kinds)
}

#[test]
fn answers_slow_beyond_a_peak_say_for_how_long() {
    let (found, kinds) = peak(27);
    assert_eq!((found.phase, found.end_ns), (1, 24 * SECOND));
    assert!((1_500_000..2_100_000).contains(&found.before.ns.unwrap()));
    assert!((2 * SECOND..=4 * SECOND).contains(&found.settled_ns.unwrap()));
    assert!(!found.slow_until_end);
    assert!(kinds.contains(&"recovery".to_owned()), "{kinds:?}");
}

#[test]
fn peak_without_effect_is_not_reported() {
    let (found, kinds) = peak(16);
    assert_eq!(found.settled_ns, Some(0));
    assert_eq!(kinds[0], "healthy");
    assert!(!kinds.contains(&"recovery".to_owned()), "{kinds:?}");
}

#[test]
fn server_slow_after_peak_is_not_healthy() {
    let (found, kinds) = peak(SECONDS);
    assert_eq!(found.settled_ns, None);
    assert!(found.slow_until_end);
    assert!(kinds.contains(&"recovery".to_owned()), "{kinds:?}");
    assert!(!kinds.contains(&"healthy".to_owned()), "{kinds:?}");
}

#[test]
fn backlog_drains_in_computed_time() {
    let (found, kinds) = peak_of(World::Queue { tires: false });
    // With 200/s for 10 s, a server that takes 7 ms answers 143/s. 571 requests wait, and 43/s are
    // drained.
    let drain_ns = 40.0 / 3.0 * 1e9;
    let within = |ns: Option<u64>| (ns.unwrap() as f64 / drain_ns - 1.0).abs() < 0.1;
    assert!(within(found.settled_ns), "{:?}", found.settled_ns);
    assert!(within(found.drained_ns), "{:?}", found.drained_ns);
    assert!(
        (570..=574).contains(&found.in_flight),
        "{}",
        found.in_flight
    );
    assert!(kinds.contains(&"recovery".to_owned()), "{kinds:?}");
}

#[test]
fn a_service_that_stays_where_the_peak_left_it_is_metastable() {
    let (found, kinds) = peak_of(World::Queue { tires: true });
    assert_eq!((found.settled_ns, found.drained_ns), (None, None));
    assert!(found.slow_until_end && found.is_metastable);
    assert_eq!(found.observed_ns, 20 * SECOND);
    let page = page::build(&run(World::Queue { tires: true }, &[]));
    let message = page
        .summary
        .conclusions
        .iter()
        .find(|c| c.kind == "recovery");
    let message = &message.unwrap().text;
    assert!(
        message.contains("did not recover within 20") && message.contains("metastable"),
        "{message}"
    );
    assert!(!kinds.contains(&"healthy".to_owned()), "{kinds:?}");
}
