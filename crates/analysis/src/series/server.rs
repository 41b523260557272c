//! What was measured beside the load, point by point. Where nothing was there is nothing: no line is drawn over a gap.

use plan::criteria::{Metric, parse_criterion};
use serde::Serialize;

use record::{Run, server};

use super::columns::Column;
use crate::{moments::Moment, verdict};

/// A point is told when at least this share of it is known.
const KNOWN: f64 = 0.5;

/// A chart of one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Panel {
    /// Source and metric.
    pub name: String,
    /// Which of several: each is a line of one chart.
    pub of: Option<String>,
    /// Of its values.
    pub unit: String,
    /// Where a criterion sets a bound, in that unit.
    pub limit: Option<f64>,
    /// By point.
    pub values: Column,
}

/// The panels of a run. One that holds nothing yet keeps its place: who has seen them knows them by it.
pub fn of(run: &Run, moments: &[Moment<'_>]) -> Vec<Panel> {
    let all = run.server.series.iter();
    all.map(|series| Panel {
        name: series.name(),
        of: series.of.instance.clone(),
        unit: series.unit(),
        limit: limit(run, series),
        values: moments.iter().map(|moment| value(series, moment)).collect(),
    })
    .collect()
}

fn value(series: &server::Series, moment: &Moment<'_>) -> Option<f64> {
    let (from, to) = moment.span;
    let (mean, known_ns) = series.mean(from, to)?;
    (known_ns as f64 >= KNOWN * (to - from) as f64).then_some(mean)
}

/// The bound of the first criterion that is of this series.
fn limit(run: &Run, series: &server::Series) -> Option<f64> {
    run.manifest.criteria.iter().find_map(|text| {
        let criterion = parse_criterion(text).ok()?;
        let Metric::Server(name, _) = &criterion.metric else {
            return None;
        };
        let bounds = verdict::server_bounds(run, name, &criterion);
        let own = bounds.iter().find(|(of, _)| std::ptr::eq(*of, series));
        own.map(|(_, bound)| *bound)
    })
}
