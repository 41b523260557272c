//! JavaScript's regular expressions, searched for no longer than so many steps: a backtracking search may otherwise take longer
//! than the universe has, and nobody could stop the worker that is in it. It knows nothing of where the texts come from.

use regress::Regex;
pub use regress::{Error, Match};

/// Steps that every search may take: tens of milliseconds.
const STEPS: u64 = 4_000_000;
/// Steps that it may take beside, for each byte of the text: what passes over a long text a few times is no catastrophe.
const STEPS_PER_BYTE: u64 = 16;
/// More than this no search may take: about a second.
const MOST_STEPS: u64 = 200_000_000;

/// A regular expression.
#[derive(Debug, Clone)]
pub struct Regexp {
    regex: Regex,
    pattern: String,
}

/// A search that was given up before it could tell whether anything matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GaveUp {
    /// Steps that it was allowed.
    pub steps: u64,
}

impl std::fmt::Display for GaveUp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "given up after {} steps", self.steps)
    }
}

impl std::error::Error for GaveUp {}

impl Regexp {
    /// Reads an expression with JavaScript's flags, for example `i`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn new(pattern: &str, flags: &str) -> Result<Regexp, Error> {
        Ok(Regexp {
            regex: Regex::with_flags(pattern, flags)?,
            pattern: pattern.to_owned(),
        })
    }

    /// As it was written.
    #[must_use]
    pub fn pattern(&self) -> &str {
        &self.pattern
    }

    /// The first match.
    ///
    /// # Errors
    /// When it could not be told in as many steps as a text of this length may take.
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
    fn what_would_never_end_is_given_up() {
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
        // Not exponential, but of a long text it takes hours all the same.
        let long = "a".repeat(1 << 20);
        for pattern in ["a*b", ".*.*x", "(a+)\\1b"] {
            assert!(find(pattern, &long).is_err(), "{pattern}");
        }
    }

    #[test]
    fn what_ends_is_found_as_ever() {
        let text = format!("{}!", "a".repeat(60));
        assert_eq!(find("(a+)+", &text), Ok(Some(0..60)));
        assert_eq!(find("(a+)+!$", &text), Ok(Some(0..61)));
        assert_eq!(find("b", &text), Ok(None));
        let long = format!("{}\"token\":\"x1\"", "[1,2],".repeat(1 << 20));
        let at = long.len() - 12;
        assert_eq!(find("\"token\":\"([^\"]+)\"", &long), Ok(Some(at..at + 12)));
        assert_eq!(find("^[^]*x1", &long), Ok(Some(0..at + 11)));
        // Captures of an earlier round are forgotten, as in JavaScript and nowhere else.
        let regex = Regexp::new("(?:(a)|b)*", "").expect("an expression");
        let found = regex.find("ab").expect("it ends").expect("it matches");
        assert_eq!(found.group(1), None);
    }
}
