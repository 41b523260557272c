//! `report.md`: tables for GitHub, and charts in a folder.

mod custom;
mod deliveries;
mod endpoints;
mod facts;
mod mocks;
mod nodes;
mod plan;
mod published;
mod saturation;
mod sections;
mod streams;
pub(crate) mod table;
mod traces;

pub use published::{Published, published};

use analysis::page::Page;

use crate::svg;

pub const CHARTS: &str = "charts";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Document {
    pub text: String,
    pub charts: Vec<svg::File>,
}

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
        endpoints::endpoints(summary),
        streams::streams(summary),
        chart("streams.svg"),
        sections::latency(summary),
        chart("latency.svg"),
        chart("percentiles.svg"),
        sections::errors(summary),
        chart("errors.svg"),
        sections::concurrency(summary),
        chart("concurrency.svg"),
        facts::http2(summary),
        facts::websocket(summary),
        facts::socketio(summary),
        traces::slowest(summary),
        deliveries::deliveries(summary),
        sections::generator(summary),
        nodes::table(summary),
        saturation::saturation(summary),
        custom::metrics(summary),
        mocks::latencies(summary),
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
