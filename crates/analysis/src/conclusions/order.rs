//! Sorting of conclusions, and the selection for the headline.

use crate::summary::{Conclusion, Summary, Tone};

const TOLD_FIRST: usize = 3;

/// Returns the rank of a conclusion. Conclusions about what stopped or invalidated the run come
/// first, those about growth and drift last.
fn place(conclusion: &Conclusion) -> u8 {
    match (conclusion.kind.as_str(), conclusion.tone) {
        ("stopped" | "nothing" | "generator", _) => 0,
        ("criteria", _) => 1,
        ("overload" | "saturation", _) => 2,
        ("errors", _) => 3,
        ("steady" | "trend" | "recovery", Tone::Bad) => 4,
        ("skipped" | "machine", _) => 5,
        ("healthy", _) => 6,
        _ => 7,
    }
}

pub(super) fn ordered(mut conclusions: Vec<Conclusion>) -> Vec<Conclusion> {
    conclusions.sort_by_key(place);
    conclusions
}

#[must_use]
pub fn key_conclusions(summary: &Summary) -> Vec<usize> {
    let sentence = &summary.verdict.sentence;
    let all = summary.conclusions.iter().enumerate();
    all.filter(|(_, conclusion)| !sentence.contains(&conclusion.text))
        .map(|(at, _)| at)
        .take(TOLD_FIRST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conclusion(kind: &str, tone: Tone) -> Conclusion {
        Conclusion::new(kind, tone, String::new(), &[])
    }

    #[test]
    fn most_important_conclusions_come_first() {
        let given = [
            ("slowest", Tone::Neutral),
            ("trend", Tone::Good),
            ("healthy", Tone::Good),
            ("skipped", Tone::Bad),
            ("recovery", Tone::Bad),
            ("trend", Tone::Bad),
            ("errors", Tone::Bad),
            ("saturation", Tone::Bad),
            ("criteria", Tone::Bad),
            ("generator", Tone::Bad),
        ];
        let read = ordered(given.map(|(kind, tone)| conclusion(kind, tone)).to_vec());
        let kinds: Vec<&str> = read.iter().map(|c| c.kind.as_str()).collect();
        assert_eq!(
            kinds,
            [
                "generator",
                "criteria",
                "saturation",
                "errors",
                "recovery",
                "trend",
                "skipped",
                "healthy",
                "slowest",
                "trend"
            ]
        );
        let stopped = ordered(vec![
            conclusion("errors", Tone::Bad),
            conclusion("stopped", Tone::Bad),
        ]);
        assert_eq!(stopped[0].kind, "stopped");
    }
}
