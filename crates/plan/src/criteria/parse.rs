//! Parser for criteria and stop rules. Errors contain a position in the text and repeat the
//! grammar.

use super::{Criterion, Ending, MessageFate, Metric, Op, SpanFilter, Stat, StopRule, goodput};
use crate::units::{GrammarError, Quantity, parse_duration, parse_quantity};

/// The grammar on one line, for messages and help texts.
pub const GRAMMAR: &str = "[service|first-byte|iteration|transaction|first-event|ttft|gap|per-token] p50…p99.99|mean|max, errors, rate, tokens rate, goodput(ttft < 1s), in-flight, unsent, lateness p99, lost, duplicates, unknown, server.NAME or custom.NAME, \
     then [of \"LABEL\"] [in \"PHASE\"|in steady], then < <= > >= and a value with its unit";

const FIGURES: &str = "[service|first-byte|iteration|transaction|first-event|ttft|gap|per-token] p50…p99.99|mean|max, errors or rate, then [of \"LABEL\"]";

/// Parses a criterion: `p99 of "POST /x" < 250ms`, `errors < 1%`, `rate > 900/s`.
///
/// On failure, the error contains the offset of the problem.
pub fn parse_criterion(text: &str) -> Result<Criterion, GrammarError> {
    let mut scan = Scan { text, at: 0 };
    let criterion = criterion(&mut scan)?;
    scan.end()?;
    Ok(criterion)
}

/// Parses a criterion without bound: `p99 of "POST /x"`, `errors`.
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

/// Parses a stop rule: `errors > 10% for 10s: stop fail`.
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

fn metric(scan: &mut Scan) -> Result<Metric, GrammarError> {
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

fn op(scan: &mut Scan) -> Result<Op, GrammarError> {
    scan.skip_space();
    for op in [Op::LessOrEqual, Op::GreaterOrEqual, Op::Less, Op::Greater] {
        if scan.take(op.symbol()) {
            return Ok(op);
        }
    }
    Err(scan.error("expected < <= > or >= here"))
}

/// Converts the bound to the metric's unit. Fails if the unit does not fit, and names the unit that
/// is needed.
fn fitting(metric: &Metric, value: Quantity, text: &str) -> Result<Quantity, String> {
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

pub(crate) struct Scan<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl<'a> Scan<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn skip_space(&mut self) -> usize {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.at
    }

    /// Reads up to one of these characters, or up to the end.
    pub(super) fn until(&mut self, stops: &[char]) -> &'a str {
        let rest = self.rest();
        let end = rest.find(stops).unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim_end()
    }

    pub(super) fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let length = rest
            .find(|c: char| c.is_whitespace() || "<>=:\"".contains(c))
            .unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    fn peek(&mut self) -> &'a str {
        let before = self.at;
        let word = self.word();
        self.at = before;
        word
    }

    fn word_is(&mut self, wanted: &str) -> bool {
        let before = self.at;
        if self.word() == wanted {
            return true;
        }
        self.at = before;
        false
    }

    pub(super) fn take(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    pub(crate) fn name(&mut self, what: &str) -> Result<String, GrammarError> {
        if !self.take("\"") {
            return Err(self.error(&format!("expected \"{what}\" in double quotes")));
        }
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(name);
                }
                '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
                _ => name.push(c),
            }
        }
        Err(self.error("the quote is never closed"))
    }

    /// Reads the value: a number and a unit, optionally separated by a blank.
    fn value(&mut self) -> &'a str {
        let rest = self.rest();
        let end = [" for ", ":"]
            .iter()
            .filter_map(|stop| rest.find(stop))
            .min()
            .unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim_end()
    }

    pub(super) fn error(&self, message: &str) -> GrammarError {
        GrammarError {
            offset: self.at.min(self.text.len()),
            message: message.to_owned(),
        }
    }

    pub(crate) fn end(&mut self) -> Result<(), GrammarError> {
        self.skip_space();
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error(&format!(
                "`{}` is not expected here",
                self.rest().trim_end()
            )))
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::units::{MILLISECOND, SECOND};

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
