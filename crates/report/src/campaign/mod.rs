//! A campaign's report: one page and one Markdown file over all stages. Both are laid out from the same blocks; every figure is
//! `analysis`', none is computed here.

mod blocks;
mod charts;
mod page;
mod paper;
mod projection;

use analysis::{campaign::Campaign, page::Page};

use crate::svg;

pub use charts::Span;

/// The folder of the charts, beside `report.md`.
pub const CHARTS: &str = "charts";

/// A campaign's report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Report {
    /// `report.html`, with its charts in it.
    pub page: String,
    /// `report.md`.
    pub markdown: String,
    /// The charts that it shows, for [`CHARTS`].
    pub charts: Vec<svg::File>,
}

/// The report of a campaign, with the runs of its stages and of its looks at the service between them.
#[must_use]
pub fn of(campaign: &Campaign, runs: &[(Span, &Page)]) -> Report {
    let charts = charts::of(runs, campaign.identity.started_wall_ns);
    let blocks = blocks::of(campaign, &charts.files, &charts.constants);
    Report {
        page: page::of(campaign, &blocks),
        markdown: paper::of(&blocks),
        charts: charts.files,
    }
}
