//! A printed figure with its value, its range before rounding, and its position. Checks compare
//! ranges, so rounding is never a contradiction.

use serde::Serialize;

use record::units;

/// A line and column, counted from 1. Columns count characters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Position {
    pub line: usize,
    pub column: usize,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

impl Range {
    pub const ANY: Range = Range {
        low: 0.0,
        high: f64::INFINITY,
    };

    #[must_use]
    pub fn exactly(value: f64) -> Range {
        Range {
            low: value,
            high: value,
        }
    }

    #[must_use]
    pub fn plus(self, other: Range) -> Range {
        Range {
            low: self.low + other.low,
            high: self.high + other.high,
        }
    }

    #[must_use]
    pub fn times(self, other: Range) -> Range {
        Range {
            low: self.low * other.low,
            high: finite_or(self.high * other.high, f64::INFINITY),
        }
    }

    #[must_use]
    pub fn over(self, other: Range) -> Range {
        Range {
            low: finite_or(self.low / other.high, 0.0),
            high: if other.low > 0.0 {
                self.high / other.low
            } else {
                f64::INFINITY
            },
        }
    }

    #[must_use]
    pub fn widened(self, share: f64, amount: f64) -> Range {
        Range {
            low: (self.low * (1.0 - share) - amount).max(0.0),
            high: self.high * (1.0 + share) + amount,
        }
    }

    #[must_use]
    pub fn of_estimates(self, relative_error: f64, absolute_error: f64) -> Range {
        Range {
            low: ((self.low - absolute_error) / (1.0 + relative_error)).max(0.0),
            high: (self.high + absolute_error) / (1.0 - relative_error).max(f64::EPSILON),
        }
    }

    #[must_use]
    pub fn gap(self, other: Range) -> f64 {
        (self.low - other.high).max(other.low - self.high).max(0.0)
    }
}

/// Replaces undefined results such as 0 / 0 and 0 × ∞.
fn finite_or(value: f64, otherwise: f64) -> f64 {
    if value.is_nan() { otherwise } else { value }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PrintedFigure {
    pub name: String,
    pub text: String,
    pub unit: &'static str,
    pub place: Position,
    pub value: f64,
    pub range: Range,
}

impl PrintedFigure {
    #[must_use]
    pub fn render(&self) -> String {
        if self.unit == "ns" {
            return units::time((self.value.min(1e9) * 1e9) as u64);
        }
        let end = self
            .text
            .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',')))
            .unwrap_or(self.text.len());
        let (digits, rest) = self.text.split_at(end);
        let number = digits
            .parse()
            .map_or_else(|_| digits.to_owned(), units::count);
        let unit = if rest.is_empty() { self.unit } else { rest };
        let gap = if unit.starts_with(char::is_alphabetic) {
            " "
        } else {
            ""
        };
        format!("{number}{gap}{unit}")
    }

    #[must_use]
    pub fn named(&self) -> String {
        format!("{} {}", self.name, self.render())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_what_their_figures_may_be() {
        let a = Range {
            low: 1.0,
            high: 2.0,
        };
        let b = Range {
            low: 4.0,
            high: 5.0,
        };
        assert_eq!(a.plus(b).high, 7.0);
        assert_eq!(a.times(b).low, 4.0);
        assert_eq!((b.over(a).low, b.over(a).high), (2.0, 5.0));
        assert_eq!((a.gap(b), b.gap(a), a.gap(a)), (2.0, 2.0, 0.0));
        let nothing = Range::exactly(0.0);
        assert_eq!(nothing.over(nothing), Range::ANY);
        assert_eq!(nothing.times(Range::ANY).low, 0.0);
    }

    #[test]
    fn figures_are_shown_with_separators_and_spaces() {
        let render = |text: &str, unit| {
            let figure = PrintedFigure {
                name: "x".into(),
                text: text.into(),
                unit,
                place: Position::default(),
                value: 1.5e-3,
                range: Range::ANY,
            };
            figure.render()
        };
        assert_eq!(render("166000", ""), "166,000");
        assert_eq!(render("13.40ms", ""), "13.40 ms");
        assert_eq!(render("266/sec", ""), "266/sec");
        assert_eq!(render("190.6", "ms"), "190.6 ms");
        assert_eq!(render("1661", "ms"), "1,661 ms");
        assert_eq!(render("75.66%", ""), "75.66%");
        assert_eq!(render("1500000", "ns"), "1.50 ms");
    }
}
