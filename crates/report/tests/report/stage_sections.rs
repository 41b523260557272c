//! Tests of the sections about single stages in the report of a campaign: failures, changes of the
//! service, and links to dashboards.

use analysis::{
    page::{self, Page},
    series::Panel,
    summary::{Row, ScenarioRow, ServerRow},
};
use decisions::campaign::{
    self, Campaign, FinishedStage, Identity, Planned, PlannedCall, PresentVolume, StageOutcome,
    VolumeRate,
};
use plan::{
    report_content::{Dashboard, DashboardUrl, ReportContent, ShownMetric},
    report_zone::ReportZone,
};
use record::Zone;
use report::campaign::RunSpan;

use crate::support::{self, Folder};

fn page() -> Page {
    let folder = Folder::new();
    let plan = support::plan(&[]);
    page::build(&support::write(&folder.0, &plan))
}

fn server(name: &str, instance: &str, mean: f64) -> ServerRow {
    ServerRow {
        name: name.into(),
        instance: Some(instance.into()),
        unit: "%".into(),
        min: mean - 1.0,
        mean,
        max: mean + 1.0,
    }
}

fn campaign(pages: &[(&str, Option<&str>, &Page)]) -> Campaign {
    let stages = pages.iter().map(|(name, target, page)| FinishedStage {
        name,
        load: "open, 50/s",
        target: *target,
        against: None,
        planned: None,
        outcome: StageOutcome::Ran {
            page,
            code: 0,
            report: "1-a/r/report.html",
        },
        cool_down: None,
        notes: None,
    });
    let stages: Vec<FinishedStage<'_>> = stages.collect();
    campaign::judge(identity(), &stages)
}

fn identity() -> Identity {
    let url = DashboardUrl::parse("https://g.example/d?a=1&from={{ from_ms }}&to={{ to_ms }}");
    Identity {
        name: "Shop".into(),
        target: "http://127.0.0.1:1".into(),
        started_utc: "2026-01-02T03:04:05.000Z".into(),
        started_wall_ns: 0,
        version: "0.1.0".into(),
        file: "shop.yml".into(),
        about: None,
        assumptions: Vec::new(),
        recommendations: Vec::new(),
        scaling: None,
        content: ReportContent {
            dashboards: vec![Dashboard {
                name: "Grafana <b>".into(),
                url: url.unwrap(),
            }],
            ..ReportContent::default()
        },
        zone: None,
    }
}

#[test]
fn tables_have_p999_only_where_ten_requests_are_above_it() {
    let (few, mut many) = (page(), page());
    many.summary.all.count = 10_000;
    let pages = [("few", None, &few), ("many", None, &many)];
    let campaign = campaign(&pages);
    let total = |stage: usize| campaign.stages[stage].requests_by_endpoint.last().unwrap();
    assert_eq!(total(0).p999, None);
    let headline = many.summary.headline_stats().unwrap();
    assert_eq!(total(1).p999, Some(headline.p999.value()));
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    assert_eq!(paper.matches("| p99 | p99.9 |").count(), 2, "{paper}");
    let only_few = self::campaign(&pages[..1]);
    let paper = plain(&report::campaign::sheet(&only_few, &[]).markdown);
    assert!(!paper.contains("p99.9"), "{paper}");
}

