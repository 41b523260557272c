//! Criteria, which must hold at the end of a run, and stop rules, which end it early.
//!
//! A criterion is `metric [of "LABEL"] [in "PHASE" | in steady] < value`. A stop rule is
//! `... > 2s for 10s: stop [fail | pass | inconclusive]`. This module only parses them.

mod parse;

use serde::{Deserialize, Serialize};

use crate::{At, units::Quantity};
pub(crate) use parse::Scan;
pub use parse::{GRAMMAR, parse_criterion, parse_stop, parse_subject};

/// A condition on one metric of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// The user's text with white space folded.
    pub text: String,
    /// Position, if in a file.
    #[serde(skip)]
    pub at: Option<At>,
    /// The metric.
    pub metric: Metric,
    /// Only labels that match this pattern count; `*` matches any text.
    pub of: Option<String>,
    /// Only the phase with this name counts.
    pub phase: Option<String>,
    /// Only samples that ended in the steady state count.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steady: bool,
    /// The comparison.
    pub op: Op,
    /// The bound, in a unit that fits the metric.
    pub value: Quantity,
}

/// A condition that ends the run after it has held for a while.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StopRule {
    /// The condition.
    pub when: Criterion,
    /// How long the condition must hold. Also the window of its percentiles.
    pub for_ns: u64,
    /// How the run ends.
    pub ends: Ending,
}

/// How a stop rule ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// As failed; the default.
    Fail,
    /// As passed. A search uses it when it has its result.
    Pass,
    /// Without a verdict.
    Inconclusive,
}

/// A metric of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A statistic of a time.
    Time(SpanFilter, Stat),
    /// Share (or number) of failed and unanswered requests.
    Errors,
    /// Requests per second.
    Rate,
    /// Requests in flight.
    InFlight,
    /// Share (or number) of planned arrivals that were never started.
    Unsent,
    /// 99th percentile of lateness.
    LatenessP99,
    /// Share (or number) of MQTT messages or deliveries with this result.
    Messages(MessageFate),
    /// Mean or maximum of a server metric, by source and name.
    Server(String, Stat),
}

/// Results of MQTT messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageFate {
    /// Deliveries that are missing.
    Lost,
    /// Deliveries received more than once.
    Duplicates,
    /// Messages sent without confirmation that the server read them.
    Unknown,
}

/// The time that a statistic is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanFilter {
    /// Intended start to last byte read.
    Response,
    /// First byte written to last byte read.
    Service,
    /// Intended start to the last response of the iteration.
    Iteration,
    /// Due time of a group's first step to the end of its last.
    Transaction,
}

impl SpanFilter {
    /// Whether the time covers several requests instead of one.
    #[must_use]
    pub fn spans_requests(self) -> bool {
        matches!(self, SpanFilter::Iteration | SpanFilter::Transaction)
    }
}

impl Metric {
    /// The time, if it covers several requests.
    #[must_use]
    pub fn over_requests(&self) -> Option<SpanFilter> {
        match self {
            Metric::Time(span, _) if span.spans_requests() => Some(*span),
            _ => None,
        }
    }
}

/// A statistic of a distribution.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stat {
    /// A quantile, 0.99 for p99.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The maximum.
    Max,
}

/// A comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Op {
    /// `<`
    #[serde(rename = "<")]
    Less,
    /// `<=`
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`
    #[serde(rename = ">")]
    Greater,
    /// `>=`
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

impl Op {
    /// Whether the comparison holds.
    #[must_use]
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Op::Less => measured < bound,
            Op::LessOrEqual => measured <= bound,
            Op::Greater => measured > bound,
            Op::GreaterOrEqual => measured >= bound,
        }
    }

    /// The operator as text.
    #[must_use]
    pub fn symbol(self) -> &'static str {
        match self {
            Op::Less => "<",
            Op::LessOrEqual => "<=",
            Op::Greater => ">",
            Op::GreaterOrEqual => ">=",
        }
    }
}

/// Whether a name matches a pattern. `*` matches any text.
#[must_use]
pub fn fits(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = name.strip_prefix(parts.next().unwrap_or("")) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.find(part) {
            Some(found) => rest = &rest[found + part.len()..],
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn star_matches_any_text() {
        assert!(fits("POST /a", "POST /a"));
        assert!(!fits("POST /a", "POST /ab"));
        assert!(fits("POST *", "POST /ab"));
        assert!(fits("*Patient*", "GET /fhir/Patient/x"));
        assert!(fits("*", ""));
        assert!(fits("a*b*c", "a--b--b--c"));
        assert!(!fits("a*b*c", "a--c"));
        assert!(!fits("ab*ba", "aba"));
    }
}
