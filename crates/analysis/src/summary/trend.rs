//! First and last quarter of the load, and the best moment.

use measure::{TimeKind, slot::Counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    figures::{Figure, Sampled, per_second, share_of},
    moments::Moment,
};
use record::{LabelTotals, Run};

const FEWEST: usize = 8;

/// How a run developed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    /// The first quarter of the load.
    pub first: TrendSpan,
    /// The last quarter of the load.
    pub last: TrendSpan,
    /// The quarter of the load with the most requests answered as expected.
    pub best: TrendSpan,
}

/// A part of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendSpan {
    /// Start, in nanoseconds from the start of the test.
    pub from_ns: u64,
    /// End.
    pub to_ns: u64,
    /// Arrivals due, per second; 0 in a closed loop.
    pub due_per_second: f64,
    /// Requests issued, per second.
    pub issued_per_second: f64,
    /// Requests answered as expected, per second.
    pub ok_per_second: f64,
    /// Share of the requests that failed or had no complete response. `None` if nothing ended.
    pub error_share: Option<f64>,
    /// Mean of the samples of requests in flight. `None` without samples.
    pub in_flight: Option<f64>,
    /// 95th percentile of the run's headline time. `None` if nothing ended.
    pub p95: Option<Figure>,
}

/// Compares the parts of the load. `None` if the run was too short.
pub(super) fn find(run: &Run, moments: &[Moment], headline: TimeKind) -> Option<Trend> {
    let load_end_ns = run.manifest.load.end_ns;
    let loaded: Vec<&Moment> = moments
        .iter()
        .filter(|moment| moment.span.to_ns <= load_end_ns)
        .collect();
    if loaded.len() < FEWEST {
        return None;
    }
    let quarter = loaded.len() / 4;
    let last = &loaded[loaded.len() - quarter..];
    let ok = |stretch: &&[&Moment]| {
        let ok: u64 = stretch.iter().map(|m| m.all.slot.counters.ok).sum();
        let length: u64 = stretch.iter().map(|m| m.length_ns()).sum();
        per_second(ok, length)
    };
    let best = loaded
        .windows(quarter)
        .max_by(|a, b| ok(a).total_cmp(&ok(b)))?;
    Some(Trend {
        first: stretch(&loaded[..quarter], headline),
        last: stretch(last, headline),
        best: stretch(best, headline),
    })
}

fn stretch(moments: &[&Moment], headline: TimeKind) -> TrendSpan {
    let mut all = Counters::default();
    let mut timed = LabelTotals::default();
    let (mut due, mut length_ns) = (0, 0);
    let (mut samples, mut level) = (0, 0);
    for moment in moments {
        all.add(&moment.all.slot.counters);
        timed.slot.add(&moment.part(headline).slot);
        due += moment.sum(|row| row.run.due);
        length_ns += moment.length_ns();
        samples += moment.sum(|row| row.run.in_flight.samples);
        level += moment.sum(|row| row.run.in_flight.sum);
    }
    let errors = all.errors();
    TrendSpan {
        from_ns: moments.first().map_or(0, |moment| moment.span.from_ns),
        to_ns: moments.last().map_or(0, |moment| moment.span.to_ns),
        due_per_second: per_second(due, length_ns),
        issued_per_second: per_second(all.issued, length_ns),
        ok_per_second: per_second(all.ok, length_ns),
        error_share: share_of(errors, all.ended()),
        in_flight: (samples > 0).then(|| level as f64 / samples as f64),
        p95: Sampled::from_totals(&timed, headline)
            .stats()
            .map(|stats| stats.p95),
    }
}
