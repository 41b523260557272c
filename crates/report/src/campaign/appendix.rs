//! The appendix: tables with a row for every endpoint, metric and instance.

use decisions::campaign::{Campaign, StageRow};
use record::units;

use super::{
    charts::Charts,
    or_dash,
    server::{self, is_identifier},
};
use crate::{
    mocks,
    sheet::{Block, SheetTable},
};

pub(super) fn blocks<'a>(campaign: &Campaign, charts: &Charts) -> Vec<Block<'a>> {
    let mut blocks = Vec::new();
    if !campaign.endpoints.is_empty() {
        blocks.push(Block::Subheading("Measured rates by endpoint".into()));
        blocks.push(Block::Table(endpoints(campaign)));
        blocks.push(Block::Text(format!(
            "Requests per {} of the load, without the time until the last completion.",
            campaign.identity.content.rates.name()
        )));
    }
    if campaign.stages.iter().any(|row| !row.server.is_empty()) {
        blocks.push(Block::Subheading("Server metrics by instance".into()));
        blocks.push(Block::Table(instances(campaign)));
        blocks.extend(constant(charts).map(Block::Text));
    }
    blocks.extend(mock_rows(&campaign.stages));
    if !campaign.notes.is_empty() {
        blocks.push(Block::Subheading("Notes".into()));
        blocks.push(Block::List(campaign.notes.clone()));
    }
    if !blocks.is_empty() {
        blocks.insert(0, Block::Heading("Appendix"));
    }
    blocks
}

fn endpoints(campaign: &Campaign) -> SheetTable {
    let unit = campaign.identity.content.rates;
    let rate = |per_second: f64| units::rate(unit.from_per_second(per_second));
    let names = campaign.stages.iter().map(|row| row.name.as_str());
    let heads: Vec<&str> = ["Endpoint"].into_iter().chain(names).collect();
    let mut table = SheetTable::new(&heads);
    for endpoint in &campaign.endpoints {
        let rates = endpoint.per_second.iter();
        let rates = rates.map(|one| or_dash(one.map(rate)));
        table.row([endpoint.text.clone()].into_iter().chain(rates), None);
    }
    let totals = campaign.stages.iter();
    let totals = totals.map(|row| or_dash(row.requests_per_second.map(rate)));
    table.row(["Total".to_owned()].into_iter().chain(totals), None);
    table
}

/// Returns a row for each metric, stage and instance, except for metrics that never changed.
fn instances(campaign: &Campaign) -> SheetTable {
    let heads = ["Metric", "<Stage", "<Instance", "Min", "Mean", "Max"];
    let mut table = SheetTable::new(&heads);
    let mut names: Vec<&str> = Vec::new();
    let all = || campaign.stages.iter().flat_map(|row| &row.server);
    for row in all().filter(|row| !row.is_constant() && !is_identifier(&row.metric.name)) {
        if !names.contains(&row.metric.name.as_str()) {
            names.push(&row.metric.name);
        }
    }
    for name in names {
        let title = server::title(&campaign.identity.content, name);
        for stage in &campaign.stages {
            for row in stage.server.iter().filter(|row| row.metric.name == name) {
                let figure = |member: &str, value: f64| {
                    let mark = if row.judged.contains(&member) {
                        " *"
                    } else {
                        ""
                    };
                    format!("{}{mark}", units::figure(value, &row.metric.unit))
                };
                let cells = [
                    title.clone(),
                    stage.name.clone(),
                    row.metric.instance.clone().unwrap_or_default(),
                    figure("min", row.metric.min),
                    figure("mean", row.metric.mean),
                    figure("max", row.metric.max),
                ];
                table.row(cells, None);
            }
        }
    }
    table
}

fn constant(charts: &Charts) -> Option<String> {
    let reported = charts.constants.iter();
    let reported = reported.filter(|one| !is_identifier(&one.name));
    let reported: Vec<String> = reported
        .map(|one| format!("`{}` = {}", one.name, one.text))
        .collect();
    (!reported.is_empty()).then(|| format!("Constant throughout: {}.", reported.join(", ")))
}

fn mock_rows(rows: &[StageRow]) -> Vec<Block<'static>> {
    if rows.iter().all(|row| row.mocks.is_empty()) {
        return Vec::new();
    }
    let heads: Vec<&str> = ["Stage", "<Mock"]
        .into_iter()
        .chain(mocks::HEADS.into_iter().skip(1))
        .collect();
    let mut table = SheetTable::new(&heads);
    for row in rows {
        for mock in &row.mocks {
            let cells = [row.name.clone()].into_iter().chain(mocks::cells(mock));
            table.row(cells, None);
        }
    }
    vec![
        Block::Subheading("Mocks".into()),
        Block::Table(table),
        Block::Text(mocks::MEANING.into()),
    ]
}
