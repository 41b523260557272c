//! Criteria, which must hold at the end of a run, and stop rules, which end a run early.
//!
//! A criterion has the form `metric [of "LABEL"] [in "PHASE" | in steady] < value`, a stop rule
//! `... > 2s for 10s: stop [fail | pass | inconclusive]`. This module parses both but does not
//! evaluate them.

mod goodput;
mod metric;
mod parse;
mod scan;

use serde::{Deserialize, Serialize};

use crate::{
    At,
    units::{MILLISECOND, Quantity, SECOND},
};
pub use parse::{GRAMMAR, parse_criterion, parse_stop, parse_subject};
pub(crate) use scan::Scan;

/// A condition on one metric of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Criterion {
    /// The condition as the user wrote it, with runs of white space replaced by one space.
    pub text: String,
    /// Position in the file. `None` if the text is not from a file.
    #[serde(skip)]
    pub at: Option<At>,
    /// Metric to compare.
    pub metric: Metric,
    /// Pattern of the labels to include. `*` matches any text.
    pub of: Option<String>,
    /// Name of the phase to which the condition is restricted.
    pub phase: Option<String>,
    /// Whether the condition is restricted to samples that ended in the steady state.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub steady: bool,
    /// Comparison operator.
    pub op: Op,
    /// Bound, converted to the unit of the metric.
    pub value: Quantity,
}

/// A condition that ends the run after it has been true for some time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StopRule {
    /// The condition.
    pub when: Criterion,
    /// Time for which the condition must be true, in nanoseconds. The condition's percentiles cover
    /// the same period.
    pub for_ns: u64,
    /// Result of the run if the rule ends it.
    pub ends: Ending,
}

/// Result of a run that a stop rule ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Ending {
    /// The run fails. This is the default.
    Fail,
    /// The stop does not change the exit code. A search ends its probes in this way once they are
    /// decided.
    Pass,
    /// The run has no verdict.
    Inconclusive,
}

/// A metric of the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// A statistic of a time kind.
    Time(SpanFilter, Stat),
    /// Number or share of failed and unanswered requests.
    Errors,
    /// Number of requests per second.
    Rate,
    /// Number of received output tokens of streamed responses per second.
    TokenRate,
    /// Share of requests that succeed within all of these bounds. Arrivals that never started count
    /// as requests that missed the bounds.
    Goodput(Vec<GoodputBound>),
    /// Number of requests in flight.
    InFlight,
    /// Number or share of planned arrivals that never started.
    Unsent,
    /// 99th percentile of lateness.
    LatenessP99,
    /// Number or share of MQTT messages or deliveries with this result.
    Messages(MessageFate),
    /// Mean or maximum of a server metric, by source and name.
    Server(String, Stat),
    /// A custom metric of the script. `Some` is a statistic of a histogram, and `None` is the sum
    /// or the rate of any other metric type.
    Custom(String, Option<Stat>),
}

/// Result of an MQTT message or delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageFate {
    /// Deliveries that are missing.
    Lost,
    /// Deliveries that a subscriber received more than once.
    Duplicates,
    /// Messages sent without a confirmation that the server read them.
    Unknown,
}

/// Time kind that a statistic is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SpanFilter {
    /// Intended start to last byte read.
    Response,
    /// First byte written to last byte read.
    Service,
    /// First byte written to first byte read.
    #[serde(rename = "first-byte")]
    FirstByte,
    /// Intended start to the last response of the iteration.
    Iteration,
    /// Due time of the first step of a transaction to the end of its last step.
    Transaction,
    /// Intended start to the first event of a streamed response.
    #[serde(rename = "first-event")]
    FirstEvent,
    /// Intended start to the first event with content: time to first token.
    Ttft,
    /// Time between two events with content of a streamed response.
    Gap,
    /// Mean time per token after the first token of a streamed response.
    #[serde(rename = "per-token")]
    PerToken,
}

impl SpanFilter {
    /// Returns whether the time covers several requests instead of one.
    #[must_use]
    pub fn spans_requests(self) -> bool {
        matches!(self, SpanFilter::Iteration | SpanFilter::Transaction)
    }

    /// Returns whether only streamed responses have this time.
    #[must_use]
    pub fn is_of_streams(self) -> bool {
        matches!(
            self,
            SpanFilter::FirstEvent | SpanFilter::Ttft | SpanFilter::Gap | SpanFilter::PerToken
        )
    }
}

impl GoodputBound {
    /// Returns the bound as written in a criterion, such as `ttft < 1s` or `per-token < 50ms`.
    #[must_use]
    pub fn text(&self) -> String {
        let name = goodput::name(self.span);
        if self.below_ns.is_multiple_of(SECOND) {
            return format!("{name} < {}s", self.below_ns / SECOND);
        }
        let ms = self.below_ns as f64 / MILLISECOND as f64;
        format!("{name} < {ms}ms")
    }
}

/// An upper bound on one time of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct GoodputBound {
    /// Time to compare: `response`, `first-event`, `ttft` or `per-token`.
    pub span: SpanFilter,
    /// Exclusive upper bound, in nanoseconds.
    pub below_ns: u64,
}

impl Metric {
    /// Returns whether only streamed responses have this metric.
    #[must_use]
    pub fn is_of_streams(&self) -> bool {
        match self {
            Metric::Time(span, _) => span.is_of_streams(),
            Metric::TokenRate => true,
            Metric::Goodput(bounds) => bounds.iter().any(|bound| bound.span.is_of_streams()),
            _ => false,
        }
    }

    /// Returns the time kind if it covers several requests.
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
    /// A quantile, such as 0.99 for p99.
    Quantile(f64),
    /// The mean.
    Mean,
    /// The maximum.
    Max,
}

/// A comparison operator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Op {
    /// `<`: the value is below the bound.
    #[serde(rename = "<")]
    Less,
    /// `<=`: the value is at most the bound.
    #[serde(rename = "<=")]
    LessOrEqual,
    /// `>`: the value is above the bound.
    #[serde(rename = ">")]
    Greater,
    /// `>=`: the value is at least the bound.
    #[serde(rename = ">=")]
    GreaterOrEqual,
}

impl Op {
    /// Compares a measured value with a bound.
    #[must_use]
    pub fn holds(self, measured: f64, bound: f64) -> bool {
        match self {
            Op::Less => measured < bound,
            Op::LessOrEqual => measured <= bound,
            Op::Greater => measured > bound,
            Op::GreaterOrEqual => measured >= bound,
        }
    }

    /// Returns the operator as text.
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

/// Returns the distinct bounds of all goodput metrics, in the order of the criteria. The engine
/// counts requests within bounds by the index in this list.
#[must_use]
pub fn goodputs<'c>(criteria: impl IntoIterator<Item = &'c Criterion>) -> Vec<Vec<GoodputBound>> {
    let mut found: Vec<Vec<GoodputBound>> = Vec::new();
    for criterion in criteria {
        if let Metric::Goodput(bounds) = &criterion.metric
            && !found.contains(bounds)
        {
            found.push(bounds.clone());
        }
    }
    found
}

/// Returns whether a name matches a pattern. `*` matches any text.
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
