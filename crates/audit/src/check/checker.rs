//! Compares ranges of printed figures and records findings.

use crate::import::{PrintedFigure, Range, model::Total};

use record::units;

use super::finding::{Finding, NamedFigure, Severity};

pub const MARGIN: f64 = 0.02;
const WRITTEN_OUT: usize = 8;
const EPSILON: f64 = 1e-12;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Off {
    Not,
    Little,
    Much,
}

#[must_use]
pub fn off(a: Range, b: Range) -> Off {
    let gap = a.gap(b);
    // Relative to the smaller value, a tolerance finds every change above it.
    let size = a.high.min(b.high).max(0.0);
    if gap <= EPSILON * a.high.max(b.high) || gap.is_nan() {
        Off::Not
    } else if gap <= MARGIN * size {
        Off::Little
    } else {
        Off::Much
    }
}

#[must_use]
pub fn above(a: Range, b: Range) -> bool {
    a.low > b.high * (1.0 + EPSILON) + f64::MIN_POSITIVE
}

pub struct Checker {
    findings: Vec<Finding>,
    relations: usize,
    needs_column: bool,
}

impl Checker {
    pub fn new(needs_column: bool) -> Checker {
        Checker {
            findings: Vec::new(),
            relations: 0,
            needs_column,
        }
    }

    pub fn done(self) -> (Vec<Finding>, usize) {
        (self.findings, self.relations)
    }

    pub fn look(&mut self) {
        self.relations += 1;
    }

    pub fn find(
        &mut self,
        kind: Severity,
        relation: &'static str,
        figures: &[&PrintedFigure],
        text: String,
    ) {
        let Some(first) = figures.first() else { return };
        self.findings.push(Finding {
            kind,
            relation,
            line: first.place.line,
            column: first.place.column,
            text,
            figures: figures
                .iter()
                .map(|figure| NamedFigure::from(*figure))
                .collect(),
            needs_column: self.needs_column,
        });
    }

    pub fn order(&mut self, relation: &'static str, small: &PrintedFigure, large: &PrintedFigure) {
        self.order_of(relation, small, small.range, large, large.range);
    }

    /// Checks the order of figures. The ranges are wider than rounding.
    pub fn order_of(
        &mut self,
        relation: &'static str,
        small: &PrintedFigure,
        small_range: Range,
        large: &PrintedFigure,
        large_range: Range,
    ) {
        self.look();
        if above(small_range, large_range) {
            let text = format!("{} is above {}", small.named(), large.named());
            self.find(Severity::Contradiction, relation, &[small, large], text);
        }
    }

    pub fn same(&mut self, relation: &'static str, a: &PrintedFigure, b: &PrintedFigure) {
        self.look();
        let kind = match off(a.range, b.range) {
            Off::Not => return,
            Off::Little if a.range.low < a.range.high => Severity::Remark,
            _ => Severity::Contradiction,
        };
        let text = format!(
            "{}, but {} ({})",
            a.named(),
            b.named(),
            by(a.value, b.value)
        );
        self.find(kind, relation, &[a, b], text);
    }

    pub fn sum(
        &mut self,
        relation: &'static str,
        total: &PrintedFigure,
        parts: &[&PrintedFigure],
        is: Total,
        small_is_fine: bool,
    ) {
        self.look();
        let sum = parts
            .iter()
            .fold(Range::exactly(0.0), |sum, part| sum.plus(part.range));
        let (differs, how) = match is {
            Total::Sum => (off(total.range, sum) != Off::Not, "="),
            Total::AtMost => (above(total.range, sum), "= only"),
            Total::AtLeast => (above(sum, total.range), "="),
        };
        if !differs {
            return;
        }
        let is_count = total.range.low == total.range.high;
        let little = off(total.range, sum) == Off::Little || total.range.gap(sum) <= 2.0;
        let kind = if little && (small_is_fine || !is_count) {
            Severity::Remark
        } else {
            Severity::Contradiction
        };
        let value: f64 = parts.iter().map(|part| part.value).sum();
        let sum = if is_count {
            units::count(value as u64)
        } else {
            units::decimal(value)
        };
        let text = format!(
            "{}, but {} {how} {sum} ({})",
            total.named(),
            parts_in_words(parts),
            by(total.value, value)
        );
        let mut figures = vec![total];
        figures.extend(parts);
        self.find(kind, relation, &figures, text);
    }
}

fn parts_in_words(parts: &[&PrintedFigure]) -> String {
    match parts {
        [] => "nothing".into(),
        _ if parts.len() <= WRITTEN_OUT => {
            let named: Vec<String> = parts.iter().map(|part| part.named()).collect();
            named.join(" + ")
        }
        [first, .., last] => format!(
            "the {} figures from {} to {}",
            parts.len(),
            first.named(),
            last.named(),
        ),
        [one] => one.named(),
    }
}

/// Formats a difference as a percentage such as `-50 %`, or as a number such as `+1` if a
/// percentage would round to 0.
#[must_use]
pub fn by(value: f64, should: f64) -> String {
    let difference = value - should;
    let share = 100.0 * difference / should;
    if !share.is_finite() || share.abs() < 0.1 {
        let digits = if difference.abs() < 10.0 && difference.fract() != 0.0 {
            3
        } else {
            0
        };
        return format!("{difference:+.digits$}");
    }
    let digits = usize::from(share.abs() < 9.95);
    format!("{share:+.digits$} %")
}

const LONGEST_S: f64 = 1e9;

#[must_use]
pub fn time(seconds: f64) -> String {
    units::time((seconds.min(LONGEST_S) * 1e9) as u64)
}

#[must_use]
pub fn length(seconds: f64) -> String {
    units::duration((seconds.min(LONGEST_S) * 1e9) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_and_two_per_cent() {
        let range = |low, high| Range { low, high };
        assert_eq!(off(range(1.0, 2.0), range(2.0, 3.0)), Off::Not);
        assert_eq!(
            off(Range::exactly(100.0), Range::exactly(101.9)),
            Off::Little
        );
        assert_eq!(off(Range::exactly(100.0), Range::exactly(102.1)), Off::Much);
        assert_eq!(off(Range::exactly(102.1), Range::exactly(100.0)), Off::Much);
        assert_eq!(off(Range::exactly(0.0), Range::exactly(0.0)), Off::Not);
        assert_eq!(off(Range::ANY, Range::exactly(5.0)), Off::Not);
        assert!(above(Range::exactly(1.0), Range::exactly(0.0)));
        assert!(!above(Range::exactly(0.0), Range::exactly(0.0)));
    }

    #[test]
    fn differences_in_words() {
        assert_eq!(by(266.0, 527.0), "-50 %");
        assert_eq!(by(554.0, 527.0), "+5.1 %");
        assert_eq!(by(166_001.0, 166_000.0), "+1");
        assert_eq!(by(1.0, 0.0), "+1");
        assert_eq!(by(0.0, 0.0), "+0");
    }
}
