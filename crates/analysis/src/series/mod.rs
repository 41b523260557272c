//! `series.json`: chart data. A chart has at most 720 points. Wider points merge distributions, and
//! percentiles are never averaged. See `docs/reference/series-json.md`.

mod columns;
mod custom;
mod heat;
mod label_series;
mod lost_nodes;
mod server;
mod shape;

use serde::{Deserialize, Serialize};

pub use columns::{Columns, StreamColumns, TimeColumns};
pub use custom::CustomSeries;
pub use heat::Heat;
pub use label_series::{InPhase, LabelSeries, Spread};
pub use server::{Constant, Panel, constant};
pub use shape::Distribution;
pub use shape::Grid;

use record::Run;

use crate::{
    moments,
    summary::Summary,
    verdict::timeline::{self, Timeline},
};

pub const SCHEMA: u32 = 2;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Series {
    pub schema: u32,
    pub width_ns: u64,
    pub points: Columns,
    pub heat: Heat,
    pub distribution: Vec<Distribution>,
    pub labels: Vec<LabelSeries>,
    /// Result of each criterion at each point, judged by that point alone.
    pub criteria_timeline: Vec<Vec<Option<bool>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<Panel>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constant>,
    /// Metrics that the test script reported. At most [`record::history::MOST_CUSTOM`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<CustomSeries>,
}

#[must_use]
pub fn build(run: &Run, summary: &Summary) -> Series {
    with(run, summary, &timeline::build(run))
}

pub(crate) fn with(run: &Run, summary: &Summary, timeline: &Timeline) -> Series {
    let headline = summary.headline();
    let moments = moments::full(run, &timeline.moments);
    let server = server::panels(run, &moments);
    let mut points = columns::build(&moments);
    lost_nodes::add(&mut points, run);
    Series {
        schema: SCHEMA,
        width_ns: run.totals.history.all.width_ns(),
        points,
        heat: heat::build(&moments, headline),
        distribution: shape::distributions(run, headline),
        labels: label_series::build(run, summary),
        criteria_timeline: timeline.criteria.clone(),
        constants: server::constants(&server),
        server,
        custom: custom::build(run, &moments),
    }
}
