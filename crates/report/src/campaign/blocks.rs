//! Content of a campaign's report, independent of the layout.

use analysis::series::Constant;
use decisions::campaign::{Campaign, Comparison, Planned, StageRow, VolumeRate, recovered};
use plan::about::About;
use record::units;

use super::projection;
use crate::{
    about, mocks,
    profile::rounded,
    sheet::{Block, SheetTable},
    svg,
};

pub(super) fn build<'a>(
    campaign: &Campaign,
    charts: &'a [svg::File],
    constants: &[Constant],
) -> Vec<Block<'a>> {
    let identity = &campaign.identity;
    let when = identity.started_utc.replace('T', " ");
    let when = when.split('.').next().unwrap_or_default();
    let target = (!identity.target.is_empty()).then(|| identity.target.clone());
    let facts = [
        target,
        Some(format!("{when} UTC")),
        Some(format!("{} stages", campaign.stages.len())),
    ];
    let facts: Vec<String> = facts.into_iter().flatten().collect();
    let mut blocks = vec![
        Block::Title(format!("Load test: {}", identity.name)),
        Block::Verdict(campaign.verdict, campaign.sentence.clone()),
        Block::Text(facts.join(" · ")),
    ];
    blocks.extend(identity.about.iter().flat_map(what_for));
    blocks.push(Block::Heading("Load profile"));
    blocks.push(Block::Table(profile(campaign)));
    let planned = tables(&campaign.stages);
    if !planned.is_empty() {
        blocks.extend(planned.into_iter().map(Block::Table));
        blocks.push(Block::Text(
            "Planned values at the peak of each stage if no request fails; figures are rounded separately.".into(),
        ));
    }
    blocks.extend(stages(&campaign.stages));
    let whys = campaign.stages.iter().filter(|row| !row.reason.is_empty());
    let whys: Vec<String> = whys
        .map(|row| format!("{}: {}", row.name, row.reason))
        .collect();
    if !whys.is_empty() {
        blocks.push(Block::List(whys));
    }
    if !campaign.endpoints.is_empty() {
        blocks.push(Block::Text(
            "Measured requests per second: the mean from the start of the stage to its last completion.".into(),
        ));
        blocks.push(Block::Table(endpoints(campaign)));
    }
    blocks.extend(before_and_after(campaign));
    if !charts.is_empty() {
        blocks.push(Block::Heading("Over time"));
        blocks.extend(charts.iter().map(Block::Chart));
        blocks.extend(throughout(constants).map(Block::Text));
    }
    let saturated = saturated(&campaign.stages);
    if !saturated.is_empty() {
        blocks.push(Block::Heading("What saturated first"));
        blocks.push(Block::List(saturated));
    }
    blocks.extend(campaign.projection.iter().flat_map(projection::blocks));
    blocks.extend(mock_rows(&campaign.stages));
    if campaign.stages.iter().any(|row| row.cool_down.is_some()) {
        blocks.push(Block::Heading("Recovery"));
        blocks.push(Block::Table(recovery(&campaign.stages)));
        blocks.push(Block::Text(
            "After a stage, a few requests probe the service until it responds as in the first stage, for the time in the last column."
                .into(),
        ));
    }
    for (heading, texts) in [
        ("Recommendations", &campaign.recommendations),
        ("Assumptions", &campaign.assumptions),
    ] {
        if !texts.is_empty() {
            blocks.push(Block::Heading(heading));
            blocks.push(Block::List(texts.clone()));
        }
    }
    blocks.push(Block::Text(format!(
        "Loadline {} · {} · begun {}",
        identity.version, identity.file, identity.started_utc
    )));
    blocks
}

fn what_for<'a>(about: &About) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'_>> = about.objective.iter().cloned().map(Block::Text).collect();
    let rows = about::rows(about);
    if !rows.is_empty() {
        let mut table = SheetTable::new(&["About", "<"]);
        for (name, text, link) in rows {
            table.row([name, text], link);
        }
        blocks.push(Block::Table(table));
    }
    blocks
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}

fn profile(campaign: &Campaign) -> SheetTable {
    let mut table = SheetTable::new(&["Stage", "<Load"]);
    for row in &campaign.stages {
        let load = match &row.target {
            Some(target) => format!("{}, on `{target}`", row.load),
            None => row.load.clone(),
        };
        table.row([row.name.clone(), load], None);
    }
    table
}

fn before_and_after<'a>(campaign: &Campaign) -> Vec<Block<'a>> {
    if campaign.comparisons.is_empty() {
        return Vec::new();
    }
    let mut blocks = vec![Block::Heading("Before and after")];
    let tables = campaign.comparisons.iter().map(compared);
    blocks.extend(tables.map(Block::Table));
    blocks.push(Block::Text(
        "One run of each stage: a difference no larger than between two runs of the same service may be due to chance. Times are service times of all requests."
            .into(),
    ));
    blocks
}

fn compared(comparison: &Comparison) -> SheetTable {
    let mut table = SheetTable::new(&["", &comparison.before, &comparison.after, "Change"]);
    for figure in &comparison.figures {
        let cells = [
            figure.name.to_owned(),
            or_dash(figure.before.clone()),
            or_dash(figure.after.clone()),
            figure.change.clone().unwrap_or_default(),
        ];
        table.row(cells, None);
    }
    table
}

type Plans<'a> = [(&'a str, &'a Planned)];

