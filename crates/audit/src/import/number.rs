//! Printed numbers with separators, exponent and unit, and the range of values that round to them.

use super::{
    figure::{Position, PrintedFigure, Range},
    lines::Word,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rounding {
    Nearest,
    Down,
    To(f64),
    Exact,
    Either,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Printed<'a> {
    pub value: f64,
    pub step: f64,
    pub rest: &'a str,
}

#[must_use]
pub fn scan(text: &str) -> Option<Printed<'_>> {
    let bytes = text.as_bytes();
    let digits = |from: usize| {
        let more = bytes[from..].iter().take_while(|b| b.is_ascii_digit());
        from + more.count()
    };
    let mut end = digits(0);
    if end == 0 {
        return None;
    }
    // Exactly three digits follow a thousands separator.
    let mut grouped = end <= 3;
    while grouped && bytes.get(end) == Some(&b',') {
        grouped = digits(end + 1) == end + 4;
        if grouped {
            end += 4;
        }
    }
    let mut decimals = 0;
    if bytes.get(end) == Some(&b'.') {
        let after = digits(end + 1);
        if after > end + 1 {
            decimals = after - end - 1;
            end = after;
        }
    }
    let mantissa = end;
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits((end + 1 + sign).min(bytes.len()));
        if after > end + 1 + sign {
            end = after;
        }
    }
    let plain: String = text[..end].chars().filter(|c| *c != ',').collect();
    let value: f64 = plain.parse().ok().filter(|value: &f64| value.is_finite())?;
    let power: i32 = text[mantissa..end].get(1..).map_or(Some(0), |e| {
        if e.is_empty() {
            Some(0)
        } else {
            e.parse().ok()
        }
    })?;
    let places = i32::try_from(decimals).ok()?;
    Some(Printed {
        value,
        step: 10f64.powi(power.saturating_sub(places)),
        rest: &text[end..],
    })
}

#[must_use]
pub fn range(printed: &Printed<'_>, rounding: Rounding) -> Range {
    let (value, step) = (printed.value, printed.step);
    let (below, above) = match rounding {
        Rounding::Nearest => (step / 2.0, step / 2.0),
        Rounding::Down => (0.0, step),
        Rounding::To(unit) => (unit / 2.0, unit / 2.0),
        Rounding::Exact => (0.0, 0.0),
        Rounding::Either => (step / 2.0, step),
    };
    Range {
        low: (value - below).max(0.0),
        high: value + above,
    }
}

/// Parses a figure. The whole text must be a number with a unit that `scale` accepts.
pub fn figure(
    name: impl Into<String>,
    text: &str,
    place: Position,
    rounding: Rounding,
    scale: impl Fn(&str) -> Option<f64>,
) -> Option<PrintedFigure> {
    let printed = scan(text)?;
    let factor = scale(printed.rest)?;
    let range = range(&printed, rounding);
    let value = printed.value * factor;
    value.is_finite().then(|| PrintedFigure {
        name: name.into(),
        text: text.to_owned(),
        unit: "",
        place,
        value,
        range: Range {
            low: range.low * factor,
            high: range.high * factor,
        },
    })
}

#[must_use]
pub fn plain(unit: &str) -> Option<f64> {
    unit.is_empty().then_some(1.0)
}

#[must_use]
pub fn time(unit: &str) -> Option<f64> {
    Some(match unit {
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    })
}

#[must_use]
pub fn metric(unit: &str) -> Option<f64> {
    let power = ["", "k", "M", "G", "T", "P"]
        .iter()
        .position(|u| *u == unit)?;
    Some(1000f64.powi(power as i32))
}

#[must_use]
pub fn binary(unit: &str) -> Option<f64> {
    let power = ["B", "KB", "MB", "GB", "TB", "PB"]
        .iter()
        .position(|u| *u == unit)?;
    Some(1024f64.powi(power as i32))
}

#[must_use]
pub fn percent(unit: &str) -> Option<f64> {
    (unit == "%").then_some(0.01)
}

pub(super) fn word(
    name: impl Into<String>,
    word: Word<'_>,
    rounding: Rounding,
    scale: fn(&str) -> Option<f64>,
) -> Option<PrintedFigure> {
    figure(name, word.text, word.place, rounding, scale)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_with_separators_points_and_exponents() {
        let value = |text| scan(text).map(|p| (p.value, p.step, p.rest.to_owned()));
        assert_eq!(value("166000"), Some((166_000.0, 1.0, String::new())));
        assert_eq!(value("166,000"), Some((166_000.0, 1.0, String::new())));
        assert_eq!(value("13.40ms"), Some((13.4, 0.01, "ms".into())));
        assert_eq!(value("1,5"), Some((1.0, 1.0, ",5".into())));
        assert_eq!(value("1234,567"), Some((1234.0, 1.0, ",567".into())));
        assert_eq!(value("9e-05"), Some((9e-5, 1e-5, String::new())));
        assert_eq!(value("7."), Some((7.0, 1.0, ".".into())));
        for none in ["", "-5", ".5", "nan", "-nan", "N/A", "1e999", "٣"] {
            assert_eq!(value(none), None, "{none}");
        }
    }

    #[test]
    fn units_scale_and_digits_bound() {
        let place = Position::default();
        let runtime = figure("t", "1.00m", place, Rounding::Nearest, time).unwrap();
        assert_eq!(runtime.value, 60.0);
        assert!(
            (runtime.range.low - 59.7).abs() < 1e-9 && (runtime.range.high - 60.3).abs() < 1e-9
        );
        let cut = figure("a", "277", place, Rounding::Down, plain).unwrap();
        assert_eq!((cut.range.low, cut.range.high), (277.0, 278.0));
        assert_eq!(
            figure("b", "1.00KB", place, Rounding::Nearest, binary).map(|f| f.value),
            Some(1024.0)
        );
        assert_eq!(figure("b", "1.00x", place, Rounding::Nearest, binary), None);
        assert_eq!(metric("k"), Some(1000.0));
    }

    proptest! {
        #[test]
        fn any_text_is_a_number_or_none(text in "[-0-9.,eE+kms%٣]{0,24}|.*") {
            if let Some(printed) = scan(&text) {
                prop_assert!(printed.value.is_finite() && printed.value >= 0.0);
                prop_assert!(text.ends_with(printed.rest));
            }
        }
    }
}
