use analysis::{
    conclusions,
    summary::{
        AfterLoad, Behaviour, Figure, PeakRecovery, Recovery, Row, Steady, Summary, Tone, Trend,
        TrendSpan,
    },
    verdict::Judgement,
};

use super::worlds::{World, run};

fn healthy() -> Summary {
    analysis::summarise(&run(World::Healthy, &[]))
}

fn message(summary: &Summary, kind: &str) -> Option<String> {
    let all = conclusions::draw(summary);
    let json = serde_json::to_value(summary).unwrap();
    for path in all.iter().flat_map(|c| &c.figures) {
        let found = json.pointer(&format!("/{}", path.replace('.', "/")));
        assert!(found.is_some_and(|value| !value.is_null()), "{path}");
    }
    let found = all.into_iter().find(|c| c.kind == kind);
    found.map(|c| c.text)
}

fn endpoint(summary: &Summary, id: u16, text: &str, [p50, p95]: [Option<u64>; 2]) -> Row {
    let figure = |ms: Option<u64>| match ms {
        Some(ms) => Figure::from_ns(ms * 1_000_000),
        None => Figure {
            too_few: true,
            ..Figure::default()
        },
    };
    let mut row = summary.labels[0].clone();
    (row.id, row.text) = (id, text.to_owned());
    for stats in [&mut row.service, &mut row.response].into_iter().flatten() {
        (stats.p50, stats.p90, stats.p95) = (figure(p50), figure(None), figure(p95));
    }
    row
}

fn slowest_of(rows: &[(&str, [Option<u64>; 2])]) -> Option<String> {
    let mut summary = healthy();
    summary.labels = (2..)
        .zip(rows)
        .map(|(id, (text, figures))| endpoint(&summary, id, text, *figures))
        .collect();
    message(&summary, "slowest")
}

#[test]
fn the_slowest_endpoint_is_the_slowest_of_all() {
    let few = [Some(77), None];
    let many = [Some(5), Some(24)];
    let text = slowest_of(&[("GET /search", many), ("POST /checkout", few)]).unwrap();
    assert!(
        text.starts_with(
            "The slowest endpoint was POST /checkout, with a p50 response time of 77.0 ms"
        ),
        "{text}"
    );
    let text = slowest_of(&[("GET /search", many), ("GET /", [Some(3), Some(9)])]).unwrap();
    assert!(
        text.starts_with("The slowest endpoint was GET /search, with a p95"),
        "{text}"
    );
    let nothing = [None, None];
    let text = slowest_of(&[
        ("GET /a", many),
        ("GET /b", [Some(1), Some(2)]),
        ("GET /c", nothing),
    ]);
    let text = text.unwrap();
    assert!(
        text.starts_with("Among the 2 endpoints (of 3) with enough answers"),
        "{text}"
    );
    assert_eq!(slowest_of(&[("GET /a", many), ("GET /c", nothing)]), None);
    assert_eq!(
        slowest_of(&[("GET /a", many), ("GET /b", many)]),
        None,
        "neither is"
    );
}

#[test]
fn an_endpoint_without_answers_is_slower_than_any_that_answers() {
    let mut summary = healthy();
    summary.labels = vec![
        endpoint(&summary, 2, "GET /slow", [Some(900), Some(950)]),
        endpoint(&summary, 3, "GET /dead", [Some(1), Some(2)]),
    ];
    let dead = &mut summary.labels[1];
    for stats in [&mut dead.service, &mut dead.response] {
        let stats = stats.as_mut().unwrap();
        stats.p95 = Figure {
            at_least_ns: Some(100_000_000),
            ..Figure::default()
        };
    }
    let text = message(&summary, "slowest").unwrap();
    assert!(
        text.contains("was GET /dead, with a p95 response time of ≥ 100 ms"),
        "{text}"
    );
}

fn stretch(requests: f64, in_flight: f64) -> TrendSpan {
    TrendSpan {
        from_ns: 0,
        to_ns: 1,
        due_per_second: 100.0,
        issued_per_second: requests,
        ok_per_second: requests,
        error_share: Some(0.0),
        in_flight: Some(in_flight),
        p95: None,
    }
}

fn summary_of_trend(first: TrendSpan, last: TrendSpan) -> Summary {
    let mut summary = healthy();
    summary.trend = Some(Trend {
        best: first.clone(),
        first,
        last,
    });
    summary
}

#[test]
fn accumulating_users_are_not_overload() {
    let gathering = summary_of_trend(stretch(100.0, 10.0), stretch(400.0, 40.0));
    assert_eq!(message(&gathering, "overload"), None);
    let overload = summary_of_trend(stretch(100.0, 10.0), stretch(100.0, 40.0));
    assert!(
        message(&overload, "overload")
            .unwrap()
            .contains("grew from 10.0")
    );
}

