//! Parser for the metrics of criteria, and the units that their bounds need.

use super::{GRAMMAR, MessageFate, Metric, Scan, SpanFilter, Stat, goodput};
use crate::units::{GrammarError, Quantity};

pub(super) fn metric(scan: &mut Scan) -> Result<Metric, GrammarError> {
    scan.skip_space();
    let begin = scan.at;
    let (span, word) = match scan.word() {
        "service" => (Some(SpanFilter::Service), scan.word()),
        "first-byte" => (Some(SpanFilter::FirstByte), scan.word()),
        "iteration" => (Some(SpanFilter::Iteration), scan.word()),
        "transaction" => (Some(SpanFilter::Transaction), scan.word()),
        "first-event" => (Some(SpanFilter::FirstEvent), scan.word()),
        "ttft" => (Some(SpanFilter::Ttft), scan.word()),
        "gap" => (Some(SpanFilter::Gap), scan.word()),
        "per-token" => (Some(SpanFilter::PerToken), scan.word()),
        word => (None, word),
    };
    if let Some(stat) = stat(word) {
        return Ok(Metric::Time(span.unwrap_or(SpanFilter::Response), stat));
    }
    let metric = match (span, word) {
        (None, "errors") => Metric::Errors,
        (None, "rate") => Metric::Rate,
        (None, "tokens") => {
            if scan.word() != "rate" {
                return Err(scan.error("tokens are judged per second: use `tokens rate`"));
            }
            Metric::TokenRate
        }
        (None, word) if word.split('(').next() == Some("goodput") => {
            scan.at = begin + "goodput".len();
            goodput::goodput(scan)?
        }
        (None, "in-flight") => Metric::InFlight,
        (None, "unsent") => Metric::Unsent,
        (None, "lost") => Metric::Messages(MessageFate::Lost),
        (None, "duplicates") => Metric::Messages(MessageFate::Duplicates),
        (None, "unknown") => Metric::Messages(MessageFate::Unknown),
        (None, "lateness") => {
            if scan.word() != "p99" {
                return Err(
                    scan.error("lateness is judged by its 99th percentile: use `lateness p99`")
                );
            }
            Metric::LatenessP99
        }
        (None, name)
            if name
                .strip_prefix("server.")
                .is_some_and(|name| !name.is_empty()) =>
        {
            let stat = match scan.peek() {
                "mean" | "max" => stat(scan.word()),
                _ => None,
            };
            Metric::Server(
                name["server.".len()..].to_owned(),
                stat.unwrap_or(Stat::Mean),
            )
        }
        (None, name) if name.starts_with("custom.") => {
            let name = match &name["custom.".len()..] {
                "" => scan.name("NAME")?,
                name => name.to_owned(),
            };
            let stat = stat(scan.peek());
            if stat.is_some() {
                scan.word();
            }
            Metric::Custom(name, stat)
        }
        (_, word) => {
            let what = if word.is_empty() {
                "a metric is missing".to_owned()
            } else {
                format!("`{word}` is not a metric")
            };
            return Err(GrammarError {
                offset: begin,
                message: format!("{what}; write {GRAMMAR}"),
            });
        }
    };
    Ok(metric)
}

fn stat(word: &str) -> Option<Stat> {
    match word {
        "mean" => Some(Stat::Mean),
        "max" => Some(Stat::Max),
        _ => {
            let percent = word.strip_prefix('p')?;
            // Require a digit first, because "pinf" and "p-1" would parse as floats.
            if !percent.starts_with(|c: char| c.is_ascii_digit()) {
                return None;
            }
            let percent: f64 = percent.parse().ok()?;
            (percent > 0.0 && percent <= 99.99).then_some(Stat::Quantile(percent / 100.0))
        }
    }
}

