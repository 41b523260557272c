//! Parser for criteria and stop rules. Errors contain a position in the text and repeat the
//! grammar.

use super::{
    Criterion, Ending, Metric, Op, Scan, StopRule,
    metric::{fitting, metric},
};
use crate::units::{GrammarError, parse_duration, parse_quantity};

/// The grammar on one line, for messages and help texts.
pub const GRAMMAR: &str = "[service|first-byte|iteration|transaction|first-event|ttft|gap|per-token] p50…p99.99|mean|max, errors, rate, tokens rate, goodput(ttft < 1s), in-flight, unsent, lateness p99, lost, duplicates, unknown, server.NAME or custom.NAME, \
     then [of \"LABEL\"] [in \"PHASE\"|in steady], then < <= > >= and a value with its unit";

const FIGURES: &str = "[service|first-byte|iteration|transaction|first-event|ttft|gap|per-token] p50…p99.99|mean|max, errors or rate, then [of \"LABEL\"]";

/// Parses a criterion, such as `p99 of "POST /x" < 250ms`, `errors < 1%` or `rate > 900/s`.
///
/// On failure, the error contains the offset of the problem.
pub fn parse_criterion(text: &str) -> Result<Criterion, GrammarError> {
    let mut scan = Scan { text, at: 0 };
    let criterion = criterion(&mut scan)?;
    scan.end()?;
    Ok(criterion)
}

/// Parses a criterion without a bound, such as `p99 of "POST /x"` or `errors`.
///
/// On failure, the error contains the offset of the problem.
pub fn parse_subject(text: &str) -> Result<(Metric, Option<String>), GrammarError> {
    let mut scan = Scan { text, at: 0 };
    let metric = metric(&mut scan).map_err(|error| GrammarError {
        message: error.message.replace(GRAMMAR, FIGURES),
        ..error
    })?;
    let of = if scan.word_is("of") {
        Some(scan.name("LABEL")?)
    } else {
        None
    };
    scan.end()?;
    Ok((metric, of))
}

/// Parses a stop rule, such as `errors > 10% for 10s: stop fail`.
///
/// On failure, the error contains the offset of the problem.
pub fn parse_stop(text: &str) -> Result<StopRule, GrammarError> {
    let mut scan = Scan { text, at: 0 };
    let when = criterion(&mut scan)?;
    if when.steady {
        return Err(GrammarError {
            offset: text.find("in steady").unwrap_or(0),
            message: "a steady state is known only after the run, but a stop rule needs it during the run: remove `in steady`"
                .to_owned(),
        });
    }
    let unusable = match when.metric {
        Metric::Custom(..) => Some("a custom metric"),
        Metric::Goodput(_) => Some("goodput"),
        Metric::TokenRate => Some("the rate of tokens"),
        _ => None,
    };
    if let Some(metric) = unusable {
        return Err(GrammarError {
            offset: 0,
            message: format!(
                "a stop rule cannot use {metric}: write it as a criterion, which is judged at the end"
            ),
        });
    }
    if !scan.word_is("for") {
        return Err(scan.error(
            "a stop rule needs a duration for which it must hold: add, for example, `for 10s: stop fail`",
        ));
    }
    let at = scan.skip_space();
    let length = scan.rest().find(':').unwrap_or(scan.rest().len());
    let duration = scan.rest()[..length].to_owned();
    let for_ns = parse_duration(&duration).map_err(|e| GrammarError {
        offset: at + e.offset,
        message: e.message,
    })?;
    scan.at += length;
    let mut ends = Ending::Fail;
    if scan.take(":") {
        if !scan.word_is("stop") {
            return Err(scan.error("expected `stop` after the colon"));
        }
        ends = match scan.word() {
            "" | "fail" => Ending::Fail,
            "pass" => Ending::Pass,
            "inconclusive" => Ending::Inconclusive,
            _ => return Err(scan.error("`stop` must be followed by fail, pass or inconclusive")),
        };
    }
    scan.end()?;
    Ok(StopRule { when, for_ns, ends })
}

fn criterion(scan: &mut Scan) -> Result<Criterion, GrammarError> {
    let metric = metric(scan)?;
    let of = if scan.word_is("of") {
        Some(scan.name("LABEL")?)
    } else {
        None
    };
    let (mut phase, mut steady) = (None, false);
    if scan.word_is("in") {
        steady = scan.word_is("steady");
        if !steady {
            phase = Some(scan.name("PHASE")?);
        }
    }
    if matches!(metric, Metric::Custom(..)) && (of.is_some() || phase.is_some() || steady) {
        return Err(
            scan.error("a custom metric is counted for the whole run: remove `of` and `in`")
        );
    }
    let op = op(scan)?;
    let at = scan.skip_space();
    let text = scan.value();
    let value = parse_quantity(text).map_err(|e| GrammarError {
        offset: at + e.offset,
        message: e.message,
    })?;
    let value = fitting(&metric, value, text).map_err(|message| GrammarError {
        offset: at,
        message,
    })?;
    let written = scan.text[..scan.at]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    Ok(Criterion {
        text: written,
        at: None,
        metric,
        of,
        phase,
        steady,
        op,
        value,
    })
}

