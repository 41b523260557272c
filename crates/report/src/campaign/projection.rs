//! The estimate for another service, as a table with its assumptions.

use decisions::campaign::Projection;
use plan::report_content::RateUnit;

use crate::{
    profile::rounded,
    sheet::{Block, SheetTable},
};

pub(super) fn blocks<'a>(projection: &Projection, unit: RateUnit) -> Vec<Block<'a>> {
    let mut blocks = vec![
        Block::Heading("From the tested service to the target service"),
        Block::Text(projection.sentence.clone()),
    ];
    let Some(estimate) = &projection.estimate else {
        return blocks;
    };
    let heads = [
        &format!("Per {}", unit.name()),
        &format!("{}: holds", estimate.held),
        &format!("{}: does not", estimate.failed),
        "Estimate from",
        "to",
    ];
    let mut table = SheetTable::new(&heads);
    for row in &estimate.rows {
        let rates = row.measured.iter().chain(&row.estimated);
        let rates = rates.map(|per_second| rounded(unit.from_per_second(*per_second)));
        table.row([row.name.clone()].into_iter().chain(rates), None);
    }
    blocks.push(Block::Table(table));
    blocks.push(Block::Text(
        "Planned rates at the highest level of each stage. The estimate assumes:".into(),
    ));
    blocks.push(Block::List(projection.assumptions.clone()));
    blocks
}
