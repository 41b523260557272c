use analysis::{
    page::{self, Page},
    summary::{Reached, Saturation, Stopped},
    verdict::Judgement,
};
use decisions::campaign::{
    self, Campaign, CoolDown, FinishedStage, Identity, Planned, StageOutcome, StageVerdict,
    VolumeRate,
};
use plan::report_content::{Difference, RateUnit, ReportContent, Section, SectionPlace};
use report::campaign::RunSpan;

use crate::support::{self, Folder};

fn identity() -> Identity {
    Identity {
        name: "Shop <b>".into(),
        target: "http://127.0.0.1:1".into(),
        started_utc: "2026-01-02T03:04:05.000Z".into(),
        started_wall_ns: 0,
        version: "0.1.0".into(),
        file: "shop.yml".into(),
        about: None,
        assumptions: vec!["Nobody leaves.".into()],
        recommendations: vec!["Ask the owner of the database.".into()],
        scaling: None,
        content: ReportContent::default(),
        zone: None,
    }
}

fn page() -> Page {
    let folder = Folder::new();
    let plan = support::plan(&[]);
    page::build(&support::write(&folder.0, &plan))
}

fn judged(text: &str, code: u8) -> Page {
    let judgement = if code == 0 {
        Judgement::Pass
    } else {
        Judgement::Fail
    };
    let mut page = page();
    page.summary.criteria = vec![crate::export::judged(text, judgement)];
    page.summary.verdict.criteria = Some(judgement);
    page
}

fn planned(times: f64) -> Planned {
    let rate = |name: &str, volume: Option<&str>, per_second: f64| VolumeRate {
        name: name.into(),
        volume: volume.map(Into::into),
        per_second: per_second * times,
        today: None,
    };
    Planned {
        calls: Vec::new(),
        varies: times > 1.0,
        arrivals_per_second: 50.07 * times,
        requests_per_second: 209.8 * times,
        scenarios: vec![
            rate("Check-in", Some("35260/h"), 9.79),
            rate("Pre check-in", Some("145000/h"), 40.28),
        ],
        endpoints: vec![rate("GET /sessions", None, 50.07)],
    }
}

fn cool_down(recovered_ns: Option<u64>) -> CoolDown {
    CoolDown {
        recovered_ns,
        first_probe_ns: 2_000_000_000,
        probed_until_ns: 60_000_000_000,
        bound_ns: 1_500_000_000,
        error_bound: 0.01,
        settled_ns: 10_000_000_000,
        runs: vec!["2-looks/r".into()],
        unmeasured: None,
    }
}

fn campaign(codes: &[(&str, Option<u8>)], cool_down: Option<&CoolDown>) -> Campaign {
    of_services(codes, cool_down, &[])
}

fn of_services(
    codes: &[(&str, Option<u8>)],
    cool_down: Option<&CoolDown>,
    own: &[(Option<&str>, Option<usize>)],
) -> Campaign {
    let pages: Vec<Page> = codes.iter().map(|_| page()).collect();
    of_pages(codes, &pages, cool_down, own)
}

fn of_pages(
    codes: &[(&str, Option<u8>)],
    pages: &[Page],
    cool_down: Option<&CoolDown>,
    own: &[(Option<&str>, Option<usize>)],
) -> Campaign {
    let planned = planned(1.0);
    let stages: Vec<FinishedStage<'_>> = codes
        .iter()
        .zip(pages)
        .enumerate()
        .map(|(number, ((name, code), page))| FinishedStage {
            name,
            load: "open, 50/s",
            target: own.get(number).and_then(|own| own.0),
            against: own.get(number).and_then(|own| own.1),
            planned: Some(&planned),
            outcome: match code {
                Some(3) => StageOutcome::CouldNotRun("no route"),
                Some(code) => StageOutcome::Ran {
                    page,
                    code: *code,
                    report: "1-a/r/report.html",
                },
                None => StageOutcome::NotRun,
            },
            cool_down: cool_down.filter(|_| number == 1),
            notes: (number == 0).then_some("As *planned*."),
        })
        .collect();
    campaign::judge(identity(), &stages)
}

