//! The report of a campaign as a page and as Markdown. Both are built from the same blocks.

mod appendix;
mod blocks;
mod calls;
mod charts;
mod load;
mod projection;
mod results;
mod server;
mod today;

use analysis::page::Page;
use decisions::campaign::Campaign;

use crate::sheet::Sheet;

pub use charts::RunSpan;

#[must_use]
pub fn sheet(campaign: &Campaign, runs: &[(RunSpan, &Page)]) -> Sheet {
    let charts = charts::draw(runs, campaign);
    let blocks = blocks::build(campaign, &charts);
    let stages = charts.stages.iter().flat_map(|stage| &stage.files);
    let files = charts.overview.iter().chain(&charts.server).chain(stages);
    Sheet::new(&campaign.identity.name, &blocks, files.cloned().collect())
}

fn or_dash(text: Option<String>) -> String {
    text.unwrap_or_else(|| "–".into())
}
