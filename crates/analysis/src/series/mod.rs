//! `series.json`: what charts are drawn from, computed from the run's history. At most 720 points per chart, each with the
//! percentiles of its own samples; wider points come from merged distributions, never from averaged percentiles. The format is
//! described in `docs/reference/series-json.md`.

mod columns;
mod heat;
mod label_series;
mod lost_nodes;
mod server;
mod shape;

use serde::Serialize;

pub use columns::{Columns, TimeColumns};
pub use heat::Heat;
pub use label_series::{InPhase, LabelSeries, Spread};
pub use server::{Constant, Panel, constant};
pub use shape::Distribution;
pub use shape::Grid;

use record::Run;

use crate::{
    summary::Summary,
    verdict::timeline::{self, Timeline},
};

/// The version of the format.
pub const SCHEMA: u32 = 1;

/// A run over time, for charts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Version of the format.
    pub schema: u32,
    /// The width of a point; the first and the last are shorter.
    pub width_ns: u64,
    /// A column per figure, all of the same length.
    pub points: Columns,
    /// Where the latency of answers lies over time.
    pub heat: Heat,
    /// The distribution over the whole run: of the headline, and of service times where that is another.
    pub distribution: Vec<Distribution>,
    /// By label: its course, and what its row opens to.
    pub labels: Vec<LabelSeries>,
    /// By criterion: for each point whether it held for that point alone.
    pub criteria_timeline: Vec<Vec<Option<bool>>>,
    /// What was measured beside the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<Panel>,
    /// Of that what never changed: charts are drawn of the rest.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub constants: Vec<Constant>,
}

/// The series of a run, with the summary that says which time is its headline.
#[must_use]
pub fn build(run: &Run, summary: &Summary) -> Series {
    with(run, summary, &timeline::build(run))
}

/// The same, of a run whose points are there already.
pub(crate) fn with(run: &Run, summary: &Summary, timeline: &Timeline<'_>) -> Series {
    let headline = summary.headline();
    let server = server::panels(run, &timeline.moments);
    let mut points = columns::build(&timeline.moments);
    lost_nodes::add(&mut points, run);
    Series {
        schema: SCHEMA,
        width_ns: run.totals.history.all.width_ns(),
        points,
        heat: heat::build(&timeline.moments, headline),
        distribution: shape::distributions(run, headline),
        labels: label_series::build(run, summary),
        criteria_timeline: timeline.criteria.clone(),
        constants: server::constants(&server),
        server,
    }
}
