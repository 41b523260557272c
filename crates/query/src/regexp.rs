//! JavaScript regular expressions with a step limit, because endless backtracking would block a
//! worker.

use regress::Regex;
pub use regress::{Error, Match};

/// Number of steps that every search may take. This many steps last tens of milliseconds.
const STEPS: u64 = 4_000_000;
/// Additional steps per byte of text, because a search may scan a long text repeatedly.
const STEPS_PER_BYTE: u64 = 16;
/// Maximum number of steps of a search, which last about a second.
const MOST_STEPS: u64 = 200_000_000;

#[derive(Debug, Clone)]
pub struct Regexp {
    regex: Regex,
    pattern: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaveUp {
    pub steps: u64,
}

impl std::fmt::Display for GaveUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "stopped after {} steps", self.steps)
    }
}

impl std::error::Error for GaveUp {}

impl Regexp {
    pub fn new(pattern: &str, flags: &str) -> Result<Regexp, Error> {
        Ok(Regexp {
            regex: Regex::with_flags(pattern, flags)?,
            pattern: pattern.to_owned(),
        })
    }

    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    pub fn find(&self, text: &str) -> Result<Option<Match>, GaveUp> {
        let by_length = STEPS_PER_BYTE.saturating_mul(text.len() as u64);
        let steps = STEPS.saturating_add(by_length).min(MOST_STEPS);
        let found = self.regex.find_within(text, steps);
        found.map_err(|regress::GaveUp| GaveUp { steps })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(pattern: &str, text: &str) -> Result<Option<std::ops::Range<usize>>, GaveUp> {
        let regex = Regexp::new(pattern, "").expect("an expression");
        regex.find(text).map(|found| found.map(|m| m.range()))
    }

    #[test]
    fn catastrophic_search_is_stopped() {
        let text = format!("{}!", "a".repeat(60));
        for pattern in [
            "(a+)+$",
            "(a|aa)+$",
            "(a*)*b",
            "^(?:a?){60}a{60}$",
            "(?=(a+)+$)x|(a+)+$",
            "(?<!(a+)+$)z|(a+)+$",
        ] {
            assert!(find(pattern, &text).is_err(), "{pattern}");
        }
        let long = "a".repeat(1 << 20);
        for pattern in ["a*b", ".*.*x", "(a+)\\1b"] {
            assert!(find(pattern, &long).is_err(), "{pattern}");
        }
    }

    #[test]
    fn bounded_search_finds_matches() {
        let text = format!("{}!", "a".repeat(60));
        assert_eq!(find("(a+)+", &text), Ok(Some(0..60)));
        assert_eq!(find("(a+)+!$", &text), Ok(Some(0..61)));
        assert_eq!(find("b", &text), Ok(None));
        let long = format!("{}\"token\":\"x1\"", "[1,2],".repeat(1 << 20));
        let at = long.len() - 12;
        assert_eq!(find("\"token\":\"([^\"]+)\"", &long), Ok(Some(at..at + 12)));
        assert_eq!(find("^[^]*x1", &long), Ok(Some(0..at + 11)));
        let regex = Regexp::new("(?:(a)|b)*", "").expect("an expression");
        let found = regex.find("ab").expect("it ends").expect("it matches");
        assert_eq!(found.group(1), None);
    }
}
