//! Comparison of the first, last and best quarters of the load.

use measure::{TimeKind, slot::Counters};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    figures::{Figure, Sampled, per_second, share_of},
    moments::Moment,
};
use record::{LabelTotals, Run};

const FEWEST: usize = 8;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trend {
    pub first: TrendSpan,
    pub last: TrendSpan,
    pub best: TrendSpan,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendSpan {
    pub from_ns: u64,
    pub to_ns: u64,
    pub due_per_second: f64,
    pub issued_per_second: f64,
    pub ok_per_second: f64,
    pub error_share: Option<f64>,
    pub in_flight: Option<f64>,
    pub p95: Option<Figure>,
}

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
