//! Label details: history, distribution, parts and phases.

use std::{borrow::Cow, collections::BTreeMap};

use measure::{Label, TimeKind, TimeSpan, label};
use serde::{Deserialize, Serialize};

use record::{LabelTotals, Run, history::Point};

use super::shape::Grid;
use crate::{
    figures::{self, Figure, Sampled},
    summary::Summary,
};

const GRID: Grid = Grid(10.0);
const PARTS: [TimeKind; 4] = [
    TimeKind::Connect,
    TimeKind::Tls,
    TimeKind::FirstByte,
    TimeKind::Script,
];

/// History of a label with at most 60 points, and its distribution, parts and phases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LabelSeries {
    pub id: u16,
    /// Kind of time of the percentiles: `response`, `service` or `iteration`.
    pub time: Option<Cow<'static, str>>,
    pub from_ns: Vec<u64>,
    pub to_ns: Vec<u64>,
    pub count: Vec<u64>,
    pub errors: Vec<u64>,
    pub p50: Vec<Option<u64>>,
    pub p95: Vec<Option<u64>>,
    pub p99: Vec<Option<u64>>,
    /// Non-empty latency buckets over the whole run, each with lower bound, upper bound and count.
    pub density: Vec<(u64, u64, u64)>,
    pub times: Vec<Spread>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<InPhase>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Part of the request: `connect`, `tls`, `first_byte` or `script`.
    pub time: Cow<'static, str>,
    pub count: u64,
    pub p50: Figure,
    pub p95: Figure,
    pub p99: Figure,
    pub max: Figure,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InPhase {
    pub phase: u32,
    pub count: u64,
    pub errors: u64,
    pub p50: Option<Figure>,
    pub p95: Option<Figure>,
    pub p99: Option<Figure>,
}

pub fn build(run: &Run, summary: &Summary) -> Vec<LabelSeries> {
    let labels = run.labels.iter().filter(|label| label.id != label::ALL);
    labels
        .filter_map(|label| label_series(run, label, time_of(label, summary)))
        .collect()
}

fn time_of(label: &Label, summary: &Summary) -> Option<TimeKind> {
    let row = summary.rows().find(|row| row.id == label.id)?;
    let times = [
        (TimeKind::Iteration, &row.iteration),
        (TimeKind::Response, &row.response),
        (TimeKind::Service, &row.service),
    ];
    let mut known = times.into_iter().filter(|(_, stats)| stats.is_some());
    known.next().map(|(kind, _)| kind)
}

fn label_series(run: &Run, label: &Label, time: Option<TimeKind>) -> Option<LabelSeries> {
    let whole = run.totals.label(label.id);
    let mut label_series = LabelSeries {
        id: label.id,
        time: time.map(|time| time.name().into()),
        times: PARTS
            .into_iter()
            .filter_map(|kind| spread(&whole, kind))
            .collect(),
        phases: phases(run, label, time),
        ..LabelSeries::default()
    };
    let curve = run.totals.history.labels.get(&label.id)?;
    let points: Vec<Point> = curve.points().map(|(_, point)| point).collect();
    let spans: Vec<TimeSpan> = points.iter().map(|point| point.span).collect();
    for group in figures::full_points(&spans, curve.width_ns()) {
        let mut part = LabelTotals::default();
        points[group.clone()]
            .iter()
            .for_each(|point| part.add(&point.part));
        label_series.from_ns.push(spans[group.start].from_ns);
        label_series.to_ns.push(spans[group.end - 1].to_ns);
        let counters = &part.slot.counters;
        label_series.count.push(counters.ended());
        label_series.errors.push(counters.errors());
        let sampled = time.map(|kind| Sampled::from_totals(&part, kind));
        let known = |q| {
            let figure: Figure = sampled.as_ref()?.quantile(q)?;
            figure.ns.or(figure.at_least_ns)
        };
        label_series.p50.push(known(0.5));
        label_series.p95.push(known(0.95));
        label_series.p99.push(known(0.99));
    }
    let mut rows = BTreeMap::new();
    if let Some(kind) = time {
        GRID.count(&whole, kind, &mut rows);
    }
    let cells = rows.into_iter();
    label_series.density = cells
        .map(|(row, n)| (GRID.bound_ns(row), GRID.bound_ns(row + 1), n))
        .collect();
    Some(label_series)
}

/// Returns the statistics of a part of the request. `None` if there are no samples, for example for
/// handshakes on reused connections.
fn spread(part: &LabelTotals, kind: TimeKind) -> Option<Spread> {
    let was_measured = measure::OutcomeClass::ALL
        .iter()
        .any(|outcome| part.slot.histogram(kind, *outcome).is_some());
    let sampled = was_measured.then(|| Sampled::from_totals(part, kind))?;
    Some(Spread {
        time: kind.name().into(),
        count: sampled.count(),
        p50: sampled.given_quantile(0.5)?,
        p95: sampled.given_quantile(0.95)?,
        p99: sampled.given_quantile(0.99)?,
        max: sampled.given_quantile(1.0)?,
    })
}

fn phases(run: &Run, label: &Label, time: Option<TimeKind>) -> Vec<InPhase> {
    let parts = run.totals.parts.range((label.id, 0)..=(label.id, u32::MAX));
    let in_phase = |((_, phase), part): (&(u16, u32), &LabelTotals)| {
        let counters = &part.slot.counters;
        let sampled = time.map(|kind| Sampled::from_totals(part, kind));
        let given = |q| {
            sampled
                .as_ref()
                .and_then(|sampled| sampled.given_quantile(q))
        };
        InPhase {
            phase: *phase,
            count: counters.ended(),
            errors: counters.errors(),
            p50: given(0.5),
            p95: given(0.95),
            p99: given(0.99),
        }
    };
    let phases: Vec<InPhase> = parts.map(in_phase).collect();
    if phases.len() > 1 { phases } else { Vec::new() }
}
