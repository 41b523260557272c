//! Periods that criteria ignore because a node was lost.

use measure::TimeSpan;
use record::{Run, clock};

/// Periods in order of time, in nanoseconds from the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ExcludedSpans(Vec<TimeSpan>);

impl ExcludedSpans {
    pub fn new(run: &Run, is_asked: impl Fn(TimeSpan) -> bool) -> ExcludedSpans {
        let all = run.totals.left_out().iter();
        ExcludedSpans(all.copied().filter(|span| is_asked(*span)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, span: TimeSpan) -> bool {
        self.0.iter().any(|excluded| excluded.overlaps(span))
    }

    pub fn rest(&self, span: TimeSpan) -> Vec<TimeSpan> {
        let mut rest = Vec::new();
        let mut next_ns = span.from_ns;
        for excluded in &self.0 {
            if excluded.from_ns > next_ns {
                rest.push(TimeSpan::new(next_ns, excluded.from_ns.min(span.to_ns)));
            }
            next_ns = next_ns.max(excluded.to_ns);
        }
        rest.push(TimeSpan::new(next_ns, span.to_ns));
        rest.retain(|span| span.from_ns < span.to_ns);
        rest
    }

    pub fn text(&self) -> Option<String> {
        let spans = self.0.iter();
        let spans: Vec<String> = spans
            .map(|span| format!("{} to {}", clock(span.from_ns), clock(span.to_ns)))
            .collect();
        (!spans.is_empty()).then(|| {
            format!(
                "without {}, affected by the loss of a node",
                spans.join(" and ")
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_left_out_whole_and_what_is_left_of_time_is_the_rest() {
        let left_out = ExcludedSpans(vec![TimeSpan::new(20, 26), TimeSpan::new(40, 50)]);
        assert!(
            left_out.has(TimeSpan::new(25, 30))
                && left_out.has(TimeSpan::new(10, 60))
                && left_out.has(TimeSpan::new(45, 46))
        );
        assert!(
            !left_out.has(TimeSpan::new(26, 40))
                && !left_out.has(TimeSpan::new(0, 20))
                && !left_out.has(TimeSpan::new(50, 51))
        );
        assert_eq!(
            left_out.rest(TimeSpan::new(0, 60)),
            [
                TimeSpan::new(0, 20),
                TimeSpan::new(26, 40),
                TimeSpan::new(50, 60)
            ]
        );
        assert_eq!(
            left_out.rest(TimeSpan::new(22, 45)),
            [TimeSpan::new(26, 40)]
        );
        assert_eq!(
            left_out.rest(TimeSpan::new(30, 35)),
            [TimeSpan::new(30, 35)]
        );
        assert_eq!(left_out.rest(TimeSpan::new(20, 26)), []);
        assert_eq!(
            ExcludedSpans::default().rest(TimeSpan::new(0, 60)),
            [TimeSpan::new(0, 60)]
        );
        assert_eq!(ExcludedSpans::default().text(), None);
        let seconds = ExcludedSpans(vec![TimeSpan::new(20_000_000_000, 26_500_000_000)]);
        let message = "without 00:20 to 00:26, affected by the loss of a node";
        assert_eq!(seconds.text().as_deref(), Some(message));
    }
}
