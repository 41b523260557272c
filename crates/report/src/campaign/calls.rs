//! Requests per iteration of each scenario, by endpoint.

use decisions::campaign::Campaign;
use record::units;

use super::or_dash;
use crate::sheet::{Block, SheetTable};

/// Marks figures of endpoints that several scenarios call.
const SHARED: char = '†';

/// Returns the table with an explanation of its figures. Empty if the plan has a single scenario.
pub(super) fn blocks<'a>(campaign: &Campaign) -> Vec<Block<'a>> {
    if campaign.calls.is_empty() {
        return Vec::new();
    }
    let names = campaign.stages.iter().map(|row| row.name.as_str());
    let heads = ["Scenario", "<Endpoint", "Planned per iteration"].into_iter();
    let mut table = SheetTable::new(&heads.chain(names).collect::<Vec<_>>());
    for row in &campaign.calls {
        let figure = |value: f64| units::decimal((value * 1e3).round() / 1e3);
        let measured = row.measured.iter().map(|one| match one.map(figure) {
            Some(text) if row.is_shared => format!("{text} {SHARED}"),
            text => or_dash(text),
        });
        let cells = [
            row.scenario.clone(),
            row.endpoint.clone(),
            or_dash(row.planned.map(figure)),
        ];
        table.row(cells.into_iter().chain(measured), None);
    }
    let mut text = "Requests per iteration. Columns of stages: requests divided by iterations \
                    that ended, also by those that failed or were cut off."
        .to_owned();
    if campaign.calls.iter().any(|row| row.is_shared) {
        text += &format!(
            " {SHARED} several scenarios call this endpoint: all its requests, divided by \
             the iterations of all these scenarios."
        );
    }
    if campaign.calls.iter().any(|row| row.planned.is_none()) {
        text += " Planned –: conditions or responses decide it.";
    }
    vec![
        Block::Subheading("Endpoints of each scenario".into()),
        Block::Table(table),
        Block::Text(text),
    ]
}
