//! Periods that criteria exclude because a node was lost and its share was not sent.

use record::{Run, clock};

/// Periods in nanoseconds from the start, ordered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct LeftOut(Vec<(u64, u64)>);

impl LeftOut {
    pub fn new(run: &Run, is_asked: impl Fn((u64, u64)) -> bool) -> LeftOut {
        let all = run.totals.left_out().iter();
        LeftOut(all.copied().filter(|span| is_asked(*span)).collect())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, (from, to): (u64, u64)) -> bool {
        self.0
            .iter()
            .any(|left_out| from < left_out.1 && to > left_out.0)
    }

    pub fn rest(&self, (from, to): (u64, u64)) -> Vec<(u64, u64)> {
        let mut rest = Vec::new();
        let mut next = from;
        for (begin, end) in &self.0 {
            if *begin > next {
                rest.push((next, (*begin).min(to)));
            }
            next = next.max(*end);
        }
        rest.push((next, to));
        rest.retain(|(from, to)| from < to);
        rest
    }

    pub fn text(&self) -> Option<String> {
        let spans = self.0.iter();
        let spans: Vec<String> = spans
            .map(|(from, to)| format!("{} to {}", clock(*from), clock(*to)))
            .collect();
        (!spans.is_empty()).then(|| {
            format!(
                "without {}, touched by the loss of a node",
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
        let left_out = LeftOut(vec![(20, 26), (40, 50)]);
        assert!(left_out.has((25, 30)) && left_out.has((10, 60)) && left_out.has((45, 46)));
        assert!(!left_out.has((26, 40)) && !left_out.has((0, 20)) && !left_out.has((50, 51)));
        assert_eq!(left_out.rest((0, 60)), [(0, 20), (26, 40), (50, 60)]);
        assert_eq!(left_out.rest((22, 45)), [(26, 40)]);
        assert_eq!(left_out.rest((30, 35)), [(30, 35)]);
        assert_eq!(left_out.rest((20, 26)), []);
        assert_eq!(LeftOut::default().rest((0, 60)), [(0, 60)]);
        assert_eq!(LeftOut::default().text(), None);
        let seconds = LeftOut(vec![(20_000_000_000, 26_500_000_000)]);
        let said = "without 00:20 to 00:26, touched by the loss of a node";
        assert_eq!(seconds.text().as_deref(), Some(said));
    }
}