#[test]
fn few_timeouts_under_growing_load_are_not_overload() {
    let mut summary = summary_of_trend(stretch(100.0, 10.0), stretch(400.0, 40.0));
    summary.trend.as_mut().unwrap().last.due_per_second = 400.0;
    summary.all.unanswered.insert("timeout".into(), 1);
    assert_eq!(message(&summary, "overload"), None);
    summary
        .all
        .unanswered
        .insert("timeout".into(), summary.all.count / 10);
    assert!(message(&summary, "overload").is_some());
}

#[test]
fn falling_latency_is_not_reported_as_growth() {
    let mut last = stretch(100.0, 150.0);
    last.ok_per_second = 50.0;
    let mut summary = summary_of_trend(stretch(100.0, 200.0), last);
    summary
        .all
        .unanswered
        .insert("timeout".into(), summary.all.count / 10);
    let text = message(&summary, "overload").unwrap();
    assert!(
        text.contains("went from 200 in the first quarter") && !text.contains("grew"),
        "{text}"
    );
}

#[test]
fn recovered_peak_is_not_reported_as_rise() {
    const SECOND: u64 = 1_000_000_000;
    let p95 = |ms: u64| Some(Figure::from_ns(ms * 1_000_000));
    let (mut first, mut last) = (stretch(100.0, 1.0), stretch(150.0, 5.0));
    (first.p95, last.p95) = (p95(10), p95(300));
    (last.from_ns, last.to_ns) = (30 * SECOND, 40 * SECOND);
    let mut summary = summary_of_trend(first, last);
    assert!(message(&summary, "trend").unwrap().contains("rose"));
    let peak = |end_s: u64, settled_s: Option<u64>| PeakRecovery {
        phase: 0,
        end_ns: end_s * SECOND,
        issued_per_second: 300.0,
        answered_per_second: 300.0,
        in_flight: 5,
        before: Figure::from_ns(10_000_000),
        bound_ns: 15_000_000,
        error_bound: 0.01,
        settled_ns: settled_s.map(|s| s * SECOND),
        drained_ns: Some(0),
        observed_ns: 10 * SECOND,
        slow_until_end: settled_s.is_none(),
        is_metastable: false,
    };
    let mut rose = |peak: PeakRecovery| {
        summary.recovery = Some(Recovery {
            after_load: None,
            peak: Some(peak),
        });
        message(&summary, "trend").is_some()
    };
    assert!(!rose(peak(31, Some(2))), "the last quarter began in it");
    assert!(!rose(peak(28, Some(4))), "and here before it was over");
    assert!(rose(peak(31, None)), "it was not recovered from");
    assert!(rose(peak(20, Some(3))), "it was over long before");
}

#[test]
fn keeping_up_is_reported_only_under_load() {
    let kept_up = |summary: &Summary| message(summary, "healthy").unwrap().contains("kept up");
    let mut summary = healthy();
    assert!(kept_up(&summary));
    summary.arrivals.as_mut().unwrap().skipped = 5;
    assert!(!kept_up(&summary), "the plan's cap took load away");
    let mut summary = healthy();
    summary.run.model = record::Model::Closed;
    assert!(!kept_up(&summary), "a closed loop sends what comes back");
    let mut summary = healthy();
    let last = &mut summary.trend.as_mut().unwrap().last;
    last.due_per_second *= 3.0;
    last.issued_per_second *= 3.0;
    last.ok_per_second = last.issued_per_second * 0.7;
    last.in_flight = Some(300.0);
    assert!(!kept_up(&summary), "responses fell behind as the load rose");
    let mut summary = healthy();
    summary.trend = None;
    summary.recovery = Some(Recovery {
        after_load: Some(AfterLoad {
            from_ns: 1,
            in_flight: 500,
            drained_ns: 5_000_000_000,
            ended: 500,
            errors: 0,
            p95: None,
        }),
        peak: None,
    });
    assert!(
        !kept_up(&summary),
        "seconds of work were left when a short load ended"
    );
}

#[test]
fn a_generator_that_was_not_late_is_not_called_late() {
    let mut summary = analysis::summarise(&run(World::Starved, &[]));
    let m = summary.measurement.as_mut().unwrap();
    m.reasons = vec!["EMFILE: no file descriptors left for 3 requests".into()];
    m.late_ns.clear();
    let text = message(&summary, "generator").unwrap();
    assert!(!text.contains("started at least"), "{text}");
    let m = summary.measurement.as_mut().unwrap();
    m.verdict = "DEGRADED".into();
    summary.all.error_share = Some(1.0);
    let text = message(&summary, "generator").unwrap();
    assert!(
        !text.contains("the server can handle"),
        "refused requests are not throughput: {text}"
    );
}

