//! Detects the steady state in the longest period of constant load, from the median and p99 of the
//! headline time and from errors. Ignores changes below 10 % (median), 25 % (p99) or two percentage
//! points (errors).

mod backlog;
mod points;
pub mod simulated;
mod stretch;
mod text;

use measure::{TimeKind, TimeSpan, label};
use record::{IntervalRow, LabelTotals, Model, Run};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use statistics::{Direction, settled};

use crate::{
    figures::{Sampled, Stats},
    headline_time::headline_time,
    moments::{self, Moment},
};
pub use backlog::Flow;
pub use backlog::of_phase;
use points::{FigureSeries, SegmentPoints};
use stretch::Segment;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Steady {
    pub behaviour: Behaviour,
    pub sentence: String,
    /// Index in `phases` of the examined phase. `None` if no phase was examined.
    pub phase: Option<usize>,
    pub from_ns: u64,
    pub to_ns: u64,
    /// Start of the steady state. `None` if there was none or its start is unknown.
    pub settled_ns: Option<u64>,
    /// Headline time of the requests or iterations that ended after `settled_ns`.
    pub stats: Option<Stats>,
    /// Figure that changed: `p50` or `p99` of the headline time, `errors` or `in_flight`. `None` if
    /// no figure changed.
    pub figure: Option<String>,
    pub at_ns: Option<u64>,
    /// Time before the change, in nanoseconds, if the figure is a time.
    pub before_ns: Option<u64>,
    pub after_ns: Option<u64>,
    /// Share before the change, if the figure is a share.
    pub before_share: Option<f64>,
    pub after_share: Option<f64>,
    /// Change per minute of a drifting figure. Relative if the figure is a time.
    pub change_per_minute: Option<f64>,
    /// Requests that arrived per second. Set only for an overload.
    pub arrived_per_second: Option<f64>,
    /// Requests answered per second, successful or failed. Set only for an overload.
    pub answered_per_second: Option<f64>,
    /// Growth of the backlog in requests per second. Set only for an overload.
    pub backlog_per_second: Option<f64>,
}