#[test]
fn planned_and_measured_rates_have_one_unit_and_are_over_the_load() {
    let mut drained = page();
    drained.summary.all.count = 900;
    drained.summary.all.per_second = 45.0;
    drained.summary.run.elapsed_ns = 20 * support::SECOND;
    drained.manifest.load.end_ns = 10 * support::SECOND;
    let mut campaign = of_pages(&[("half", Some(0))], &[drained], None, &[]);
    assert_eq!(campaign.stages[0].requests_per_second, Some(90.0));
    campaign.identity.content.rates = RateUnit::Minute;
    let text = report::campaign::sheet(&campaign, &[]).markdown;
    for text_of_unit in [
        "half arrivals/min",
        "half requests/min",
        "Requests/min",
        "5,400",
    ] {
        assert!(text.contains(text_of_unit), "{text_of_unit}: {text}");
    }
    let terminal = report::console::campaign_text(&campaign);
    assert!(terminal.contains("requests/min"), "{terminal}");
}

#[test]
fn cause_is_on_the_first_screen_and_in_each_stage() {
    let saturation = Saturation {
        reached: vec![Reached {
            resource: "thread pool".into(),
            source: "puma".into(),
            metric: "pool_capacity".into(),
            limit: "0 of 40 left".into(),
            instances: 1,
            all_instances: 1,
            at_ns: 61 * support::SECOND,
            held_ns: support::SECOND,
            issued_per_second: Some(100.0),
            cause: None,
            held_by: None,
        }],
        first: Some(0),
        sentence: "The thread pool was full first.".into(),
        watched: vec!["pool_capacity".into()],
    };
    let mut held = page();
    held.summary.saturation = Some(Saturation {
        reached: Vec::new(),
        first: None,
        ..saturation.clone()
    });
    let mut failed = judged("p95 < 1s", 1);
    failed.summary.saturation = Some(saturation);
    let codes = [("half", Some(0)), ("whole", Some(1))];
    let campaign = of_pages(&codes, &[held, failed], None, &[]);
    let report = report::campaign::sheet(&campaign, &[]);
    let cause = "whole: The thread pool was full first.";
    let head = report.markdown.split("## Load").next().unwrap();
    assert!(head.contains(&format!("**Cause:** {cause}")), "{head}");
    assert!(
        report
            .page
            .contains(&format!("<dt>cause</dt>\n<dd>{cause}"))
    );
    for limit in [
        "First limit",
        "none reached",
        "thread pool (puma) at 1 min 1 s",
    ] {
        assert!(report.markdown.contains(limit), "{}", report.markdown);
    }
}

#[test]
fn sentence_names_holding_and_failing_stages() {
    let all = campaign(&[("half", Some(0)), ("whole", Some(0))], None);
    assert_eq!(
        all.sentence,
        "All 2 stages hold, up to whole (50.1 arrivals and 210 requests per second)."
    );
    assert_eq!(
        (all.verdict, all.stages[0].verdict),
        (None, StageVerdict::Ran)
    );
    assert!(
        all.recommendations[0].starts_with("Proceed: all stages held, up to whole"),
        "{:?}",
        all.recommendations
    );
    assert_eq!(
        all.recommendations.last().map(String::as_str),
        Some("Ask the owner of the database.")
    );

    let back = cool_down(Some(41_200_000_000));
    let some = campaign(
        &[("half", Some(0)), ("whole", Some(1)), ("more", None)],
        Some(&back),
    );
    assert_eq!(
        some.sentence,
        "half (50.1 arrivals and 210 requests per second) holds. whole does not hold: the external tool exited with 1. more was not run. \
         After whole the service recovered 41.2 s after the load."
    );
    assert_eq!(some.verdict, Some(Judgement::Fail));
    assert!(some.recommendations[0].starts_with("Fix the cause of the failure of whole, then run"));

    let never = cool_down(None);
    let never = campaign(
        &[("half", Some(0)), ("whole", Some(0)), ("more", None)],
        Some(&never),
    );
    assert!(
        never
            .sentence
            .ends_with("After whole the service did not recover within 60.0 s."),
        "{}",
        never.sentence
    );
    assert_eq!(never.verdict, Some(Judgement::Fail));

    let none = campaign(&[("half", Some(3)), ("whole", None)], None);
    assert_eq!(
        none.sentence,
        "half could not be run: no route. whole was not run."
    );
    assert_eq!(none.verdict, Some(Judgement::Inconclusive));
}

