//! The tested service: its metrics by stage, saturated resources, and charts.

use decisions::campaign::{Campaign, ServerChange, ServerFigures, StageRow};
use plan::report_content::{ReportContent, ShownMetric};
use record::units;

use super::charts::Charts;
use crate::sheet::{Block, SheetTable};

/// Prefix of the metrics of the load generator's own machine.
pub(super) const OWN: &str = "host.";
/// Maximum number of metrics if the plan does not select any.
const MOST: usize = 16;

pub(super) fn blocks<'a>(campaign: &Campaign, charts: &'a Charts) -> Vec<Block<'a>> {
    let metrics = shown(campaign);
    let saturated = saturated(&campaign.stages);
    if metrics.is_empty() && saturated.is_empty() && charts.server.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Server")];
    if !saturated.is_empty() {
        blocks.push(Block::List(saturated));
    }
    if !metrics.is_empty() {
        blocks.push(Block::Table(overview(campaign, &metrics)));
        blocks.push(Block::Text(
            "Mean of all instances, and the lowest to the highest sample of any of them. The appendix has a row for each instance.".into(),
        ));
    }
    if let Some(changes) = changes(campaign, &metrics) {
        blocks.push(Block::Table(changes));
        blocks.push(Block::Text(
            "Change of the mean against the first stage on the same service: mean over the instances, and the lowest to the highest of any of them.".into(),
        ));
    }
    let missing = missing(campaign);
    if !missing.is_empty() {
        blocks.push(Block::Text(format!(
            "Not measured in any stage: {}.",
            missing.join(", ")
        )));
    }
    blocks.extend(charts.server.iter().map(Block::Chart));
    blocks
}

fn saturated(rows: &[StageRow]) -> Vec<String> {
    let reported = rows.iter().filter_map(|row| {
        let saturation = row.saturation.as_ref()?;
        Some(format!("{}: {}", row.name, saturation.sentence))
    });
    reported.collect()
}

/// Returns the title that the plan gives to a metric, or otherwise its name.
pub(super) fn title(content: &ReportContent, name: &str) -> String {
    let mut metrics = content.metrics.iter();
    let named = metrics.find(|metric| metric.name == name);
    named
        .and_then(|metric| metric.title.clone())
        .unwrap_or_else(|| name.to_owned())
}

/// Returns whether a metric only identifies something, so that its values have no meaning as
/// numbers.
pub(super) fn is_identifier(name: &str) -> bool {
    let last = name.rsplit(['.', '_', '-']).next().unwrap_or_default();
    ["pid", "ppid", "port"].contains(&last)
}

/// Returns the metrics that the plan selects, or otherwise those metrics of the service that
/// changed.
pub(super) fn shown(campaign: &Campaign) -> Vec<String> {
    let all = || campaign.stages.iter().flat_map(|row| &row.server);
    let chosen = &campaign.identity.content.metrics;
    if !chosen.is_empty() {
        let measured = |metric: &&ShownMetric| all().any(|row| row.metric.name == metric.name);
        let chosen = chosen.iter().filter(measured);
        return chosen.map(|metric| metric.name.clone()).collect();
    }
    let mut names: Vec<String> = Vec::new();
    for row in all() {
        let is_shown = !row.is_constant() || !row.judged.is_empty();
        let is_own = row.metric.name.starts_with(OWN) || is_identifier(&row.metric.name);
        if is_shown && !is_own && !names.contains(&row.metric.name) {
            names.push(row.metric.name.clone());
        }
    }
    names.truncate(MOST);
    names
}

fn missing(campaign: &Campaign) -> Vec<String> {
    let all = || campaign.stages.iter().flat_map(|row| &row.server);
    if all().next().is_none() {
        return Vec::new();
    }
    let chosen = campaign.identity.content.metrics.iter();
    let missing = chosen.filter(|metric| all().all(|row| row.metric.name != metric.name));
    missing.map(|metric| format!("`{}`", metric.name)).collect()
}