impl Steady {
    #[must_use]
    pub fn is_news(&self) -> bool {
        match self.behaviour {
            Behaviour::Unknown => false,
            Behaviour::Steady => self.settled_ns.is_some_and(|ns| ns > self.from_ns),
            _ => true,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Behaviour {
    Steady,
    WarmingUp,
    Drifting,
    Shifting,
    /// Requests arrived faster than they were answered, so there is no steady state.
    Overload,
    /// The load was never constant for long enough, or too few requests ended.
    Unknown,
}

#[must_use]
pub fn detect(run: &Run, moments: &[Moment]) -> Option<Steady> {
    let issued = |moment: &Moment| moment.all.slot.counters.issued;
    if run.manifest.load.model == Model::Once || moments.iter().all(|moment| issued(moment) == 0) {
        return None;
    }
    let kind = headline_time(&run.totals.label(label::ALL));
    let found = match stretch::find(run, moments) {
        Ok(stretch) => look(run, moments, stretch.until_now(run), kind),
        Err(reason) => Finding {
            stretch: None,
            what: SteadyState::Unknown(reason),
        },
    };
    Some(text::describe(run, found, kind))
}

/// Checks whether a run with this load can have a steady state. On failure, returns the reason.
pub(crate) fn possible(run: &Run) -> Result<(), String> {
    if run.manifest.load.by.is_some() {
        return Ok(());
    }
    stretch::find(run, &[]).map(drop)
}

pub(crate) fn window(run: &Run) -> Result<TimeSpan, String> {
    window_of(detect(run, &moments::collect(run)).as_ref())
}

pub(crate) fn window_of(steady: Option<&Steady>) -> Result<TimeSpan, String> {
    let steady = steady.ok_or("nothing was measured")?;
    match steady.settled_ns {
        Some(from_ns) => Ok(TimeSpan::new(from_ns, steady.to_ns)),
        None => {
            let sentence = steady.sentence.trim_end_matches('.');
            let mut chars = sentence.chars();
            let first = chars.next().map(|c| c.to_ascii_lowercase());
            Err(first.into_iter().chain(chars).collect())
        }
    }
}

struct Finding {
    stretch: Option<Segment>,
    what: SteadyState,
}

enum SteadyState {
    Steady {
        from_ns: u64,
        stats: Option<Box<Stats>>,
    },
    Drifting {
        figure: &'static str,
        before: f64,
        after: f64,
        per_minute: f64,
    },
    Shifting {
        figure: &'static str,
        at_ns: u64,
        before: f64,
        after: f64,
    },
    Overload {
        arrived: f64,
        completed: f64,
        grows: f64,
    },
    Unknown(String),
}

fn look(run: &Run, moments: &[Moment], stretch: Segment, kind: TimeKind) -> Finding {
    let within = stretch.points(moments);
    let what = backlog::overload(run, moments, &within, kind).unwrap_or_else(|| {
        match points::collect(&within, stretch.length_ns(), kind) {
            Ok(points) => goes(&points, &within, stretch, kind),
            Err(reason) => SteadyState::Unknown(reason),
        }
    });
    Finding {
        stretch: Some(stretch),
        what,
    }
}

fn goes(
    points: &SegmentPoints,
    within: &[&Moment],
    stretch: Segment,
    kind: TimeKind,
) -> SteadyState {
    let mut cut = 0;
    for line in &points.lines {
        let Some(found) = settled(&line.values, line.matters) else {
            continue;
        };
        match found.goes {
            Direction::Steadily => cut = cut.max(found.cut),
            Direction::Drifting(by) => {
                return drifting(points, line, &line.values[found.cut..], by);
            }
            Direction::Shifting { at, by } => {
                let before = level(&line.values[found.cut..at]);
                return SteadyState::Shifting {
                    figure: line.name,
                    at_ns: points.spans[at].from_ns,
                    before: line.figure(before),
                    after: line.figure(before + by),
                };
            }
        }
    }
    if let Some(rise) = rise(points, within, cut) {
        return rise;
    }
    let from_ns = match cut {
        0 => stretch.from_ns,
        cut => points.spans[cut].from_ns,
    };
    let mut part = LabelTotals::default();
    let settled = within
        .iter()
        .filter(|moment| moment.span.from_ns >= from_ns);
    settled.for_each(|moment| part.slot.add(&moment.part(kind).slot));
    SteadyState::Steady {
        from_ns,
        stats: Sampled::from_totals(&part, kind).stats().map(Box::new),
    }
}

/// Handles a beginning that was faster than the rest while the backlog grew. This is not a warm-up.
fn rise(points: &SegmentPoints, within: &[&Moment], cut: usize) -> Option<SteadyState> {
    if cut == 0 {
        return None;
    }
    let at_ns = points.spans[cut].from_ns;
    let (before, after): (Vec<&Moment>, Vec<&Moment>) = within
        .iter()
        .copied()
        .partition(|moment| moment.span.from_ns < at_ns);
    if !piles_up(in_flight(&before)?, in_flight(&after)?) {
        return None;
    }
    let rises = |line: &&FigureSeries| {
        level(&line.values[cut..]) - level(&line.values[..cut]) > line.matters
    };
    let line = points.lines.iter().find(rises)?;
    Some(SteadyState::Shifting {
        figure: line.name,
        at_ns,
        before: line.figure(level(&line.values[..cut])),
        after: line.figure(level(&line.values[cut..])),
    })
}

fn in_flight(moments: &[&Moment]) -> Option<f64> {
    let sum =
        |of: fn(&IntervalRow) -> u64| moments.iter().map(|moment| moment.sum(of)).sum::<u64>();
    let samples = sum(|row| row.run.in_flight.samples);
    let total = sum(|row| row.run.in_flight.sum);
    (samples > 0).then(|| total as f64 / samples as f64)
}

/// Returns whether the number of requests in flight doubles under constant load and exceeds a small
/// minimum.
pub(crate) fn piles_up(before: f64, after: f64) -> bool {
    const FACTOR: f64 = 2.0;
    const FEW: f64 = 10.0;
    after > before.max(1.0) * FACTOR && after - before > FEW
}

fn drifting(points: &SegmentPoints, line: &FigureSeries, rest: &[f64], by: f64) -> SteadyState {
    let middle = level(rest);
    let first = points.spans.len() - rest.len();
    let (from, to) = (
        points.spans[first].from_ns,
        points.spans[points.spans.len() - 1].to_ns,
    );
    let minutes = (to - from) as f64 / 60e9;
    let (before, after) = (middle - by / 2.0, middle + by / 2.0);
    SteadyState::Drifting {
        figure: line.name,
        before: line.figure(before),
        after: line.figure(after),
        per_minute: if line.is_share() {
            by / minutes
        } else {
            (by / minutes).exp() - 1.0
        },
    }
}

fn level(values: &[f64]) -> f64 {
    statistics::median(values).unwrap_or_default()
}

impl FigureSeries {
    fn is_share(&self) -> bool {
        self.name == "errors"
    }

    fn figure(&self, value: f64) -> f64 {
        if self.is_share() {
            value.clamp(0.0, 1.0)
        } else {
            value.exp()
        }
    }
}

#[cfg(test)]
mod tests;