fn tables(rows: &[StageRow]) -> Vec<SheetTable> {
    let planned = rows
        .iter()
        .filter_map(|row| Some((row.name.as_str(), row.planned.as_ref()?)));
    let planned: Vec<(&str, &Planned)> = planned.collect();
    if planned.is_empty() {
        return Vec::new();
    }
    let arrivals = |planned: &Planned| planned.arrivals_per_second;
    let requests = |planned: &Planned| planned.requests_per_second;
    vec![
        rates(&planned, "Scenario", "TPS", |of| &of.scenarios, arrivals),
        rates(&planned, "Endpoint", "RPS", |of| &of.endpoints, requests),
    ]
}

fn rates(
    plans: &Plans<'_>,
    what: &str,
    unit: &str,
    rates: fn(&Planned) -> &[VolumeRate],
    total: fn(&Planned) -> f64,
) -> SheetTable {
    let first = plans.first().map_or(&[][..], |(_, planned)| rates(planned));
    let has_volumes = first.iter().any(|rate| rate.volume.is_some());
    let mut heads = vec![what.to_owned()];
    heads.extend(has_volumes.then(|| "Volume".to_owned()));
    heads.extend(plans.iter().map(|(name, _)| format!("{name} {unit}")));
    let mut table = SheetTable::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for (i, rate) in first.iter().enumerate() {
        let volume = has_volumes.then(|| rate.volume.clone().unwrap_or_default());
        let of_stages = plans.iter().map(|(_, planned)| {
            let rate = rates(planned).get(i).map(|rate| rate.per_second);
            rate.map_or_else(|| "–".to_owned(), rounded)
        });
        table.row(
            [rate.name.clone()]
                .into_iter()
                .chain(volume)
                .chain(of_stages),
            None,
        );
    }
    let totals = plans.iter().map(|(_, planned)| rounded(total(planned)));
    let blank = has_volumes.then(String::new);
    table.row(
        ["Total".to_owned()].into_iter().chain(blank).chain(totals),
        None,
    );
    table
}

fn stages<'a>(rows: &[StageRow]) -> [Block<'a>; 3] {
    let figures = "Requests/s: mean of the whole stage. Busiest phase: mean of the phase with the most requests per second, if there are several. p50, p95 and p99: service time of all requests, from the first byte written to the last byte read. – : not run, or too few requests.";
    [
        Block::Heading("Stages"),
        Block::Table(stage_table(rows)),
        Block::Text(figures.into()),
    ]
}

fn stage_table(rows: &[StageRow]) -> SheetTable {
    let heads = [
        "Stage",
        "<Verdict",
        "Requests",
        "Requests/s",
        "Busiest phase",
        "Errors",
        "p50",
        "p95",
        "p99",
        "Lasted",
        "From (UTC)",
        "To (UTC)",
    ];
    let mut table = SheetTable::new(&heads);
    for row in rows {
        let [p50, p95, p99] = row.percentiles.clone();
        let cells = [
            row.name.clone(),
            row.verdict.word().to_owned(),
            or_dash(row.requests.map(units::count)),
            or_dash(row.requests_per_second.map(units::rate)),
            or_dash(row.busiest_phase_per_second.map(units::rate)),
            or_dash(row.error_share.map(units::share)),
            or_dash(p50),
            or_dash(p95),
            or_dash(p99),
            or_dash(row.elapsed_ns.map(units::time)),
            or_dash(row.from_utc.as_deref().map(clock)),
            or_dash(row.to_utc.as_deref().map(clock)),
        ];
        table.row(cells, row.report.clone());
    }
    table
}

fn clock(utc: &str) -> String {
    utc.replace('T', " ").trim_end_matches('Z').to_owned()
}

fn recovery(rows: &[StageRow]) -> SheetTable {
    let heads = [
        "After",
        "<The service recovered",
        "<Recovered if p95 at most",
        "Errors at most",
        "For",
    ];
    let mut table = SheetTable::new(&heads);
    for row in rows {
        let Some(cool_down) = &row.cool_down else {
            continue;
        };
        let back = recovered(cool_down).unwrap_or_else(|| match &cool_down.unmeasured {
            Some(reason) => format!("not known: {reason}"),
            None => format!("not within {}", units::time(cool_down.probed_until_ns)),
        });
        let cells = [
            row.name.clone(),
            back,
            units::time(cool_down.bound_ns),
            units::share(cool_down.error_bound),
            units::time(cool_down.settled_ns),
        ];
        table.row(cells, None);
    }
    table
}

fn throughout(constants: &[Constant]) -> Option<String> {
    let reported = constants.iter();
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
        Block::Heading("Mocks"),
        Block::Table(table),
        Block::Text(mocks::MEANING.into()),
    ]
}

fn saturated(rows: &[StageRow]) -> Vec<String> {
    let reported = rows.iter().filter_map(|row| {
        let saturation = row.saturation.as_ref()?;
        Some(format!("{}: {}", row.name, saturation.sentence))
    });
    reported.collect()
}

fn endpoints(campaign: &Campaign) -> SheetTable {
    let names = campaign.stages.iter().map(|row| row.name.as_str());
    let heads: Vec<&str> = ["Endpoint"].into_iter().chain(names).collect();
    let mut table = SheetTable::new(&heads);
    for endpoint in &campaign.endpoints {
        let rates = endpoint
            .per_second
            .iter()
            .map(|rate| or_dash(rate.map(units::rate)));
        table.row([endpoint.text.clone()].into_iter().chain(rates), None);
    }
    let totals = campaign
        .stages
        .iter()
        .map(|row| or_dash(row.requests_per_second.map(units::rate)));
    table.row(["Total".to_owned()].into_iter().chain(totals), None);
    table
}
