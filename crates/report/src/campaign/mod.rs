//! Report of a campaign as a page and as Markdown, both built from the same blocks.

mod blocks;
mod charts;
mod projection;

use analysis::page::Page;
use decisions::campaign::Campaign;

use crate::sheet::Sheet;

pub use charts::RunSpan;

#[must_use]
pub fn sheet(campaign: &Campaign, runs: &[(RunSpan, &Page)]) -> Sheet {
    let charts = charts::draw(runs, campaign.identity.started_wall_ns);
    let blocks = blocks::build(campaign, &charts.files, &charts.constants);
    Sheet::new(&campaign.identity.name, &blocks, charts.files.clone())
}
