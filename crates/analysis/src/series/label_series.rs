//! One label in depth: its course over time, for the line in its row, and what a reader sees who opens that - how its time is
//! spread, what it is made of, and how it was in each phase.

use std::collections::BTreeMap;

use measure::{Label, TimeKind, label};
use serde::Serialize;

use record::{LabelTotals, Run};

use super::shape::Grid;
use crate::{
    figures::{Figure, Sampled},
    summary::Summary,
};

/// Cells of the spread per decade.
const GRID: Grid = Grid(10.0);
/// Times of which there is no row: the parts of a request's, and what the test's own code sees of it.
const PARTS: [TimeKind; 4] = [
    TimeKind::Connect,
    TimeKind::Tls,
    TimeKind::FirstByte,
    TimeKind::Script,
];

/// A label over time, at most 60 points, and over the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct LabelSeries {
    /// The label.
    pub id: u16,
    /// The time that its percentiles are of, the one that its row shows: `response`, `service`, `iteration`; none where it has no time.
    pub time: Option<&'static str>,
    /// Where its points begin.
    pub from_ns: Vec<u64>,
    /// Where they end.
    pub to_ns: Vec<u64>,
    /// Requests or iterations that ended.
    pub count: Vec<u64>,
    /// Those that failed or had no complete answer.
    pub errors: Vec<u64>,
    /// 50th percentile, in nanoseconds.
    pub p50: Vec<Option<u64>>,
    /// 95th percentile.
    pub p95: Vec<Option<u64>>,
    /// 99th percentile.
    pub p99: Vec<Option<u64>>,
    /// How it is spread over the whole run: from, to and count; only cells that hold something.
    pub density: Vec<(u64, u64, u64)>,
    /// The times that were measured of it beside those in its row.
    pub times: Vec<Spread>,
    /// By phase of the load, where there are several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<InPhase>,
}

/// A time of a label over the whole run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spread {
    /// Which: `connect`, `tls`, `first_byte`, `script`.
    pub time: &'static str,
    /// Samples.
    pub count: u64,
    /// 50th percentile.
    pub p50: Figure,
    /// 95th percentile.
    pub p95: Figure,
    /// 99th percentile.
    pub p99: Figure,
    /// The largest.
    pub max: Figure,
}

/// A label in a phase of the load: of what was intended in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct InPhase {
    /// Index into the summary's phases.
    pub phase: u32,
    /// Requests or iterations that ended.
    pub count: u64,
    /// Those that failed or had no complete answer.
    pub errors: u64,
    /// 50th percentile of the label's time; none of nothing.
    pub p50: Option<Figure>,
    /// 95th percentile.
    pub p95: Option<Figure>,
    /// 99th percentile.
    pub p99: Option<Figure>,
}

/// All labels with a history.
pub fn build(run: &Run, summary: &Summary) -> Vec<LabelSeries> {
    let labels = run.labels.iter().filter(|label| label.id != label::ALL);
    labels
        .filter_map(|label| course(run, label, time_of(label, summary)))
        .collect()
}

/// The time that a label's row shows first. What nobody answers takes none.
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

fn course(run: &Run, label: &Label, time: Option<TimeKind>) -> Option<LabelSeries> {
    let whole = run.totals.label(label.id);
    let mut course = LabelSeries {
        id: label.id,
        time: time.map(TimeKind::name),
        times: PARTS
            .into_iter()
            .filter_map(|kind| spread(&whole, kind))
            .collect(),
        phases: phases(run, label, time),
        ..LabelSeries::default()
    };
    for (_, point) in run.totals.history.labels.get(&label.id)?.points() {
        course.from_ns.push(point.span.0);
        course.to_ns.push(point.span.1);
        let counters = &point.part.slot.counters;
        course.count.push(counters.ended());
        course.errors.push(counters.errors());
        let sampled = time.map(|kind| Sampled::from_totals(&point.part, kind));
        let known = |q| {
            let figure: Figure = sampled.as_ref()?.quantile(q)?;
            figure.ns.or(figure.at_least_ns)
        };
        course.p50.push(known(0.5));
        course.p95.push(known(0.95));
        course.p99.push(known(0.99));
    }
    let mut rows = BTreeMap::new();
    if let Some(kind) = time {
        GRID.count(&whole, kind, &mut rows);
    }
    let cells = rows.into_iter();
    course.density = cells
        .map(|(row, n)| (GRID.bound_ns(row), GRID.bound_ns(row + 1), n))
        .collect();
    Some(course)
}

/// None where nothing was measured: a connection that is kept costs no handshake.
fn spread(part: &LabelTotals, kind: TimeKind) -> Option<Spread> {
    let was_measured = measure::OutcomeClass::ALL
        .iter()
        .any(|outcome| part.slot.histogram(kind, *outcome).is_some());
    let sampled = was_measured.then(|| Sampled::from_totals(part, kind))?;
    Some(Spread {
        time: kind.name(),
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
