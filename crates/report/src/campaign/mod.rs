//! A campaign's report: one page and one Markdown file over all stages. Both are laid out from the same blocks; every figure is
//! `analysis`', none is computed here.

mod blocks;
mod charts;
mod projection;

use analysis::page::Page;
use decisions::campaign::Campaign;

use crate::sheet::Sheet;

pub use charts::RunSpan;

/// The report of a campaign, with the runs of its stages and of its looks at the service between them.
#[must_use]
pub fn sheet(campaign: &Campaign, runs: &[(RunSpan, &Page)]) -> Sheet {
    let charts = charts::draw(runs, campaign.identity.started_wall_ns);
    let blocks = blocks::build(campaign, &charts.files, &charts.constants);
    Sheet::new(&campaign.identity.name, &blocks, charts.files.clone())
}