fn steady(behaviour: Behaviour) -> Steady {
    Steady {
        behaviour,
        sentence: "What it was.".into(),
        phase: Some(0),
        from_ns: 0,
        to_ns: 40_000_000_000,
        settled_ns: None,
        stats: None,
        figure: None,
        at_ns: None,
        before_ns: None,
        after_ns: None,
        before_share: None,
        after_share: None,
        change_per_minute: None,
        arrived_per_second: None,
        answered_per_second: None,
        backlog_per_second: None,
    }
}

#[test]
fn steady_state_is_reported_if_news() {
    let mut summary = healthy();
    let found = summary.steady.clone().unwrap();
    assert_eq!(
        (found.behaviour, found.settled_ns),
        (Behaviour::Steady, Some(0)),
        "{found:?}"
    );
    assert_eq!(message(&summary, "steady"), None, "no news");
    assert!(message(&summary, "trend").is_some());
    summary.steady = Some(Steady {
        settled_ns: Some(12_000_000_000),
        ..found
    });
    assert!(message(&summary, "steady").is_some());
    summary.steady = Some(steady(Behaviour::Unknown));
    assert_eq!(message(&summary, "steady"), None);
    let (before_ns, after_ns) = (Some(5_000_000), Some(9_000_000));
    summary.steady = Some(Steady {
        before_ns,
        after_ns,
        change_per_minute: Some(0.3),
        ..steady(Behaviour::Drifting)
    });
    let tone = |summary: &Summary| {
        let all = conclusions::draw(summary);
        all.into_iter().find(|c| c.kind == "steady").unwrap().tone
    };
    assert!(message(&summary, "steady").is_some());
    assert_eq!(tone(&summary), Tone::Bad);
    assert_eq!(
        message(&summary, "trend"),
        None,
        "the drift is already reported"
    );
    summary.steady = Some(Steady {
        before_ns: after_ns,
        after_ns: before_ns,
        at_ns: Some(20_000_000_000),
        ..steady(Behaviour::Shifting)
    });
    assert!(message(&summary, "steady").is_some());
    assert_eq!(tone(&summary), Tone::Neutral);
    summary.measurement.as_mut().unwrap().verdict = "INVALID".into();
    assert_eq!(message(&summary, "steady"), None, "the cause is unknown");
}

#[test]
fn overload_is_reported_once() {
    let mut summary = analysis::summarise(&run(World::Overloaded, &[]));
    let found = summary.steady.clone().unwrap();
    assert_eq!(found.behaviour, Behaviour::Overload, "{found:?}");
    let text = message(&summary, "overload").unwrap();
    assert!(text.ends_with(" No steady state was reached."), "{text}");
    assert_eq!(message(&summary, "steady"), None);
    summary.trend = None;
    assert_eq!(message(&summary, "overload"), Some(found.sentence));
    assert_eq!(message(&summary, "healthy"), None);
}

#[test]
fn certainty_follows_from_the_measurement_and_the_criteria() {
    let mut summary = healthy();
    let begins = |summary: &Summary, word: &str| {
        let text = conclusions::certainty(summary);
        assert!(text.starts_with(word), "{text}");
    };
    begins(&summary, "High: ");
    summary.criteria = vec![crate::export::judged("p99 < 1s", Judgement::Inconclusive)];
    begins(&summary, "Low: ");
    assert!(conclusions::certainty(&summary).contains("One criterion could not be decided."));
    let measurement = summary.measurement.as_mut().unwrap();
    measurement.verdict = "DEGRADED".into();
    begins(&summary, "Reduced: ");
    assert!(conclusions::certainty(&summary).contains("One criterion could not be decided."));
    summary.measurement.as_mut().unwrap().verdict = "INVALID".into();
    begins(&summary, "None: ");
    summary.run.model = record::Model::Once;
    begins(&summary, "Unknown: a single iteration");
}

#[test]
fn rule_that_passes_is_no_failure_to_advise_on() {
    let mut summary = healthy();
    summary.criteria = vec![crate::export::judged("p99 < 1s", Judgement::Pass)];
    summary.verdict.criteria = Some(Judgement::Pass);
    for (passes, word) in [(true, "Accept"), (false, "Then repeat")] {
        summary.run.stopped = Some(analysis::summary::Stopped {
            at_ns: 1,
            text: "a rule".into(),
            passes,
        });
        let advice = conclusions::advice(&summary);
        assert!(
            advice.iter().any(|text| text.starts_with(word)),
            "{advice:?}"
        );
    }
}
