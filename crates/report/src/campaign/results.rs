//! The results: verdict and figures of each stage, its criteria, and its requests by endpoint.

use analysis::summary::{Reached, Saturation};
use decisions::campaign::{Campaign, EndpointRow, FailureRow, StageRow};
use plan::{report_content::RateUnit, units::SECOND};
use record::units;

use super::{charts::Charts, or_dash};
use crate::sheet::{Block, SheetTable};

/// Marks the figures that criteria judge.
const JUDGED: char = '*';
const MARK: &str = "* judged by a criterion.";

pub(super) fn blocks<'a>(campaign: &Campaign, charts: &'a Charts) -> Vec<Block<'a>> {
    let rates = campaign.identity.content.rates;
    let rows = &campaign.stages;
    let mut blocks = vec![
        Block::Heading("Results"),
        Block::Table(stage_table(rows, rates)),
    ];
    let reasons = rows.iter().filter(|row| !row.reason.is_empty());
    let reasons: Vec<String> = reasons
        .map(|row| format!("{}: {}", row.name, row.reason))
        .collect();
    if !reasons.is_empty() {
        blocks.push(Block::List(reasons));
    }
    blocks.extend(criteria(rows).map(Block::Table));
    blocks.push(Block::Text(format!(
        "Times are {}. Response times begin at the intended start, service times at the first byte written. Rates are requests divided by the length of the load, without the time until the last completion. {MARK} ? fewer than ten requests are above this percentile, so it may be due to chance. – : not run, or not measured.",
        campaign.times()
    )));
    blocks.extend(charts.overview.iter().map(Block::Chart));
    for row in rows {
        blocks.extend(stage(row, charts, rates));
    }
    blocks
}

/// Returns the report's blocks about one stage: notes, requests, failures, links and charts.
fn stage<'a>(row: &StageRow, charts: &'a Charts, rates: RateUnit) -> Vec<Block<'a>> {
    let has_requests = !row.requests_by_endpoint.is_empty();
    if !has_requests && row.notes.is_none() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Subheading(format!("Stage {}", row.name))];
    let notes = row.notes.clone();
    blocks.extend(notes.map(|text| Block::Written { text, level: 3 }));
    if has_requests {
        blocks.push(Block::Table(endpoints(&row.requests_by_endpoint, rates)));
    }
    if !row.failures.is_empty() {
        blocks.push(Block::Table(failures(&row.failures)));
    }
    if !row.links.is_empty() {
        blocks.push(Block::Table(dashboards(row)));
    }
    let mut drawn = charts.stages.iter();
    if let Some(drawn) = drawn.find(|drawn| drawn.stage == row.name) {
        blocks.push(Block::Charts(&drawn.files));
    }
    blocks
}

fn marked(text: String, is_judged: bool) -> String {
    if is_judged {
        format!("{text} {JUDGED}")
    } else {
        text
    }
}

fn rate(unit: RateUnit, per_second: f64) -> String {
    units::rate(unit.from_per_second(per_second))
}

fn stage_table(rows: &[StageRow], unit: RateUnit) -> SheetTable {
    let requests = format!("Requests{}", unit.suffix());
    let busiest = format!("Busiest phase{}", unit.suffix());
    let has_phases = rows
        .iter()
        .any(|row| row.busiest_phase_per_second.is_some());
    let mut heads = vec!["Stage", "<Verdict", "Requests", &requests];
    heads.extend(has_phases.then_some(busiest.as_str()));
    heads.extend(["Failed", "p50", "p95", "p99"]);
    let total = |row: &StageRow| {
        let mut rows = row.requests_by_endpoint.iter();
        rows.find(|row| row.is_total).cloned()
    };
    let p999 = |row: &StageRow| total(row).and_then(|total| total.p999);
    let has_p999 = rows.iter().any(|row| p999(row).is_some());
    heads.extend(has_p999.then_some("p99.9"));
    let has_limits = rows.iter().any(|row| row.saturation.is_some());
    heads.extend(has_limits.then_some("<First limit"));
    let mut table = SheetTable::new(&heads);
    for row in rows {
        let total = total(row);
        let judged = |column: &str| total.as_ref().is_some_and(|total| total.is_judged(column));
        let [p50, p95, p99] = row.percentiles.clone();
        let busiest = row.busiest_phase_per_second;
        let cells = [
            row.name.clone(),
            row.verdict.word().to_owned(),
            or_dash(row.requests.map(units::count)),
            marked(
                or_dash(row.requests_per_second.map(|one| rate(unit, one))),
                judged("per_second"),
            ),
        ];
        let busiest = has_phases.then(|| or_dash(busiest.map(|one| rate(unit, one))));
        let figures = [
            marked(
                or_dash(row.error_share.map(units::share)),
                judged("failures"),
            ),
            marked(or_dash(p50), judged("p50")),
            marked(or_dash(p95), judged("p95")),
            marked(or_dash(p99), judged("p99")),
        ];
        let p999 = has_p999.then(|| marked(or_dash(p999(row)), judged("p999")));
        let limit = has_limits.then(|| or_dash(row.saturation.as_ref().map(first_limit)));
        let cells = cells.into_iter().chain(busiest).chain(figures);
        let cells = cells.chain(p999).chain(limit);
        table.row(cells, row.report.clone());
    }
    table
}

