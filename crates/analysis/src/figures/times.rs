//! Statistics of a time over answered and unanswered requests. A percentile that falls on a
//! timed-out request has the form `at least t`.

use measure::{
    NoAnswer, TimeKind,
    confidence::{self, Interval, Windows},
    histogram,
    slot::Counters,
    summary::KindTimes,
};
use plan::mutant::{self, Mutant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Thin;
use record::{LabelTotals, units};

/// Minimum number of samples beyond a percentile. With fewer samples, chance may determine the
/// percentile, and criteria do not judge it.
pub const ENOUGH_BEYOND: u64 = 10;

/// A statistic of a distribution in which some values are unknown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<u64>,
    /// Lower bound in nanoseconds, if the rank falls on an unanswered request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    /// Whether the rank falls on an unanswered request of unknown duration.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_answer: bool,
    pub beyond: u64,
    /// Whether fewer than ten samples rank higher, so that chance may determine the figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub too_few: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin: Option<Thin>,
    /// Whether the original tool of an imported run did not report the figure.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unreported: bool,
}

impl Figure {
    #[must_use]
    pub fn from_ns(ns: u64) -> Figure {
        Figure {
            ns: Some(ns),
            ..Figure::default()
        }
    }

    #[must_use]
    pub fn unreported() -> Figure {
        Figure {
            unreported: true,
            ..Figure::default()
        }
    }

    /// Formats the value without its interval, for example `412 ms`, `≥ 10.0 s`, or `312 ms?` if
    /// chance may determine it.
    #[must_use]
    pub fn value(&self) -> String {
        match self.thin {
            Some(thin) => thin.value(),
            None => self.to_string(),
        }
    }
}