#[test]
fn failed_stage_is_named_despite_unmeasured_stages() {
    let reported = campaign(
        &[("half", Some(3)), ("whole", Some(1)), ("double", None)],
        None,
    );
    assert!(
        reported.sentence.starts_with("whole does not hold"),
        "{}",
        reported.sentence
    );
}

#[test]
fn of_looks_that_are_invalid_nothing_follows_for_the_service() {
    let unknown = CoolDown {
        unmeasured: Some("it was late".into()),
        ..cool_down(None)
    };
    let reported = campaign(&[("half", Some(0)), ("whole", Some(0))], Some(&unknown));
    assert_eq!(reported.verdict, Some(Judgement::Inconclusive));
    assert!(
        reported
            .sentence
            .contains("It is unknown whether the service recovered after whole: the probes were INVALID (it was late)"),
        "{}",
        reported.sentence
    );
    let hand = |text: &String| text.contains("needs somebody's hand");
    assert!(!reported.recommendations.iter().any(hand));
}

type StageCodes = [(&'static str, Option<u8>); 4];

/// Returns a campaign with two services, a stage that repeats without a service, and a stage that
/// replaces the third.
fn four_stages(last: u8) -> StageCodes {
    [
        ("small", Some(1)),
        ("large", Some(0)),
        ("stress", Some(1)),
        ("larger", Some(last)),
    ]
}

const SERVICES: [(Option<&str>, Option<usize>); 4] = [
    (Some("lab:small"), None),
    (None, Some(0)),
    (None, None),
    (Some("lab:larger"), Some(2)),
];

#[test]
fn services_are_reported_separately_and_repeated_stages_replace_failures() {
    let pages: Vec<Page> = [1, 0, 1, 0].map(|code| judged("p95 < 1s", code)).into();
    let mended = of_pages(&four_stages(0), &pages, None, &SERVICES);
    let rates = "(50.1 arrivals and 210 requests per second)";
    assert_eq!(
        mended.sentence,
        format!(
            "`lab:small`: small does not hold: p95 < 1s (measured 312 ms) does not hold. `http://127.0.0.1:1`: large {rates} holds. stress does \
             not hold: p95 < 1s (measured 312 ms) does not hold. `lab:larger`: The stage holds, up to larger {rates}."
        )
    );
    assert_eq!(mended.verdict, Some(Judgement::Pass));
    assert_eq!(
        mended.recommendations[..3],
        [
            "The cause of the failure of small has been fixed: large holds.".to_owned(),
            "The cause of the failure of stress has been fixed by `lab:larger`: larger holds."
                .to_owned(),
            format!("Proceed with `lab:larger`: all of its stages held, up to larger {rates}."),
        ]
    );
    let pairs: Vec<(&str, &str)> = mended
        .comparisons
        .iter()
        .map(|pair| (pair.before.as_str(), pair.after.as_str()))
        .collect();
    assert_eq!(pairs, [("small", "large"), ("stress", "larger")]);
    let figures = &mended.comparisons[0].figures;
    let requests = figures.iter().find(|figure| figure.name == "Requests");
    assert_eq!(requests.unwrap().change.as_deref(), Some("±0 %"));
    assert!(
        figures
            .iter()
            .all(|figure| figure.name == "Verdict" || figure.before == figure.after)
    );

    let run = page();
    let span = RunSpan {
        stage: Some("small".into()),
    };
    let report = report::campaign::sheet(&mended, &[(span, &run)]);
    for text in ["Before and after", "One run of each", "open, 50/s, on "] {
        assert!(report.page.contains(text), "the page lacks {text}");
        assert!(report.markdown.contains(text), "the paper lacks {text}");
    }
}

#[test]
fn stage_that_fails_again_or_has_other_criteria_mends_nothing() {
    let not_mended = of_services(&four_stages(1), None, &SERVICES);
    assert_eq!(not_mended.verdict, Some(Judgement::Fail));
    for text in [
        "Fix the cause of the failure of stress with `http://127.0.0.1:1`, then run",
        "Fix the cause of the failure of larger with `lab:larger` before",
    ] {
        let mut recommendations = not_mended.recommendations.iter();
        assert!(
            recommendations.any(|one| one.starts_with(text)),
            "{text}: {:?}",
            not_mended.recommendations
        );
    }
    let nothing = of_services(&four_stages(0), None, &SERVICES);
    assert_eq!(nothing.verdict, Some(Judgement::Fail));
    let criteria = ["p95 < 1s", "p95 < 1s", "p95 < 1s", "p99 < 9s"];
    let pages = [1, 0, 1, 0].iter().zip(criteria);
    let pages: Vec<Page> = pages.map(|(code, text)| judged(text, *code)).collect();
    let other = of_pages(&four_stages(0), &pages, None, &SERVICES);
    assert_eq!(other.verdict, Some(Judgement::Fail));
    assert!(
        other.recommendations[0].starts_with("The cause of the failure of small has been fixed")
    );
    assert!(
        other.recommendations[1].starts_with("Fix the cause of the failure of stress"),
        "{:?}",
        other.recommendations
    );
}

#[test]
fn exit_codes_of_runs_are_distinguished() {
    let summary = page().summary;
    for (code, verdict) in [
        (0, StageVerdict::Ran),
        (1, StageVerdict::Fail),
        (5, StageVerdict::Inconclusive),
        (130, StageVerdict::Unfinished),
        (143, StageVerdict::Unfinished),
        (101, StageVerdict::Fail),
    ] {
        assert_eq!(campaign::judged(&summary, code), verdict, "{code}");
    }
    let mut invalid = summary;
    if let Some(measurement) = &mut invalid.measurement {
        measurement.verdict = "INVALID".into();
    }
    assert_eq!(campaign::judged(&invalid, 4), StageVerdict::Invalid);
}

#[test]
fn front_end_with_a_single_exit_code_hides_nothing() {
    let mut summary = page().summary;
    summary.criteria = vec![crate::export::judged("p95 < 1s", Judgement::Inconclusive)];
    summary.verdict.criteria = Some(Judgement::Inconclusive);
    assert_eq!(campaign::judged(&summary, 1), StageVerdict::Inconclusive);
    summary.run.stopped = Some(Stopped {
        at_ns: 1,
        text: "a rule".into(),
        passes: false,
    });
    assert_eq!(campaign::judged(&summary, 1), StageVerdict::Fail);
    summary.run.stopped = None;
    if let Some(measurement) = &mut summary.measurement {
        measurement.verdict = "INVALID".into();
    }
    assert_eq!(campaign::judged(&summary, 1), StageVerdict::Invalid);
    summary.criteria.clear();
    assert_eq!(
        campaign::judged(&summary, 1),
        StageVerdict::Fail,
        "the tool's own reasons"
    );
}

#[test]
fn page_and_paper_say_the_same() {
    let back = cool_down(Some(500_000_000));
    let campaign = campaign(
        &[("half", Some(0)), ("whole", Some(0)), ("more", None)],
        Some(&back),
    );
    let runs = [page(), page()];
    let named = |name: Option<&str>| RunSpan {
        stage: name.map(Into::into),
    };
    let report = report::campaign::sheet(
        &campaign,
        &[(named(Some("half")), &runs[0]), (named(None), &runs[1])],
    );
    for text in [
        "Load",
        "Results",
        "Stage half",
        "Recovery",
        "Assumptions",
        "Check-in",
        "35260/h",
        "immediately",
        "Nobody leaves.",
    ] {
        assert!(report.page.contains(text), "the page lacks {text}");
        assert!(report.markdown.contains(text), "the paper lacks {text}");
    }
    // As in the case study: 9.79 becomes 10, 40.28 becomes 40, 209.8 becomes 210.
    let paper: Vec<&str> = report.markdown.split_whitespace().collect();
    let paper = paper.join(" ");
    for row in [
        "| Check-in | 35260/h | 10 | 10 | 10 |",
        "| Pre check-in | 145000/h | 40 | 40 | 40 |",
        "| Total | 210 | 210 | 210 |",
    ] {
        assert!(paper.contains(row), "{}", report.markdown);
    }
    assert!(report.page.contains("<h1>Load test: Shop &lt;b&gt;</h1>"));
    assert!(
        report
            .page
            .contains("<a href=\"1-a/r/report.html\">half</a>")
    );
    for chart in &report.charts {
        assert!(
            report
                .markdown
                .contains(&format!("(charts/{})", chart.name)),
            "{}",
            chart.name
        );
        assert!(report.page.contains(&chart.text), "{}", chart.name);
    }
    assert!(report.charts.len() >= 2);
    assert!(!report.page.contains("<script"));
    assert!(!report.page.contains("NaN"));
}

#[test]
fn content_of_the_team_is_in_its_place() {
    let mut campaign = campaign(&[("half", Some(0)), ("whole", Some(0))], None);
    let section = |title: &str, place| Section {
        title: title.into(),
        text: "# Inner\n\nSee [the plan](https://example.org/plan).\n\n- one".into(),
        place,
    };
    campaign.identity.content = ReportContent {
        sections: vec![
            section("Questions", SectionPlace::End),
            section("Overview", SectionPlace::Start),
        ],
        differences: vec![Difference {
            name: "Instances".into(),
            tested: "6".into(),
            meant: "16".into(),
            effect: Some("more threads".into()),
        }],
        rates: RateUnit::Minute,
        ..ReportContent::default()
    };
    let run = page();
    let span = RunSpan {
        stage: Some("half".into()),
    };
    let report = report::campaign::sheet(&campaign, &[(span, &run)]);
    let place = |text: &str| {
        let found = report.markdown.find(text);
        found.unwrap_or_else(|| panic!("{text}: {}", report.markdown))
    };
    let order = [
        "**Certainty:**",
        "## Overview",
        "## Load",
        "## Tested and target environment",
        "## Results",
        "### Stage half",
        "## Assumptions",
        "## Questions",
        "## Appendix",
    ];
    let places = order.map(place);
    assert!(places.is_sorted(), "{}", report.markdown);
    for text in ["### Inner", "Requests/min", "more threads", "As *planned*."] {
        assert!(
            report.markdown.contains(text),
            "{text}: {}",
            report.markdown
        );
    }
    for text in [
        "<h2>Overview</h2>",
        "<h3>Inner</h3>",
        "<a href=\"https://example.org/plan\">the plan</a>",
        "As <em>planned</em>.",
        "<main>",
        "aria-label=\"Contents\"",
    ] {
        assert!(report.page.contains(text), "{text}");
    }
}

#[test]
fn stages_have_their_requests_by_endpoint() {
    let campaign = campaign(&[("half", Some(0))], None);
    let rows = &campaign.stages[0].requests_by_endpoint;
    let total = rows.last().unwrap();
    assert!(total.is_total);
    assert_eq!(Some(total.requests), campaign.stages[0].requests);
    let sum: u64 = rows
        .iter()
        .filter(|row| !row.is_total)
        .map(|row| row.requests)
        .sum();
    assert_eq!(sum, total.requests);
    assert_eq!(total.p95, campaign.stages[0].percentiles[1]);
}

#[test]
fn limit_is_between_two_stages_only_if_the_failed_one_had_more_load() {
    let pages = [page(), page()];
    let advice = |times: [f64; 2]| {
        let planned = times.map(planned);
        let names = ["half", "whole"];
        let stages: Vec<FinishedStage<'_>> = (0..2)
            .map(|number| FinishedStage {
                name: names[number],
                load: "open",
                target: None,
                against: None,
                planned: Some(&planned[number]),
                outcome: StageOutcome::Ran {
                    page: &pages[number],
                    code: number as u8,
                    report: "r/report.html",
                },
                cool_down: None,
                notes: None,
            })
            .collect();
        campaign::judge(identity(), &stages)
            .recommendations
            .swap_remove(0)
    };
    let more = advice([1.0, 2.0]);
    assert!(
        more.starts_with("Do not plan for more than half (")
            && more.contains("the limit is between half and whole."),
        "{more}"
    );
    let less = advice([2.0, 1.0]);
    assert!(!less.contains("between"), "{less}");
}
