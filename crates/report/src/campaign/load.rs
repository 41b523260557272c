//! The load: what each stage planned, when it ran, and how the tested environment differs from the
//! target environment.

use decisions::campaign::{Campaign, Planned, StageRow, VolumeRate};
use plan::{
    deployment::Deployment,
    report_content::{Difference, RateUnit},
};
use record::units;

use super::{calls, or_dash, today};

use crate::{
    profile::rounded,
    sheet::{Block, SheetTable},
};

/// Length of a date and time, without the offset from UTC.
pub(super) const DATE_AND_TIME: usize = "2026-11-27 03:30:59".len();

pub(super) fn blocks<'a>(campaign: &Campaign) -> Vec<Block<'a>> {
    let mut blocks = vec![Block::Heading("Load"), Block::Table(stages(campaign))];
    let planned = tables(&campaign.stages, campaign.identity.content.rates);
    if !planned.is_empty() {
        blocks.extend(planned.into_iter().map(Block::Table));
        blocks.push(Block::Text(
            "Planned values at the peak of each stage if no request fails; figures are rounded separately.".into(),
        ));
    }
    blocks.extend(today::blocks(campaign));
    blocks.extend(calls::blocks(campaign));
    let differences = differences(campaign);
    if !differences.is_empty() {
        blocks.push(Block::Heading("Tested and target environment"));
        blocks.push(Block::Table(difference_table(&differences)));
    }
    blocks
}

fn stages(campaign: &Campaign) -> SheetTable {
    let zone = zone_name(campaign);
    let (from, to) = (format!("From ({zone})"), format!("To ({zone})"));
    let mut table = SheetTable::new(&["Stage", "<Load", &from, &to, "Lasted"]);
    for row in &campaign.stages {
        let load = match &row.target {
            Some(target) => format!("{}, on `{target}`", row.load),
            None => row.load.clone(),
        };
        let cells = [
            row.name.clone(),
            load,
            or_dash(clock(row.from_local.as_ref(), row.from_utc.as_ref())),
            or_dash(clock(row.to_local.as_ref(), row.to_utc.as_ref())),
            or_dash(row.elapsed_ns.map(units::time)),
        ];
        table.row(cells, None);
    }
    table
}

/// Returns the name of the time zone that the report uses.
pub(super) fn zone_name(campaign: &Campaign) -> String {
    let identity = &campaign.identity;
    let known = identity
        .zone
        .as_ref()
        .and(identity.content.time_zone.as_ref());
    known.map_or_else(|| "UTC".to_owned(), ToString::to_string)
}

/// Formats a local time with its offset, such as `2026-11-27 03:30:59 -05:00`, or otherwise the
/// time in UTC. Omits fractions of a second.
pub(super) fn clock(local: Option<&String>, utc: Option<&String>) -> Option<String> {
    let Some(local) = local else {
        let text = utc?.replace('T', " ");
        return text.get(..DATE_AND_TIME).map(str::to_owned);
    };
    let text = local.replace('T', " ");
    let (time, offset) = text.split_at_checked(DATE_AND_TIME)?;
    Some(format!("{time} {offset}"))
}

/// Returns the differences that follow from the deployments, followed by the team's rows.
fn differences(campaign: &Campaign) -> Vec<Difference> {
    let own = &campaign.identity.content.differences;
    let mut rows = Vec::new();
    if let Some(scaling) = campaign.identity.scaling {
        let row = |name: &str, of: fn(Deployment) -> String| Difference {
            name: name.to_owned(),
            tested: of(scaling.tested),
            meant: of(scaling.target),
            effect: None,
        };
        rows.push(row("Instances", |one| one.instances.to_string()));
        rows.push(row("Used by other load", |one| {
            units::share(one.background)
        }));
    }
    rows.retain(|row| {
        !own.iter()
            .any(|own| own.name.eq_ignore_ascii_case(&row.name))
    });
    rows.extend(own.iter().cloned());
    rows
}

fn difference_table(differences: &[Difference]) -> SheetTable {
    let has_effects = differences.iter().any(|row| row.effect.is_some());
    let heads = ["", "<Tested", "<Meant", "<Effect"];
    let mut table = SheetTable::new(if has_effects { &heads } else { &heads[..3] });
    for row in differences {
        let effect = has_effects.then(|| row.effect.clone().unwrap_or_default());
        let cells = [row.name.clone(), row.tested.clone(), row.meant.clone()];
        table.row(cells.into_iter().chain(effect), None);
    }
    table
}

type Plans<'a> = [(&'a str, &'a Planned)];

fn tables(rows: &[StageRow], unit: RateUnit) -> Vec<SheetTable> {
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
        rates(
            &planned,
            "Scenario",
            "arrivals",
            unit,
            |of| &of.scenarios,
            arrivals,
        ),
        rates(
            &planned,
            "Endpoint",
            "requests",
            unit,
            |of| &of.endpoints,
            requests,
        ),
    ]
}

fn rates(
    plans: &Plans<'_>,
    what: &str,
    counted: &str,
    unit: RateUnit,
    rates: fn(&Planned) -> &[VolumeRate],
    total: fn(&Planned) -> f64,
) -> SheetTable {
    let first = plans.first().map_or(&[][..], |(_, planned)| rates(planned));
    let has_volumes = first.iter().any(|rate| rate.volume.is_some());
    let of_unit = |per_second: f64| rounded(unit.from_per_second(per_second));
    let mut heads = vec![what.to_owned()];
    heads.extend(has_volumes.then(|| "Volume".to_owned()));
    heads.extend(
        plans
            .iter()
            .map(|(name, _)| format!("{name} {counted}{}", unit.suffix())),
    );
    let mut table = SheetTable::new(&heads.iter().map(String::as_str).collect::<Vec<_>>());
    for (i, rate) in first.iter().enumerate() {
        let volume = has_volumes.then(|| rate.volume.clone().unwrap_or_default());
        let of_stages = plans.iter().map(|(_, planned)| {
            let rate = rates(planned).get(i).map(|rate| rate.per_second);
            rate.map_or_else(|| "–".to_owned(), of_unit)
        });
        table.row(
            [rate.name.clone()]
                .into_iter()
                .chain(volume)
                .chain(of_stages),
            None,
        );
    }
    let totals = plans.iter().map(|(_, planned)| of_unit(total(planned)));
    let blank = has_volumes.then(String::new);
    table.row(
        ["Total".to_owned()].into_iter().chain(blank).chain(totals),
        None,
    );
    table
}
