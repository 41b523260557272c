//! Percentiles with fewer than ten samples beyond them. Reports show them as estimates with bounds,
//! and criteria do not use them.

use measure::confidence::{Interval, Windows};
use record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Figure, Sampled};

/// Maximum probability that all samples are below the percentile. Above this probability, no value
/// is reported.
const CANNOT_HOLD: f64 = 0.5;

/// A percentile estimated from few samples, with its 95 % interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thin {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ns: Option<u64>,
    /// Lower bound of the percentile. Set only if there are too few samples, or if the rank falls
    /// on a request that timed out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub largest_ns: Option<u64>,
}

impl Thin {
    pub(super) fn new(sampled: &Sampled, figure: Figure, q: f64, windows: &Windows) -> Thin {
        let interval = sampled.interval(windows, q);
        let low_ns = interval.filter(|i| i.has_low).map(|i| i.low_ns);
        let largest = sampled.quantile(1.0);
        let holds = figure.beyond > 0 || q.powf(sampled.count() as f64) <= CANNOT_HOLD;
        let Some(ns) = figure.ns.filter(|_| holds) else {
            return Thin {
                at_least_ns: figure.at_least_ns.or(figure.ns),
                low_ns,
                ..Thin::default()
            };
        };
        let high_ns = interval.and_then(|Interval { high_ns, .. }| high_ns);
        let largest_ns = largest.and_then(|largest| largest.ns.or(largest.at_least_ns));
        Thin {
            ns: Some(ns),
            at_least_ns: None,
            low_ns,
            high_ns,
            largest_ns: largest_ns.filter(|_| high_ns.is_none()),
        }
    }

    /// Formats the estimate, for example `312 ms?`, `≥ 401 ms?` or `no answer?`.
    #[must_use]
    pub fn value(&self) -> String {
        match (self.ns, self.at_least_ns) {
            (Some(ns), _) => format!("{}?", units::time(ns)),
            (None, Some(ns)) => format!("≥ {}?", units::time(ns)),
            (None, None) => "no answer?".to_owned(),
        }
    }

    /// Formats the interval in the unit of the estimate, without the unit, for example `280–401`,
    /// `280–≥ 401` or `from 280`. `None` if it is unknown.
    #[must_use]
    pub fn interval(&self) -> Option<String> {
        let unit = self.ns.or(self.at_least_ns).and_then(units::TimeUnit::of);
        let bound = |ns| unit.map_or_else(|| units::time(ns), |unit| unit.digits(ns));
        if self.ns.is_none() {
            return self.low_ns.map(|low| format!("from {}", bound(low)));
        }
        let high = match (self.high_ns, self.largest_ns) {
            (Some(high), _) => Some(bound(high)),
            (None, largest) => largest.map(|largest| format!("≥ {}", bound(largest))),
        };
        let known = |bound: Option<String>| bound.unwrap_or_else(|| "?".to_owned());
        (self.low_ns.is_some() || high.is_some())
            .then(|| format!("{}–{}", known(self.low_ns.map(bound)), known(high)))
    }
}

impl std::fmt::Display for Thin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.value())?;
        match self.interval() {
            Some(interval) => write!(f, " ({interval})"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use measure::{OutcomeClass, TimeKind};
    use proptest::prelude::*;
    use record::LabelTotals;

    use super::*;

    const MS: u64 = 1_000_000;

    fn sampled(answered: impl IntoIterator<Item = u64>, timeouts: u64) -> Sampled {
        let mut part = LabelTotals::default();
        for ns in answered {
            part.slot.record(TimeKind::Service, OutcomeClass::Ok, ns);
            part.slot.counters.ok += 1;
        }
        for _ in 0..timeouts {
            part.slot
                .record(TimeKind::Service, OutcomeClass::Unanswered, 500 * MS);
            part.slot.counters.unanswered[measure::NoAnswer::Timeout as usize] += 1;
        }
        Sampled::from_totals(&part, TimeKind::Service)
    }

    fn text(sampled: &Sampled, q: f64) -> String {
        sampled.given_quantile(q).unwrap().to_string()
    }

    #[test]
    fn sample_too_small_for_percentile_gives_lower_bound() {
        let three = sampled([100, 200, 300].map(|ms| ms * MS), 0);
        assert_eq!(text(&three, 0.99), "≥ 300 ms? (from 200)");
        let nine = sampled((1..=9).map(|i| i * 100 * MS), 0);
        assert_eq!(text(&nine, 0.9), "900 ms? (600–≥ 900)");
        assert_eq!(text(&sampled([MS], 0), 0.5), "1.00 ms? (?–≥ 1.00)");
    }

    #[test]
    fn a_percentile_of_few_has_its_interval() {
        let some = sampled((1..=80).map(|i| i * 10 * MS), 0);
        let p90 = some.given_quantile(0.9).unwrap();
        assert_eq!((p90.beyond, p90.too_few, p90.ns), (8, true, None));
        assert_eq!(p90.to_string(), "720 ms? (660–780)");
        assert_eq!(text(&some, 0.99), "800 ms? (770–≥ 800)");
        let enough = sampled((1..=200).map(|i| i * MS), 0);
        assert_eq!(text(&enough, 0.9), "180 ms");
    }

    #[test]
    fn bounds_are_in_the_unit_of_the_value() {
        let wide = sampled((1..=40).map(|i| i * i * i * 40_000), 0);
        assert_eq!(text(&wide, 0.9), "1.87 s? (1.31–2.56)");
        let wide = sampled((1..=30).map(|i| i * i * i * 40_000), 0);
        assert_eq!(text(&wide, 0.9), "787 ms? (487–≥ 1,080)");
    }

    #[test]
    fn timed_out_requests_give_lower_bound() {
        let given_up = sampled((1..=20).map(|i| i * MS), 2);
        assert_eq!(text(&given_up, 0.99), "≥ 500 ms?");
        assert_eq!(text(&given_up, 0.9), "20.0 ms? (17.0–≥ 500)");
    }

    proptest! {
        #[test]
        fn bounds_enclose_the_value(times in proptest::collection::vec(1..10_000_000_000u64, 1..300), q in 0.5..0.999f64) {
            let sampled = sampled(times, 0);
            let figure = sampled.given_quantile(q).unwrap();
            if let Some(thin) = figure.thin {
                prop_assert!(figure.too_few && figure.ns.is_none());
                let value = thin.ns.or(thin.at_least_ns).unwrap();
                prop_assert!(thin.low_ns.is_none_or(|low| low <= value));
                prop_assert!(thin.high_ns.is_none_or(|high| high >= value));
                prop_assert!(thin.largest_ns.is_none_or(|largest| largest >= value));
                prop_assert!(thin.high_ns.is_none() || thin.largest_ns.is_none());
                prop_assert!(figure.to_string().contains('?'));
            } else {
                prop_assert!(!figure.too_few && !figure.to_string().contains('?'));
            }
        }
    }
}
