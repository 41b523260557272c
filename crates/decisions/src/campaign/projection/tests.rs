use super::*;
use crate::campaign::VolumeRate;
use analysis::saturation::Saturation;

fn instances(instances: u32, background: f64) -> Deployment {
    Deployment {
        instances,
        background,
    }
}

fn scaling(tested: Deployment, target: Deployment) -> Scaling {
    Scaling { tested, target }
}

fn usual() -> Scaling {
    scaling(instances(6, 0.0), instances(16, 0.35))
}

fn pool() -> Reached {
    Reached {
        resource: "thread pool".into(),
        source: "puma".into(),
        metric: "pool_capacity".into(),
        limit: "0 of 40 left".into(),
        instances: 6,
        all_instances: 6,
        at_ns: 1,
        held_ns: 1,
        issued_per_second: Some(100.0),
        cause: None,
        held_by: Some("lorota".into()),
    }
}

fn row(name: &str, verdict: StageVerdict, per_second: f64) -> StageRow {
    let rate = |name: &str, share: f64| VolumeRate {
        name: name.into(),
        volume: None,
        today: None,
        per_second: per_second * share,
    };
    StageRow {
        name: name.into(),
        load: String::new(),
        target: None,
        against: None,
        verdict,
        reason: String::new(),
        criteria: Vec::new(),
        planned: Some(Planned {
            calls: Vec::new(),
            arrivals_per_second: per_second,
            varies: false,
            requests_per_second: per_second * 4.0,
            scenarios: vec![rate("Check-in", 0.2), rate("Pre check-in", 0.8)],
            endpoints: Vec::new(),
        }),
        requests_per_second: None,
        busiest_phase_per_second: None,
        requests: None,
        error_share: None,
        is_unanswered: false,
        time: None,
        percentiles: [None, None, None],
        elapsed_ns: Some(60_400_000_000),
        from_ns: None,
        from_utc: None,
        to_utc: None,
        from_local: None,
        to_local: None,
        report: None,
        mocks: Vec::new(),
        saturation: None,
        cool_down: None,
        requests_by_endpoint: Vec::new(),
        failures: Vec::new(),
        server: Vec::new(),
        server_changes: Vec::new(),
        links: Vec::new(),
        notes: None,
    }
}

fn saturated(mut row: StageRow, reached: Reached) -> StageRow {
    row.saturation = Some(Saturation {
        first: Some(0),
        sentence: "First resource to saturate: thread pool.".into(),
        watched: Vec::new(),
        reached: vec![reached],
    });
    row
}

fn projection(scaling: Scaling, rows: &[StageRow]) -> Projection {
    let stages: Vec<FinishedStage<'_>> = rows
        .iter()
        .map(|row| FinishedStage {
            name: &row.name,
            load: "",
            target: None,
            against: None,
            planned: None,
            outcome: StageOutcome::NotRun,
            cool_down: None,
            notes: None,
        })
        .collect();
    project(scaling, RateUnit::Second, &stages, rows)
}

fn half_and_whole() -> [StageRow; 2] {
    let whole = row("1x", StageVerdict::Fail, 50.0);
    [
        row("0.5x", StageVerdict::Pass, 25.0),
        saturated(whole, pool()),
    ]
}

#[test]
fn the_ends_of_the_estimate_are_what_held_and_what_failed_times_what_is_left() {
    let reported = projection(usual(), &half_and_whole());
    let estimate = reported.estimate.unwrap();
    assert!((estimate.times - 10.4 / 6.0).abs() < 1e-12);
    let [check_in, _, arrivals, requests] = estimate.rows.as_slice() else {
        panic!("{:?}", estimate.rows);
    };
    for (bracket, [from, to]) in [
        (check_in, [5.0, 10.0]),
        (arrivals, [25.0, 50.0]),
        (requests, [100.0, 200.0]),
    ] {
        assert_eq!(bracket.measured, [from, to]);
        assert_eq!(
            bracket.estimated,
            [from, to].map(|rate| rate * estimate.times)
        );
    }
    assert_eq!(
        reported.sentence,
        "Estimate, not measured: the limit of 16 instances with 35 % used by other load is between 43.3 and 86.7 arrivals and between 173 and \
         347 requests per second, 1.73 times that of the tested service. The tested service held with 0.5x and failed with 1x."
    );
    let all = reported.assumptions.join("\n");
    for text in [
        "linearly",
        "6 were tested, the target has 16 × 65 % = 10.4",
        "is not a confidence interval",
        "lorota, which the threads wait for, handles 2.7 times the load without slowing down",
        "databases",
        "A load that was sustained for 1 min can be sustained",
    ] {
        assert!(all.contains(text), "{text}\n{all}");
    }
}

