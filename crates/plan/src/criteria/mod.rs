//! Criteria and stop rules: what must hold at the end, and what ends the run while it lasts.
//!
//! `metric [of "LABEL"] [in "PHASE"|in steady] < value` and `… > 2s for 10s: stop [fail|pass|inconclusive]`. This module reads the
//! grammar; `report` judges.

mod parse;

use serde::{Deserialize, Serialize};

use crate::{At, units::Quantity};
pub(crate) use parse::Scan;
pub use parse::{GRAMMAR, parse_criterion, parse_stop, parse_subject};

/// A condition on one figure of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// As the user wrote it, white space folded.
    pub text: String,
    /// Where, if in a file.
    #[serde(skip)]
    pub at: Option<At>,
    /// The figure.
    pub metric: Metric,
    /// Only labels of this name; `*` stands for any text.
    pub of: Option<String>,
    /// Only the phase of this name.
    pub phase: Option<String>,
    /// Only what ended while the run was in a steady state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steady: bool,
    /// The comparison.
    pub op: Op,
    /// The bound, its unit matched to the figure.
    pub value: Quantity,
}

/// A condition that ends the run when it has held for a while.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StopRule {
    /// The condition that fires it.
    pub when: Criterion,
    /// How long it must hold, which is also the window of its percentiles.
    pub for_ns: u64,
    /// How the run then ends.
    pub ends: Ending,
}

/// How a stop rule ends the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// As a failure; the default.
    Fail,
    /// As a success (the search found what it looked for).
    Pass,
    /// Without a judgement.
    Inconclusive,
}

/// A figure of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A statistic of a time.
    Time(Span, Stat),
    /// Share (or number) of requests that failed or had no answer.
    Errors,
    /// Requests per second.
    Rate,
    /// Requests under way.
    InFlight,
    /// Share (or number) of planned arrivals that were never started.
    Unsent,
    /// 99th percentile of lateness.
    LatenessP99,
    /// Share (or number) of MQTT messages or deliveries of one fate.
    Messages(MessageFate),
    /// A metric that was measured beside the load, by its source and name: its mean, or its largest sample.
    Server(String, Stat),
}

/// What became of MQTT messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageFate {
    /// Deliveries that should have come and did not.
    Lost,
    /// Deliveries of what had been delivered before.
    Duplicates,
    /// Messages that were sent, and of which it is unknown whether the server has read them.
    Unknown,
}

/// Which time a statistic is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Span {
    /// Intended start to last byte read.
    Response,
    /// First byte written to last byte read.
    Service,
    /// Intended arrival to the last answer of the iteration.
    Iteration,
    /// From when the first step of a group was due to the end of its last.
    Transaction,
}

impl Span {
    /// Whether it spans several requests: what has such a time is none of them.
    #[must_use]
    pub fn spans_requests(self) -> bool {
        matches!(self, Span::Iteration | Span::Transaction)
    }
}

impl Metric {
    /// The span, where it is that of a time over several requests.
    #[must_use]
    pub fn over_requests(&self) -> Option<Span> {
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

    /// As written.
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

/// Whether a name fits a pattern in which `*` stands for any text.
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
    fn patterns() {
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
