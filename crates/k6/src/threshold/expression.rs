//! The grammar of thresholds: `method operator number`, with any number of spaces between them.

use crate::{
    aggregate::trend_stat::{TrendStat, parse_decimal},
    metric::MetricType,
    text::go_quote,
};

/// The value that a threshold compares.
#[derive(Debug, Clone, PartialEq)]
pub enum Method {
    /// Sum of a counter.
    Count,
    /// Sum of a counter per second, or share of a rate.
    Rate,
    /// Last value of a gauge.
    Value,
    /// Statistic of a trend.
    Trend(TrendStat),
}

impl Method {
    /// Returns the method as written by the user: `p(95)`.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Method::Count => "count",
            Method::Rate => "rate",
            Method::Value => "value",
            Method::Trend(stat) => stat.name(),
        }
    }

    /// Returns the name for error messages, without numbers: `p`.
    fn kind(&self) -> &str {
        match self {
            Method::Trend(TrendStat::Percentile { .. }) => "p",
            other => other.name(),
        }
    }
}

/// The comparison operator of a threshold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `==` or `===`
    Equal,
    /// `!=`
    NotEqual,
}

/// Operators. Longer operators come before their prefixes.
const OPERATORS: [(&str, Operator); 7] = [
    ("===", Operator::Equal),
    ("==", Operator::Equal),
    ("!=", Operator::NotEqual),
    ("<=", Operator::LessOrEqual),
    (">=", Operator::GreaterOrEqual),
    ("<", Operator::Less),
    (">", Operator::Greater),
];

/// A parsed threshold.
#[derive(Debug, Clone, PartialEq)]
pub struct Expression {
    /// Value to compare.
    pub method: Method,
    /// Comparison operator.
    pub operator: Operator,
    /// Bound. Times are in ms, rates from 0 to 1.
    pub bound: f64,
}

impl Expression {
    /// Parses an expression.
    ///
    /// # Errors
    ///
    /// Returns k6's text for other grammars, and for percentiles outside of 0 to 100.
    pub fn parse(text: &str) -> Result<Expression, String> {
        try_parse(text).map_err(|reason| {
            format!(
                "failed parsing threshold expression {}; reason: {reason}",
                go_quote(text)
            )
        })
    }

    /// Checks that the metric's type supports the method. `metric` is the name for the message.
    ///
    /// # Errors
    ///
    /// Returns k6's text if it does not.
    pub fn check(&self, source: &str, metric: &str, kind: MetricType) -> Result<(), String> {
        let supported: &[&str] = match kind {
            MetricType::Counter => &["count", "rate"],
            MetricType::Gauge => &["value"],
            MetricType::Rate => &["rate"],
            MetricType::Trend => &["avg", "min", "max", "med", "p"],
        };
        let method = self.method.kind();
        if supported.contains(&method) {
            return Ok(());
        }
        Err(format!(
            "invalid threshold {} applied on metric {metric}; reason: unsupported aggregation \
             method {method} on metric of type {kind}. supported aggregation methods for this \
             metric are: {}",
            go_quote(source),
            supported.join(", ")
        ))
    }

    /// Returns whether a value passes.
    #[must_use]
    #[allow(clippy::float_cmp)]
    pub fn is_met(&self, value: f64) -> bool {
        match self.operator {
            Operator::Less => value < self.bound,
            Operator::LessOrEqual => value <= self.bound,
            Operator::Greater => value > self.bound,
            Operator::GreaterOrEqual => value >= self.bound,
            Operator::Equal => value == self.bound,
            Operator::NotEqual => value != self.bound,
        }
    }
}

const MALFORMED: &str = "malformed threshold expression";

fn try_parse(text: &str) -> Result<Expression, &'static str> {
    let start = text.find(['<', '>', '=', '!']).ok_or(MALFORMED)?;
    let (method, rest) = text.split_at(start);
    let found = OPERATORS.iter().find_map(|(sign, operator)| {
        let bound = rest.strip_prefix(sign)?;
        Some((*operator, bound))
    });
    let (operator, bound) = found.ok_or(MALFORMED)?;
    Ok(Expression {
        method: parse_method(method.trim())?,
        operator,
        bound: parse_decimal(bound.trim()).ok_or(MALFORMED)?,
    })
}

fn parse_method(text: &str) -> Result<Method, &'static str> {
    match text {
        "count" => Ok(Method::Count),
        "rate" => Ok(Method::Rate),
        "value" => Ok(Method::Value),
        _ => match TrendStat::parse(text) {
            Ok(stat) => Ok(Method::Trend(stat)),
            Err(_) if text.starts_with("p(") && text.ends_with(')') => {
                Err("malformed percentile value, provide a number between 0 and 100")
            }
            Err(_) => Err(MALFORMED),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn expressions_have_free_spaces() {
        let expression = Expression::parse("  p(99.9)  <=  1.5e3 ").unwrap();
        assert_eq!(expression.method.name(), "p(99.9)");
        assert_eq!(expression.operator, Operator::LessOrEqual);
        assert!(expression.is_met(1500.0) && !expression.is_met(1500.1));
        for (text, value) in [
            ("count>1", 2.0),
            ("rate<0.1", 0.0),
            ("value===3", 3.0),
            ("avg==3", 3.0),
            ("med!=3", 4.0),
            ("min>=-1", -1.0),
        ] {
            assert!(Expression::parse(text).unwrap().is_met(value), "{text}");
        }
    }

    #[test]
    fn malformed_expressions_have_k6s_error() {
        for text in [
            "", "p(95)", "p95<1", "avg<", "avg<x", "avg=1", "foo<1", "avg<1<2", "<1",
        ] {
            assert_eq!(
                Expression::parse(text).unwrap_err(),
                format!(
                    "failed parsing threshold expression \"{text}\"; reason: malformed threshold \
                     expression"
                )
            );
        }
        assert_eq!(
            Expression::parse("p(101)<1").unwrap_err(),
            "failed parsing threshold expression \"p(101)<1\"; reason: malformed percentile value, \
             provide a number between 0 and 100"
        );
    }

    #[test]
    fn methods_belong_to_types() {
        let expression = Expression::parse("p(95)<1").unwrap();
        assert_eq!(expression.check("p(95)<1", "m", MetricType::Trend), Ok(()));
        assert_eq!(
            expression
                .check("p(95)<1", "m", MetricType::Counter)
                .unwrap_err(),
            "invalid threshold \"p(95)<1\" applied on metric m; reason: unsupported aggregation \
             method p on metric of type counter. supported aggregation methods for this metric \
             are: count, rate"
        );
    }

    proptest! {
        #[test]
        fn no_expression_makes_the_parser_panic(
            text in "[a-z(]{0,4}[0-9.)]{0,4} ?[<>=!]{0,3}.{0,5}"
        ) {
            let _ = Expression::parse(&text);
        }
    }
}
