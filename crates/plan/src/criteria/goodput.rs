//! Parser for goodput metrics such as `goodput(ttft < 1s, per-token < 50ms)`.

use super::{GoodputBound, Metric, Scan, SpanFilter};
use crate::units::{GrammarError, parse_duration};

const BOUNDED: [(&str, SpanFilter); 4] = [
    ("response", SpanFilter::Response),
    ("first-event", SpanFilter::FirstEvent),
    ("ttft", SpanFilter::Ttft),
    ("per-token", SpanFilter::PerToken),
];

/// Returns the name of a time in the bounds of a goodput metric.
pub(super) fn name(span: SpanFilter) -> &'static str {
    let named = BOUNDED.into_iter().find(|(_, known)| *known == span);
    named.map_or("response", |(name, _)| name)
}

/// Parses the bounds in parentheses, after the word `goodput`.
pub(super) fn goodput(scan: &mut Scan<'_>) -> Result<Metric, GrammarError> {
    if !scan.take("(") {
        return Err(scan.error("goodput needs bounds: write, for example, goodput(ttft < 1s)"));
    }
    let mut bounds: Vec<GoodputBound> = Vec::new();
    loop {
        let at = scan.skip_space();
        let word = scan.word();
        let Some((_, span)) = BOUNDED.into_iter().find(|(name, _)| *name == word) else {
            return Err(GrammarError {
                offset: at,
                message: format!(
                    "`{word}` cannot bound a goodput: use response, first-event, ttft or per-token"
                ),
            });
        };
        if bounds.iter().any(|bound| bound.span == span) {
            return Err(GrammarError {
                offset: at,
                message: format!("`{word}` has two bounds: remove one"),
            });
        }
        if !scan.take("<") {
            return Err(scan.error("expected < here"));
        }
        let at = scan.skip_space();
        let text = scan.until(&[',', ')']);
        let below_ns = parse_duration(text).map_err(|error| GrammarError {
            offset: at + error.offset,
            message: error.message,
        })?;
        bounds.push(GoodputBound { span, below_ns });
        if scan.take(")") {
            return Ok(Metric::Goodput(bounds));
        }
        if !scan.take(",") {
            return Err(scan.error("expected , or ) here"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Metric, SpanFilter, parse_criterion};
    use crate::units::{MILLISECOND, Quantity, SECOND};

    #[test]
    fn bounds_are_parsed() {
        let criterion =
            parse_criterion("goodput(ttft < 1s, per-token<50 ms) of \"POST *\" in \"load\" > 95%");
        let criterion = criterion.unwrap();
        let Metric::Goodput(bounds) = &criterion.metric else {
            panic!("{criterion:?}");
        };
        let bounds: Vec<_> = bounds.iter().map(|b| (b.span, b.below_ns)).collect();
        assert_eq!(
            bounds,
            [
                (SpanFilter::Ttft, SECOND),
                (SpanFilter::PerToken, 50 * MILLISECOND)
            ]
        );
        assert_eq!(criterion.value, Quantity::Share(0.95));
        assert_eq!(criterion.of.as_deref(), Some("POST *"));
        assert!(parse_criterion("goodput(response < 2s) >= 10/s").is_ok());
    }

    #[test]
    fn errors_have_a_position() {
        for (text, offset, message) in [
            ("goodput > 95%", 8, "goodput needs bounds"),
            ("goodput(gap < 1s) > 95%", 8, "`gap` cannot bound a goodput"),
            ("goodput(ttft > 1s) > 95%", 13, "expected <"),
            ("goodput(ttft < 1) > 95%", 15, "has no unit"),
            ("goodput(ttft < 1s, ttft < 2s) > 95%", 19, "two bounds"),
            ("goodput(ttft < 1s > 95%", 16, "is not"),
            (
                "goodput(ttft < 1s) > 95ms",
                21,
                "it needs a share or a rate",
            ),
            ("goodput(ttft < 1s) > 120%", 21, "more than 100%"),
        ] {
            let error = parse_criterion(text).unwrap_err();
            assert!(error.message.contains(message), "{text}: {error:?}");
            assert_eq!(error.offset, offset, "{text}: {error:?}");
        }
    }
}
