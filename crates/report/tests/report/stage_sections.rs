//! What the report of a campaign shows about single stages: failures, changes of the service, and
//! links to dashboards.

use analysis::{
    page::{self, Page},
    summary::ServerRow,
};
use decisions::campaign::{self, Campaign, FinishedStage, Identity, StageOutcome};
use plan::{
    report_content::{Dashboard, DashboardUrl, ReportContent},
    report_zone::ReportZone,
};
use record::Zone;

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

/// Joins blanks, so that the widths of columns do not matter.
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
}