/// Collapses runs of blanks, so that the widths of columns do not matter.
fn plain(markdown: &str) -> String {
    markdown.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn stage_lists_its_failures_by_reason_and_endpoint() {
    let page = page();
    assert!(!page.summary.errors.is_empty());
    let campaign = campaign(&[("half", None, &page)]);
    let rows = &campaign.stages[0].failures;
    let all: u64 = rows.iter().map(|row| row.count).sum();
    let errors = page.summary.errors.iter();
    assert_eq!(all, errors.map(|row| row.count).sum::<u64>());
    assert!(rows.is_sorted_by_key(|row| std::cmp::Reverse(row.count)));
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    for row in rows {
        let begin = format!("| {} | {} | {} |", row.reason, row.endpoint, row.count);
        assert!(paper.contains(&begin), "{begin}: {paper}");
    }
}

#[test]
fn many_failures_end_with_the_sum_of_the_others() {
    let mut page = page();
    let one = page.summary.errors[0].clone();
    page.summary.errors = (1..=25)
        .map(|number| {
            let mut row = one.clone();
            row.reason = format!("status {number}");
            row.by_label.truncate(1);
            row.by_label[0].count = number;
            row
        })
        .collect();
    let campaign = campaign(&[("half", None, &page)]);
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    let sum = 1 + 2 + 3 + 4 + 5;
    let last = format!("| 5 more: see the report of the stage | | {sum} | |");
    assert!(paper.contains(&last), "{paper}");
}

#[test]
fn changes_are_against_the_first_stage_on_the_same_service() {
    let pages = [[10.0, 12.0], [21.0, 22.0], [90.0, 90.0], [5.0, 6.0]].map(|[a, b]| {
        let mut page = page();
        page.summary.server = vec![server("vm.cpu", "a", a), server("vm.cpu", "b", b)];
        page
    });
    let [first, second, other, third] = &pages;
    let campaign = campaign(&[
        ("half", None, first),
        ("whole", None, second),
        ("elsewhere", Some("http://127.0.0.1:2"), other),
        ("after", None, third),
    ]);
    let count = |number: usize| campaign.stages[number].server_changes.len();
    assert_eq!([0, 1, 2, 3].map(count), [0, 1, 0, 1]);
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    let row = "| Change | whole against half | after against half | | -----";
    assert!(paper.contains(row), "{paper}");
    let row =
        "| vm.cpu | +10.5 percentage points (+10 to +11) | −5.5 percentage points (−6 to −5) |";
    assert!(paper.contains(row), "{paper}");
}

#[test]
fn instances_of_only_one_stage_have_no_change() {
    let (mut first, mut second) = (page(), page());
    first.summary.server = vec![server("vm.cpu", "a", 10.0)];
    second.summary.server = vec![server("vm.cpu", "a", 11.0), server("vm.cpu", "new", 50.0)];
    let campaign = campaign(&[("half", None, &first), ("whole", None, &second)]);
    let change = &campaign.stages[1].server_changes[0];
    assert_eq!((change.instances, change.mean), (1, 1.0));
}

#[test]
fn dashboards_are_linked_at_the_time_of_the_stage() {
    let page = page();
    let campaign = campaign(&[("half", None, &page)]);
    let from = page.summary.run.started_wall_ns / 1_000_000 - 60_000;
    let url = &campaign.stages[0].links[0].url;
    let begin = format!("https://g.example/d?a=1&from={from}&to=");
    assert!(url.starts_with(&begin), "{url}");
    let report = report::campaign::sheet(&campaign, &[]);
    let link = url.replace('&', "&amp;");
    let link = format!("<a href=\"{link}\">Grafana &lt;b&gt;</a>");
    assert!(report.page.contains(&link), "{link}");
    assert!(report.markdown.contains(url), "{}", report.markdown);
}

#[test]
fn times_of_stages_are_in_the_time_zone_of_the_plan() {
    let (page, zone) = (page(), ReportZone::parse("UTC-05:00"));
    let mut identity = identity();
    identity.started_wall_ns = page.summary.run.started_wall_ns;
    identity.zone = Zone::find(&zone);
    identity.content.time_zone = Some(zone);
    let stage = FinishedStage {
        name: "half",
        load: "open, 50/s",
        target: None,
        against: None,
        planned: None,
        outcome: StageOutcome::Ran {
            page: &page,
            code: 0,
            report: "1-a/r/report.html",
        },
        cool_down: None,
        notes: None,
    };
    let campaign = campaign::judge(identity, &[stage]);
    let local = campaign.stages[0].from_local.clone().unwrap();
    let (time, offset) = local.split_at("2026-01-02T03:04:05".len());
    assert_eq!(offset, "-05:00");
    let time = time.replace('T', " ");
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    for text in [
        "| From (UTC-05:00) | To (UTC-05:00) |",
        &format!("| {time} -05:00 |"),
        &format!("{time} UTC-05:00 · 1 stages"),
    ] {
        assert!(paper.contains(text), "{text}: {paper}");
    }
    let mut in_utc = campaign;
    in_utc.identity.zone = None;
    let paper = plain(&report::campaign::sheet(&in_utc, &[]).markdown);
    assert!(
        paper.contains("2026-01-02 03:04:05 UTC · 1 stages"),
        "{paper}"
    );
}

fn planned(times: f64, today: [Option<f64>; 2]) -> Planned {
    let rate = |name: &str, per_second: f64, today: Option<f64>| VolumeRate {
        name: name.into(),
        volume: Some("36000/h".into()),
        per_second: per_second * times,
        today: today.map(|per_second| PresentVolume {
            text: format!("{}/h", per_second * 3600.0),
            per_second,
        }),
    };
    Planned {
        calls: Vec::new(),
        varies: false,
        arrivals_per_second: 50.0 * times,
        requests_per_second: 100.0 * times,
        scenarios: vec![
            rate("Check-in", 10.0, today[0]),
            rate("Pre check-in", 40.0, today[1]),
        ],
        endpoints: vec![rate("GET /", 100.0, None)],
    }
}

fn with_today(today: [Option<f64>; 2]) -> String {
    let page = page();
    let plans = [0.5, 1.0].map(|times| planned(times, today));
    let stages = ["half", "whole"].iter().zip(&plans).enumerate();
    let stages = stages.map(|(number, (name, planned))| FinishedStage {
        name,
        load: "open",
        target: None,
        against: None,
        planned: Some(planned),
        outcome: StageOutcome::Ran {
            page: &page,
            code: u8::try_from(number).unwrap(),
            report: "1-a/r/report.html",
        },
        cool_down: None,
        notes: None,
    });
    let stages: Vec<FinishedStage<'_>> = stages.collect();
    let campaign = campaign::judge(identity(), &stages);
    plain(&report::campaign::sheet(&campaign, &[]).markdown)
}

#[test]
fn tested_load_is_compared_with_todays_volume() {
    let paper = with_today([Some(1.0), Some(4.0)]);
    for text in [
        "| Scenario | Today | Today/h | half: times today | whole: times today |",
        "| Check-in | 3600/h | 3,600 | 5.00 x | 10.0 x |",
        "| Pre check-in | 14400/h | 14,400 | 5.00 x | 10.0 x |",
        "| Total | | 18,000 | 5.00 x | 10.0 x |",
        "half is the highest load that holds: 90,000 arrivals per hour, 5.00 times today's 18,000. Today's volume is 20.0 % of it.",
    ] {
        assert!(paper.contains(text), "{text}: {paper}");
    }
}

#[test]
fn unknown_present_volume_leaves_the_total_open() {
    let paper = with_today([Some(1.0), None]);
    assert!(
        paper.contains("| Pre check-in | – | – | – | – |"),
        "{paper}"
    );
    assert!(paper.contains("| Total | | – | – | – |"), "{paper}");
    assert!(!paper.contains("the highest load that holds"), "{paper}");
    assert!(!with_today([None, None]).contains("times today"));
}

#[test]
fn stages_have_charts_of_rates_times_errors_and_chosen_metrics() {
    let mut page = page();
    let line = |name: &str| {
        let values = page.series.points.from_ns.iter();
        let values = values.enumerate().map(|(at, _)| Some(at as f64));
        Panel {
            name: name.into(),
            instance: None,
            unit: String::new(),
            limit: None,
            values: values.collect(),
        }
    };
    page.series.server = vec![line("vm.cpu"), line("vm.disk")];
    let mut campaign = campaign(&[("half", None, &page)]);
    campaign.identity.content.metrics = vec![ShownMetric {
        name: "vm.cpu".into(),
        title: Some("CPU <all>".into()),
    }];
    let span = RunSpan {
        stage: Some("half".into()),
    };
    let probe = RunSpan { stage: None };
    let sheet = report::campaign::sheet(&campaign, &[(span, &page), (probe, &page)]);
    let names = sheet.charts.iter().map(|chart| chart.name.as_str());
    let names: Vec<&str> = names.filter(|name| name.starts_with("stage-")).collect();
    let expected = ["throughput", "latency", "errors", "server-1"];
    assert_eq!(names, expected.map(|name| format!("stage-1-{name}.svg")));
    let mut stage_charts = sheet.charts.iter();
    let rates = stage_charts.find(|chart| chart.name == "stage-1-throughput.svg");
    let rates = &rates.unwrap().text;
    assert!(rates.contains("viewBox=\"0 0 520 260\""), "{rates}");
    // The legend has two rows, and the chart has no space left.
    assert!(
        rates.contains("y=\"35\"") && rates.contains("y=\"50\""),
        "{rates}"
    );
    assert!(!rates.contains("x=\"-"), "{rates}");
    assert!(sheet.page.contains("<div class=\"charts\">"));
    assert!(
        sheet
            .page
            .contains("aria-label=\"half: CPU &lt;all&gt; over the run\"")
    );
    let place = |text: &str| sheet.markdown.find(text).unwrap();
    assert!(place("### Stage half") < place("(charts/stage-1-throughput.svg)"));
    assert!(place("(charts/stage-1-server-1.svg)") < place("## Appendix"));
}

#[test]
fn endpoints_of_each_scenario_have_planned_and_measured_requests() {
    let mut page = page();
    let label = page.summary.labels[0].clone();
    let scenario = page.summary.scenarios[0].clone();
    page.summary.labels = [("GET /a", 300), ("GET /both", 400)]
        .map(|(text, count)| Row {
            text: text.into(),
            count,
            ..label.clone()
        })
        .into();
    page.summary.scenarios = [("Check-in", 100), ("Pre check-in", 300)]
        .map(|(name, ended)| ScenarioRow {
            name: name.into(),
            ended,
            ..scenario.clone()
        })
        .into();
    let call = |scenario: &str, endpoint: &str, per_iteration: Option<f64>| PlannedCall {
        scenario: scenario.into(),
        endpoint: endpoint.into(),
        per_iteration,
    };
    let mut planned = planned(1.0, [None, None]);
    planned.calls = vec![
        call("Check-in", "GET /a", Some(3.0)),
        call("Check-in", "GET /both", Some(1.0)),
        call("Pre check-in", "GET /both", None),
    ];
    let stage = |name: &'static str, outcome| FinishedStage {
        name,
        load: "open",
        target: None,
        against: None,
        planned: Some(&planned),
        outcome,
        cool_down: None,
        notes: None,
    };
    let ran = StageOutcome::Ran {
        page: &page,
        code: 0,
        report: "1-a/r/report.html",
    };
    let stages = [stage("half", ran), stage("whole", StageOutcome::NotRun)];
    let campaign = campaign::judge(identity(), &stages);
    let paper = plain(&report::campaign::sheet(&campaign, &[]).markdown);
    for text in [
        "| Scenario | Endpoint | Planned per iteration | half | whole |",
        "| Check-in | GET /a | 3 | 3 | – |",
        "| Check-in | GET /both | 1 | 1 † | – |",
        "| Pre check-in | GET /both | – | 1 † | – |",
        "† several scenarios call this endpoint",
        "Planned –: conditions or responses decide it.",
    ] {
        assert!(paper.contains(text), "{text}: {paper}");
    }
}