fn op(scan: &mut Scan) -> Result<Op, GrammarError> {
    scan.skip_space();
    for op in [Op::LessOrEqual, Op::GreaterOrEqual, Op::Less, Op::Greater] {
        if scan.take(op.symbol()) {
            return Ok(op);
        }
    }
    Err(scan.error("expected < <= > or >= here"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{
        criteria::{SpanFilter, Stat},
        units::SECOND,
    };

    fn ok(text: &str) -> Criterion {
        parse_criterion(text).unwrap_or_else(|e| panic!("{text}: {e:?}"))
    }

    fn fault(text: &str) -> (usize, String) {
        let e = parse_criterion(text).expect_err(text);
        (e.offset, e.message)
    }

    #[test]
    fn labels_and_phases_are_parsed() {
        let criterion = ok(r#"  p95 of "POST /a \"b\"" in "Warm up"  <  5ms "#);
        assert_eq!(criterion.of.as_deref(), Some(r#"POST /a "b""#));
        assert_eq!(criterion.phase.as_deref(), Some("Warm up"));
        assert_eq!(
            criterion.text,
            r#"p95 of "POST /a \"b\"" in "Warm up" < 5ms"#
        );
    }

    #[test]
    fn steady_is_not_a_phase() {
        let criterion = ok("p99 of \"GET /a\" in  steady < 200ms");
        assert!(criterion.steady);
        assert_eq!(criterion.phase, None);
        assert_eq!(criterion.of.as_deref(), Some("GET /a"));
        assert_eq!(criterion.text, "p99 of \"GET /a\" in steady < 200ms");
        let phase = ok("p99 in \"steady\" < 200ms");
        assert!(!phase.steady);
        assert_eq!(phase.phase.as_deref(), Some("steady"));
        assert_eq!(fault("p99 in steadily < 1s").0, 7);
        let refused = parse_stop("p99 in steady > 2s for 10s: stop").expect_err("no stop rule");
        assert_eq!(refused.offset, 4);
        assert!(refused.message.contains("remove `in steady`"));
    }

    #[test]
    fn errors_have_positions() {
        assert_eq!(fault("p101 < 1s").0, 0);
        assert_eq!(fault("p99.999 < 1s").0, 0);
        assert_eq!(fault("p99 of POST < 1s").0, 7);
        assert_eq!(fault("p99 1s").0, 4);
        assert_eq!(fault("p99 < 1").0, 6);
        assert_eq!(fault("p99 < 1s and errors < 1%").0, 7);
        assert!(fault("p99 < 5%").1.contains("needs a time"));
        assert!(fault("").1.contains("a metric is missing"));
        assert!(fault("service errors < 1%").1.contains("not a metric"));
        assert!(fault("p99 of \"x < 1s").1.contains("never closed"));
    }

    #[test]
    fn subject_is_parsed_without_bound() {
        assert_eq!(
            parse_subject("iteration  p99 of \"a \\\" b\""),
            Ok((
                Metric::Time(SpanFilter::Iteration, Stat::Quantile(0.99)),
                Some("a \" b".into())
            ))
        );
        assert_eq!(parse_subject("errors"), Ok((Metric::Errors, None)));
        assert_eq!(parse_subject("errors < 1%").map_err(|e| e.offset), Err(7));
        assert_eq!(parse_subject("p99 of x").map_err(|e| e.offset), Err(7));
    }

    #[test]
    fn stop_rules_are_parsed() {
        let rule = parse_stop("p99 > 2s for 10s: stop inconclusive").expect("a rule");
        assert_eq!(
            (rule.for_ns, rule.ends),
            (10 * SECOND, Ending::Inconclusive)
        );
        assert_eq!(rule.when.text, "p99 > 2s");
        assert_eq!(
            parse_stop("errors > 10% for 5s").map(|r| r.ends),
            Ok(Ending::Fail)
        );
        assert!(parse_stop("errors > 10%").is_err());
        assert!(parse_stop("errors > 10% for 5s: halt").is_err());
        assert!(parse_stop("errors > 10% for 5").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "\\PC*") {
            let _ = parse_criterion(&text);
            let _ = parse_stop(&text);
            let _ = parse_subject(&text);
        }

        #[test]
        fn near_misses_are_handled(text in "(p99|errors|rate|service|lateness| |of|in|steady|\"|<|>|=|1|s|%|for|:|stop|é){0,12}") {
            if let Err(e) = parse_criterion(&text) {
                prop_assert!(e.offset <= text.len());
            }
            if let Err(e) = parse_subject(&text) {
                prop_assert!(e.offset <= text.len());
            }
            let _ = parse_stop(&text);
        }
    }
}