impl std::fmt::Display for Figure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some(thin) = self.thin {
            return thin.fmt(f);
        }
        match (self.ns, self.at_least_ns) {
            _ if self.too_few || self.unreported => f.write_str("–"),
            (Some(ns), _) => f.write_str(&units::time(ns)),
            (None, Some(ns)) => write!(f, "≥ {}", units::time(ns)),
            (None, None) => f.write_str("no answer"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stats {
    pub count: u64,
    pub unanswered: u64,
    pub mean_ns: Option<f64>,
    pub min_ns: Option<u64>,
    pub p50: Figure,
    pub p90: Figure,
    pub p95: Figure,
    pub p99: Figure,
    pub p999: Figure,
    pub max: Figure,
}

pub struct Sampled {
    kind: TimeKind,
    times: KindTimes,
    /// Unanswered requests without this time, because no byte was written.
    untimed: u64,
    all_too_long: bool,
}

impl Sampled {
    pub fn from_totals(part: &LabelTotals, kind: TimeKind) -> Sampled {
        let mut times = KindTimes::from_slot(&part.slot, kind);
        if mutant::is(Mutant::ErrorsLeftOut) {
            times.unanswered = measure::Histogram::default();
        }
        let counters = &part.slot.counters;
        let per_request = matches!(
            kind,
            TimeKind::Service | TimeKind::Response | TimeKind::Iteration | TimeKind::Unpaused
        );
        let is_of_streams = matches!(
            kind,
            TimeKind::FirstEvent
                | TimeKind::FirstEventService
                | TimeKind::Ttft
                | TimeKind::TtftService
                | TimeKind::Gap
                | TimeKind::PerToken
        );
        let untimed = if per_request && !mutant::is(Mutant::ErrorsLeftOut) {
            counters
                .without_answer()
                .saturating_sub(times.unanswered.count())
        } else {
            0
        };
        Sampled {
            kind,
            times,
            untimed,
            // Failed requests may also have no stream, and their times have no lower bound.
            all_too_long: untimed == 0 && !is_of_streams && all_too_long(counters),
        }
    }

    pub fn into_times(self) -> KindTimes {
        let mut times = self.times;
        times.unanswered.record_n(0, self.untimed);
        times
    }

    #[must_use]
    pub fn kind(&self) -> TimeKind {
        self.kind
    }

    /// Returns the 95 % confidence interval. `None` if there are no samples, or if the quantile
    /// falls on an unanswered request.
    pub fn interval(&self, windows: &Windows, q: f64) -> Option<Interval> {
        confidence::interval(&self.times.answered, self.unanswered(), windows, q)
    }

    #[must_use]
    pub fn count(&self) -> u64 {
        self.times.count() + self.untimed
    }

    #[must_use]
    pub fn unanswered(&self) -> u64 {
        self.times.unanswered.count() + self.untimed
    }

    /// Returns a quantile over all samples, with unanswered requests ranked last. `None` if there
    /// are no samples.
    pub fn quantile(&self, q: f64) -> Option<Figure> {
        let rank = histogram::rank_of(q, self.count())?;
        let beyond = self.count() - rank;
        Some(match self.times.answered.at_rank(rank) {
            Some(ns) => Figure {
                ns: Some(ns),
                beyond,
                ..Figure::default()
            },
            None if self.all_too_long => Figure {
                at_least_ns: Some(self.times.least_at(rank)),
                beyond,
                ..Figure::default()
            },
            None => Figure {
                no_answer: true,
                beyond,
                ..Figure::default()
            },
        })
    }

    /// Returns a quantile, or an estimate if too few samples are beyond it. Assumes independent
    /// samples.
    pub fn given_quantile(&self, q: f64) -> Option<Figure> {
        self.given(q, &Windows::default())
    }

    fn given(&self, q: f64, windows: &Windows) -> Option<Figure> {
        let figure = self.quantile(q)?;
        if figure.beyond >= ENOUGH_BEYOND || q >= 1.0 {
            return Some(figure);
        }
        Some(Figure {
            beyond: figure.beyond,
            too_few: true,
            thin: Some(Thin::new(self, figure, q, windows)),
            ..Figure::default()
        })
    }

    pub fn above(&self, bound_ns: u64) -> u64 {
        self.times.answered.above(bound_ns) + self.unanswered()
    }

    pub fn mean_ns(&self) -> Option<f64> {
        self.times.answered.mean()
    }

    pub fn raw_stats(&self) -> Option<Stats> {
        self.figures(|q| self.quantile(q))
    }

    pub fn stats(&self) -> Option<Stats> {
        self.stats_in(&Windows::default())
    }

    pub fn stats_in(&self, windows: &Windows) -> Option<Stats> {
        self.figures(|q| self.given(q, windows))
    }

    fn figures(&self, given: impl Fn(f64) -> Option<Figure>) -> Option<Stats> {
        Some(Stats {
            count: self.count(),
            unanswered: self.unanswered(),
            mean_ns: self.mean_ns(),
            min_ns: self.times.answered.min(),
            p50: given(0.5)?,
            p90: given(0.9)?,
            p95: given(0.95)?,
            p99: given(0.99)?,
            p999: given(0.999)?,
            max: self.quantile(1.0)?,
        })
    }
}

fn all_too_long(counters: &Counters) -> bool {
    let too_long = counters.unanswered[NoAnswer::Timeout as usize]
        + counters.unanswered[NoAnswer::Unfinished as usize];
    too_long == counters.without_answer()
}

#[cfg(test)]
mod tests {
    use measure::OutcomeClass;

    use super::*;

    #[test]
    fn what_is_known_of_the_unanswered_is_the_least_that_any_of_them_can_have_taken() {
        let mut part = LabelTotals::default();
        for ns in [10, 20, 5000] {
            part.slot.record(TimeKind::Service, OutcomeClass::Ok, ns);
        }
        for ns in [1, 300] {
            part.slot
                .record(TimeKind::Service, OutcomeClass::Unanswered, ns);
        }
        part.slot.counters.ok = 3;
        part.slot.counters.unanswered[NoAnswer::Unfinished as usize] = 2;
        let sampled = Sampled::from_totals(&part, TimeKind::Service);
        assert_eq!(sampled.quantile(0.6).unwrap().ns, Some(5000));
        let largest = sampled.quantile(1.0).unwrap();
        assert_eq!((largest.ns, largest.at_least_ns), (None, Some(5000)));
        // Of the five samples, two are at least 300 and one is 5000.
        assert_eq!(sampled.quantile(0.8).unwrap().at_least_ns, Some(300));
    }
}