/// Names the resource that reached its limit first, or all such resources if their order is
/// unknown.
fn first_limit(saturation: &Saturation) -> String {
    let first = saturation.first.and_then(|at| saturation.reached.get(at));
    let reached: Vec<&Reached> = match first {
        Some(first) => vec![first],
        None => saturation.reached.iter().collect(),
    };
    let texts = reached.iter().map(|one| {
        let at = units::duration(one.at_ns / SECOND * SECOND);
        format!("{} ({}) at {at}", one.resource, one.source)
    });
    let texts: Vec<String> = texts.collect();
    if texts.is_empty() {
        "none reached".to_owned()
    } else {
        texts.join(", ")
    }
}

/// Returns the measured value of each criterion in each stage. `None` if there are no criteria.
fn criteria(rows: &[StageRow]) -> Option<SheetTable> {
    let ran: Vec<&StageRow> = rows.iter().filter(|row| !row.criteria.is_empty()).collect();
    let names = ran.iter().map(|row| format!("<{}", row.name));
    let heads: Vec<String> = ["Criterion".to_owned()].into_iter().chain(names).collect();
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    let mut table = SheetTable::new(&heads);
    let mut texts: Vec<&str> = Vec::new();
    for judged in ran.iter().flat_map(|row| &row.criteria) {
        if !texts.contains(&judged.text.as_str()) {
            texts.push(&judged.text);
        }
    }
    for text in &texts {
        let cells = ran.iter().map(|row| {
            let judged = row.criteria.iter().find(|judged| judged.text == *text);
            or_dash(judged.map(|judged| {
                let word = crate::sheet::judgement(judged.judgement);
                let measured = judged.measured.as_deref();
                measured.map_or_else(|| word.to_owned(), |measured| format!("{word}: {measured}"))
            }))
        });
        table.row([format!("`{text}`")].into_iter().chain(cells), None);
    }
    (!texts.is_empty()).then_some(table)
}

fn endpoints(rows: &[EndpointRow], unit: RateUnit) -> SheetTable {
    let requests = format!("Requests{}", unit.suffix());
    let mut heads = vec![
        "Endpoint", "Requests", "Failed", &requests, "Mean", "p50", "p90", "p95", "p99",
    ];
    let has_p999 = rows.iter().any(|row| row.p999.is_some());
    heads.extend(has_p999.then_some("p99.9"));
    heads.push("Max");
    let mut table = SheetTable::new(&heads);
    for row in rows {
        let time =
            |name: &str, text: &Option<String>| marked(or_dash(text.clone()), row.is_judged(name));
        let name = if row.is_total { "Total" } else { &row.text };
        let cells = [
            name.to_owned(),
            units::count(row.requests),
            marked(units::count(row.failures), row.is_judged("failures")),
            marked(rate(unit, row.per_second), row.is_judged("per_second")),
            time("mean", &row.mean),
            time("p50", &row.p50),
            time("p90", &row.p90),
            time("p95", &row.p95),
            time("p99", &row.p99),
        ];
        let p999 = has_p999.then(|| time("p999", &row.p999));
        let cells = cells.into_iter().chain(p999);
        table.row(cells.chain([time("max", &row.max)]), None);
    }
    table
}

/// Maximum number of rows for failures. A last row counts the others.
const MOST_FAILURES: usize = 20;

fn failures(rows: &[FailureRow]) -> SheetTable {
    let mut table = SheetTable::new(&["Failure", "<Endpoint", "Requests", "Share of the endpoint"]);
    for row in rows.iter().take(MOST_FAILURES) {
        let cells = [
            row.reason.clone(),
            row.endpoint.clone(),
            units::count(row.count),
            or_dash(row.share.map(units::share)),
        ];
        table.row(cells, None);
    }
    let others = rows.get(MOST_FAILURES..).unwrap_or_default();
    if !others.is_empty() {
        let count = others.iter().map(|row| row.count).sum();
        let name = format!("{} more: see the report of the stage", others.len());
        let cells = [name, String::new(), units::count(count), String::new()];
        table.row(cells, None);
    }
    table
}

fn dashboards(stage: &StageRow) -> SheetTable {
    let mut table = SheetTable::new(&["Dashboard at the time of the stage", "<Shows"]);
    for link in &stage.links {
        let shows = match stage.cool_down {
            Some(_) => "the stage and the check after it",
            None => "the stage",
        };
        let cells = [link.name.clone(), shows.to_owned()];
        table.row(cells, Some(link.url.clone()));
    }
    table
}