/// Converts the bound to the metric's unit. If the unit does not fit, the error names the expected
/// unit.
pub(super) fn fitting(metric: &Metric, value: Quantity, text: &str) -> Result<Quantity, String> {
    if let (
        Metric::Errors | Metric::Unsent | Metric::Messages(_) | Metric::Goodput(_),
        Quantity::Share(share),
    ) = (metric, value)
        && share > 1.0
    {
        return Err(format!(
            "`{text}` is more than 100%: use a share of at most 100%"
        ));
    }
    let needs = match (metric, value) {
        (Metric::Time(..) | Metric::LatenessP99, Quantity::Duration(_))
        | (
            Metric::Errors | Metric::Unsent | Metric::Messages(_),
            Quantity::Share(_) | Quantity::Number(_),
        )
        | (Metric::Rate | Metric::TokenRate, Quantity::PerSecond(_))
        | (Metric::Goodput(_), Quantity::Share(_) | Quantity::PerSecond(_))
        | (Metric::InFlight, Quantity::Number(_))
        | (Metric::Server(..), _)
        | (Metric::Custom(_, Some(_)), Quantity::Number(_) | Quantity::Duration(_))
        | (Metric::Custom(_, None), Quantity::Number(_) | Quantity::PerSecond(_)) => {
            return Ok(value);
        }
        (Metric::Time(..) | Metric::LatenessP99, _) => "a time, for example 250ms",
        (Metric::Errors | Metric::Unsent | Metric::Messages(_), _) => {
            "a share or a number, for example 1% or 10"
        }
        (Metric::Rate | Metric::TokenRate, _) => "a rate, for example 900/s",
        (Metric::Goodput(_), _) => "a share or a rate, for example 95% or 20/s",
        (Metric::InFlight, _) => "a number without unit, for example 100",
        (Metric::Custom(_, Some(_)), _) => "a number or a time, for example 200 or 200ms",
        (Metric::Custom(_, None), _) => "a number or a rate, for example 10 or 5/s",
    };
    Err(format!(
        "`{text}` does not fit this metric: it needs {needs}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        criteria::{Criterion, Op, parse_criterion, parse_stop},
        units::MILLISECOND,
    };

    fn ok(text: &str) -> Criterion {
        parse_criterion(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    fn fault(text: &str) -> (usize, String) {
        let e = parse_criterion(text).expect_err(text);
        (e.offset, e.message)
    }

    #[test]
    fn all_metrics_are_parsed() {
        assert_eq!(
            ok("p99 < 250ms").metric,
            Metric::Time(SpanFilter::Response, Stat::Quantile(0.99))
        );
        assert_eq!(
            ok("service p99.9 < 1s").metric,
            Metric::Time(SpanFilter::Service, Stat::Quantile(0.9990000000000001))
        );
        assert_eq!(
            ok("first-byte p95 < 2 s").metric,
            Metric::Time(SpanFilter::FirstByte, Stat::Quantile(0.95))
        );
        assert_eq!(
            ok("iteration max <= 2 s").metric,
            Metric::Time(SpanFilter::Iteration, Stat::Max)
        );
        assert_eq!(
            ok("transaction max of \"Pay\" < 1s").metric,
            Metric::Time(SpanFilter::Transaction, Stat::Max)
        );
        assert_eq!(ok("mean<10ms").value, Quantity::Duration(10 * MILLISECOND));
        assert_eq!(ok("errors < 1 %").value, Quantity::Share(0.01));
        assert_eq!(ok("rate >= 900/s").op, Op::GreaterOrEqual);
        assert_eq!(ok("in-flight < 100").metric, Metric::InFlight);
        assert_eq!(ok("unsent < 0.5%").metric, Metric::Unsent);
        let fate = |text: &str| ok(text).metric;
        assert_eq!(fate("lost < 0.1%"), Metric::Messages(MessageFate::Lost));
        assert_eq!(
            fate("duplicates < 1"),
            Metric::Messages(MessageFate::Duplicates)
        );
        assert_eq!(fate("unknown <= 0"), Metric::Messages(MessageFate::Unknown));
        assert_eq!(ok("lateness p99 < 1ms").metric, Metric::LatenessP99);
        let server = |text| match ok(text).metric {
            Metric::Server(name, stat) => (name, stat),
            other => panic!("{other:?}"),
        };
        assert_eq!(
            server("server.host.cpu < 80%"),
            ("host.cpu".into(), Stat::Mean)
        );
        assert_eq!(
            server("server.a.b max in \"Peak\" < 8"),
            ("a.b".into(), Stat::Max)
        );
    }

    #[test]
    fn custom_metrics_are_parsed() {
        let custom = |text| match ok(text).metric {
            Metric::Custom(name, stat) => (name, stat),
            other => panic!("{other:?}"),
        };
        let (name, stat) = custom("custom.checkout_ms p95 < 200ms");
        assert_eq!(
            (name.as_str(), stat),
            ("checkout_ms", Some(Stat::Quantile(0.95)))
        );
        let (name, stat) = custom("custom.\"cart total\" mean >= 1.5");
        assert_eq!((name.as_str(), stat), ("cart total", Some(Stat::Mean)));
        assert_eq!(custom("custom.orders > 10/s"), ("orders".to_owned(), None));
        assert!(fault("custom.x < 5ms").1.contains("a number or a rate"));
        assert!(fault("custom.x max < 5%").1.contains("a number or a time"));
        assert!(fault("custom. < 5").1.contains("in double quotes"));
        assert!(
            fault("custom.x in \"peak\" < 5")
                .1
                .contains("the whole run")
        );
        let stop = parse_stop("custom.x > 5 for 10s: stop").expect_err("no stop rule");
        assert!(stop.message.contains("write it as a criterion"));
    }
}
