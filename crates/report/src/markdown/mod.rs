//! `report.md`: the report in the form that teams publish, with tables that GitHub shows and charts beside it. Every figure is the
//! summary's; this module lays out and computes nothing.

mod mocks;
mod nodes;
mod plan;
mod published;
mod saturation;
mod sections;
pub(crate) mod table;

pub use published::{Published, published};

use analysis::page::Page;

use crate::svg;

/// The folder of the charts, beside `report.md`.
pub const CHARTS: &str = "charts";

/// A report and its charts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    /// The text of `report.md`.
    pub text: String,
    /// Charts, by name in [`CHARTS`].
    pub charts: Vec<svg::File>,
}

/// The report of a run.
#[must_use]
pub fn render(page: &Page) -> Document {
    let summary = &page.summary;
    let charts = svg::draw(summary, &page.series);
    let chart = |name: &str| {
        let file = charts.iter().find(|file| file.name == name);
        file.map(|file| format!("![{}]({CHARTS}/{})", file.description, file.name))
            .unwrap_or_default()
    };
    let blocks = [
        sections::head(summary),
        sections::about(page.manifest.about.as_ref()),
        sections::criteria(summary),
        plan::plan(summary),
        chart("throughput.svg"),
        sections::endpoints(summary),
        sections::latency(summary),
        chart("latency.svg"),
        chart("percentiles.svg"),
        sections::errors(summary),
        chart("errors.svg"),
        sections::concurrency(summary),
        chart("concurrency.svg"),
        sections::generator(summary),
        nodes::table(summary),
        saturation::saturation(summary),
        mocks::kept(summary),
        plan::recovery(summary),
        sections::conclusions(summary),
        sections::assumptions(summary),
        sections::provenance(summary, &page.manifest),
    ];
    let blocks: Vec<String> = blocks
        .into_iter()
        .filter(|block| !block.is_empty())
        .collect();
    Document {
        text: blocks.join("\n\n") + "\n",
        charts,
    }
}
