//! Comparison of the tested load with the present volume: what multiple of today's volume each
//! stage tested.

use decisions::campaign::{Campaign, Planned, StageRow, VolumeRate, highest_holding};
use record::units;

use super::or_dash;
use crate::sheet::{Block, SheetTable};

/// Returns the table with an explanation. Empty if the plan has no present volume.
pub(super) fn blocks<'a>(campaign: &Campaign) -> Vec<Block<'a>> {
    let planned = campaign
        .stages
        .iter()
        .filter_map(|row| Some((row, row.planned.as_ref()?)));
    let planned: Vec<(&StageRow, &Planned)> = planned.collect();
    let Some((_, first)) = planned.first() else {
        return Vec::new();
    };
    if first.scenarios.iter().all(|rate| rate.today.is_none()) {
        return Vec::new();
    }
    let names = planned
        .iter()
        .map(|(row, _)| format!("{}: times today", row.name));
    let names: Vec<String> = names.collect();
    let names = names.iter().map(String::as_str);
    let heads = ["Scenario", "<Today", "Today/h"].into_iter().chain(names);
    let mut table = SheetTable::new(&heads.collect::<Vec<_>>());
    for rate in &first.scenarios {
        let today = rate.today.as_ref();
        let per_second = today.map(|today| today.per_second);
        let of_stages = planned.iter().map(|(_, planned)| {
            let mut rates = planned.scenarios.iter();
            let stage = rates.find(|stage| stage.name == rate.name);
            or_dash(factor(stage.map(|stage| stage.per_second), per_second))
        });
        let cells = [
            rate.name.clone(),
            or_dash(today.map(|today| today.text.clone())),
            or_dash(per_second.map(per_hour)),
        ];
        table.row(cells.into_iter().chain(of_stages), None);
    }
    let total = total(&first.scenarios);
    if first.scenarios.len() > 1 {
        let of_stages = planned
            .iter()
            .map(|(_, planned)| or_dash(factor(Some(planned.arrivals_per_second), total)));
        let cells = [
            "Total".to_owned(),
            String::new(),
            or_dash(total.map(per_hour)),
        ];
        table.row(cells.into_iter().chain(of_stages), None);
    }
    let mut text = "Times today: planned arrivals at the peak of the stage, divided by today's \
                    volume in the plan."
        .to_owned();
    if let Some(sentence) = total.and_then(|total| highest(campaign, total)) {
        text = format!("{sentence} {text}");
    }
    vec![Block::Table(table), Block::Text(text)]
}

/// Returns the sum of the present volumes, per second. `None` if a scenario has no present volume.
fn total(scenarios: &[VolumeRate]) -> Option<f64> {
    let rates = scenarios
        .iter()
        .map(|rate| Some(rate.today.as_ref()?.per_second));
    rates.sum()
}

fn per_hour(per_second: f64) -> String {
    units::rate(per_second * 3600.0)
}

fn factor(tested: Option<f64>, today: Option<f64>) -> Option<String> {
    Some(format!("{} x", units::rate(tested? / today?)))
}

/// Compares the present volume with the highest load that passes, as named in the report's answer.
fn highest(campaign: &Campaign, today: f64) -> Option<String> {
    let row = highest_holding(&campaign.stages, &campaign.identity)?;
    let tested = row.planned.as_ref()?.arrivals_per_second;
    Some(format!(
        "{} is the highest load that holds: {} arrivals per hour, {} times today's {}. \
         Today's volume is {} of it.",
        row.name,
        per_hour(tested),
        units::rate(tested / today),
        per_hour(today),
        units::share(today / tested)
    ))
}