#[test]
fn the_highest_load_that_was_sustained_counts() {
    let [half, whole] = half_and_whole();
    let rows = [
        row("baseline", StageVerdict::Pass, 5.0),
        half,
        whole,
        row("2x", StageVerdict::NotRun, 100.0),
    ];
    assert_eq!(projection(usual(), &rows).estimate.unwrap().held, "0.5x");
}

fn refused(scaling: Scaling, rows: &[StageRow]) -> String {
    let reported = projection(scaling, rows);
    assert_eq!(
        (&reported.estimate, reported.assumptions.len()),
        (&None, 0),
        "{}",
        reported.sentence
    );
    reported.sentence
}

#[test]
fn nothing_is_estimated_that_was_not_measured() {
    let [half, whole] = half_and_whole();
    let with = |change: &dyn Fn(&mut Reached)| {
        let mut reached = pool();
        change(&mut reached);
        [
            half.clone(),
            saturated(row("1x", StageVerdict::Fail, 50.0), reached),
        ]
    };
    let mut unplanned = half.clone();
    unplanned.planned = None;
    let mut unknown = whole.clone();
    if let Some(saturation) = &mut unknown.saturation {
        saturation.first = None;
        "The first resource to saturate is unknown. No metric says more."
            .clone_into(&mut saturation.sentence);
    }
    let cases: Vec<(Vec<StageRow>, &str)> = vec![
        (vec![half.clone()], "no stage failed"),
        (vec![whole.clone()], "no stage holds"),
        (
            vec![half.clone(), row("1x", StageVerdict::Invalid, 50.0)],
            "1x ended as INVALID",
        ),
        (
            vec![half.clone(), row("1x", StageVerdict::Fail, 50.0)],
            "the service was not measured in 1x",
        ),
        (
            vec![half.clone(), unknown],
            "in 1x: The first resource to saturate is unknown. No metric says more.",
        ),
        (vec![unplanned, whole.clone()], "0.5x has no rate"),
        (
            vec![row("0.5x", StageVerdict::Pass, 50.0), whole.clone()],
            "1x failed at a load no higher than one at which 0.5x held",
        ),
        (
            with(&|reached| reached.held_by = Some("the lock orders".into())).to_vec(),
            "the bottleneck is the lock orders, which holds the thread pool",
        ),
        (
            with(&|reached| reached.source = "postgres".into()).to_vec(),
            "more instances do not raise its capacity",
        ),
        (
            with(&|reached| reached.all_instances = 1).to_vec(),
            "was measured on 1, but `tested` declares 6",
        ),
        (
            with(&|reached| reached.all_instances = 8).to_vec(),
            "was measured on 8, but `tested` declares 6: correct",
        ),
    ];
    for (rows, message) in cases {
        let reported = refused(usual(), &rows);
        assert!(reported.contains(message), "{reported}\n{message}");
    }
}

#[test]
fn nothing_is_estimated_far_from_what_was_tested() {
    let rows = half_and_whole();
    assert!(
        projection(scaling(instances(6, 0.0), instances(24, 0.0)), &rows)
            .estimate
            .is_some()
    );
    for far in [
        scaling(instances(6, 0.0), instances(25, 0.0)),
        scaling(instances(6, 0.0), instances(25, 0.5)),
        scaling(instances(6, 0.5), instances(24, 0.4)),
    ] {
        assert!(refused(far, &rows).contains("times the tested size, and beyond 4 times"));
    }
}