fn overview(campaign: &Campaign, metrics: &[String]) -> SheetTable {
    let ran: Vec<&StageRow> = campaign
        .stages
        .iter()
        .filter(|row| !row.server.is_empty())
        .collect();
    let names = ran.iter().map(|row| row.name.as_str());
    let heads: Vec<&str> = ["Metric"].into_iter().chain(names).collect();
    let mut table = SheetTable::new(&heads);
    for name in metrics {
        let cells = ran.iter().map(|row| {
            let instances: Vec<&ServerFigures> = row
                .server
                .iter()
                .filter(|one| one.metric.name == *name)
                .collect();
            summary(&instances)
        });
        let title = title(&campaign.identity.content, name);
        table.row([title].into_iter().chain(cells), None);
    }
    table
}

/// Returns how the means changed since an earlier stage. `None` if no stage has an earlier stage.
fn changes(campaign: &Campaign, metrics: &[String]) -> Option<SheetTable> {
    let changed = campaign.stages.iter().filter_map(|row| {
        let first = row.server_changes.first()?;
        Some((row, format!("{} against {}", row.name, first.against)))
    });
    let changed: Vec<(&StageRow, String)> = changed.collect();
    let heads = changed.iter().map(|(_, head)| head.as_str());
    let heads: Vec<&str> = ["Change"].into_iter().chain(heads).collect();
    let mut table = SheetTable::new(&heads);
    for name in metrics {
        let of = |row: &StageRow| {
            let mut changes = row.server_changes.iter();
            changes.find(|change| change.name == *name).map(change_text)
        };
        let cells: Vec<Option<String>> = changed.iter().map(|(row, _)| of(row)).collect();
        if cells.iter().any(Option::is_some) {
            let cells = cells.into_iter().map(super::or_dash);
            let title = title(&campaign.identity.content, name);
            table.row([title].into_iter().chain(cells), None);
        }
    }
    (!table.rows.is_empty()).then_some(table)
}

/// Formats a change with its range over the instances: `+0.11 (+0.1 to +0.12)`.
fn change_text(change: &ServerChange) -> String {
    let signed = |value: f64, unit: &str| {
        let text = units::figure(value.abs(), unit);
        let is_zero = text == units::figure(0.0, unit);
        match (is_zero, value < 0.0) {
            (true, _) => text,
            (false, true) => format!("−{text}"),
            (false, false) => format!("+{text}"),
        }
    };
    // A change from 10 % to 20 % must not be shown as a change of 10 %.
    let (unit, unit_of_range) = match change.unit.as_str() {
        "%" => ("percentage points", ""),
        unit => (unit, unit),
    };
    let mean = signed(change.mean, unit);
    if change.instances == 1 {
        return mean;
    }
    let (min, max) = (
        signed(change.min, unit_of_range),
        signed(change.max, unit_of_range),
    );
    format!("{mean} ({min} to {max})")
}

/// Returns the mean of all instances and their range: `20.4 (12 to 26)`.
fn summary(instances: &[&ServerFigures]) -> String {
    let Some(first) = instances.first() else {
        return "–".to_owned();
    };
    let figure = |value: f64| units::figure(value, &first.metric.unit);
    let mean = instances.iter().map(|one| one.metric.mean).sum::<f64>() / instances.len() as f64;
    let values = instances.iter();
    let min = values
        .clone()
        .map(|one| one.metric.min)
        .fold(f64::INFINITY, f64::min);
    let max = values
        .map(|one| one.metric.max)
        .fold(f64::NEG_INFINITY, f64::max);
    let is_judged = instances.iter().any(|one| !one.judged.is_empty());
    let mark = if is_judged { " *" } else { "" };
    if min < max {
        format!(
            "{} ({} to {}){mark}",
            figure(mean),
            figure(min),
            figure(max)
        )
    } else {
        format!("{}{mark}", figure(mean))
    }
}
