//! Durations in the formats of Go, with k6's additions: days, and numbers of milliseconds.
//!
//! Entry points: [`DurationNs::parse`] for options, [`DurationNs::parse_go`] for `--stage`,
//! `Display` for Go's format (`1m0s`), and [`fixed_width`] for progress lines.

use std::fmt;

use serde_json::Value;

const MICROSECOND: u64 = 1_000;
const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// A duration in nanoseconds. It may be negative.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct DurationNs(pub i64);

/// The error for a text that is not a valid duration. Contains the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurationError(pub String);

impl fmt::Display for DurationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not a valid duration value", self.0)
    }
}

impl std::error::Error for DurationError {}

impl DurationNs {
    /// Creates a duration of whole seconds. Saturates.
    #[must_use]
    pub const fn from_secs(seconds: i64) -> DurationNs {
        DurationNs(seconds.saturating_mul(SECOND as i64))
    }

    /// Returns the duration in nanoseconds, or 0 if it is negative.
    #[must_use]
    pub fn non_negative(self) -> u64 {
        u64::try_from(self.0).unwrap_or(0)
    }

    /// Parses milliseconds (`1500`, `0.5`), or units with an optional leading number of days
    /// (`1h30m`, `1d2h`).
    ///
    /// # Errors
    ///
    /// Fails if the text has another form, or if the duration does not fit into 64 bits.
    pub fn parse(text: &str) -> Result<DurationNs, DurationError> {
        parse_milliseconds(text)
            .or_else(|| parse_extended(text))
            .map(DurationNs)
            .ok_or_else(|| DurationError(text.to_owned()))
    }

    /// Parses a duration with units but without days, such as `1h30m`, `-1.5s` or `0`.
    ///
    /// # Errors
    ///
    /// Fails if the text has another form or does not fit into 64 bits.
    pub fn parse_go(text: &str) -> Result<DurationNs, DurationError> {
        parse_units(text)
            .map(DurationNs)
            .ok_or_else(|| DurationError(text.to_owned()))
    }

    /// Reads a JSON number of milliseconds, or a text in the format of [`DurationNs::parse`].
    ///
    /// # Errors
    ///
    /// Fails for values of other types, and for invalid texts.
    pub fn parse_json(value: &Value) -> Result<DurationNs, DurationError> {
        match value {
            Value::String(text) => DurationNs::parse(text),
            Value::Number(number) => {
                DurationNs::parse(&number.to_string()).map_err(|_| bad_value(value))
            }
            _ => Err(bad_value(value)),
        }
    }
}

fn bad_value(value: &Value) -> DurationError {
    DurationError(value.to_string())
}

fn parse_milliseconds(text: &str) -> Option<i64> {
    if let Ok(whole) = text.parse::<i64>() {
        return whole.checked_mul(MILLISECOND as i64);
    }
    // Rust also accepts words such as `inf`.
    if !text.bytes().all(|byte| b"0123456789.eE+-".contains(&byte)) {
        return None;
    }
    let ns = text.parse::<f64>().ok()? * MILLISECOND as f64;
    (ns.abs() < i64::MAX as f64).then_some(ns as i64)
}

fn parse_extended(text: &str) -> Option<i64> {
    let Some((days, rest)) = text.split_once('d') else {
        return parse_units(text);
    };
    let is_negative = days.starts_with('-');
    let days = days.strip_prefix(['-', '+']).unwrap_or(days);
    if days.is_empty() || !days.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let days = days.parse::<i64>().ok()?.checked_mul(DAY as i64)?;
    let rest = match rest.as_bytes().first() {
        None => 0,
        Some(b'-' | b'+') => return None,
        Some(_) => parse_units(rest)?,
    };
    let total = days.checked_add(rest)?;
    Some(if is_negative { -total } else { total })
}

/// Parses a signed sequence of numbers with units.
fn parse_units(text: &str) -> Option<i64> {
    let is_negative = text.starts_with('-');
    let mut rest = text.strip_prefix(['-', '+']).unwrap_or(text);
    if rest == "0" {
        return Some(0);
    }
    if rest.is_empty() {
        return None;
    }
    let mut total = 0_u64;
    while !rest.is_empty() {
        let part = take_part(rest)?;
        total = total.checked_add(part.ns)?;
        rest = part.rest;
    }
    match (is_negative, i64::try_from(total)) {
        (false, Ok(ns)) => Some(ns),
        (true, Ok(ns)) => Some(-ns),
        (true, Err(_)) if total == 1 << 63 => Some(i64::MIN),
        _ => None,
    }
}

struct Part<'a> {
    ns: u64,
    rest: &'a str,
}

/// Parses one number with its unit at the beginning of a text.
fn take_part(text: &str) -> Option<Part<'_>> {
    let (whole, rest) = take_digits(text);
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => take_digits(rest),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let end = rest.find(|c: char| c == '.' || c.is_ascii_digit());
    let (unit, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let unit_ns = match unit {
        "ns" => 1,
        "us" | "µs" | "μs" => MICROSECOND,
        "ms" => MILLISECOND,
        "s" => SECOND,
        "m" => MINUTE,
        "h" => HOUR,
        _ => return None,
    };
    let whole = if whole.is_empty() {
        0
    } else {
        whole.parse::<u64>().ok()?
    };
    let ns = whole.checked_mul(unit_ns)?;
    Some(Part {
        ns: ns.checked_add(fraction_of(fraction, unit_ns))?,
        rest,
    })
}

fn take_digits(text: &str) -> (&str, &str) {
    let end = text.find(|c: char| !c.is_ascii_digit());
    text.split_at(end.unwrap_or(text.len()))
}

/// Converts decimals of a unit to whole nanoseconds. Digits after the 18th have no effect.
fn fraction_of(digits: &str, unit_ns: u64) -> u64 {
    let digits = digits.get(..18).unwrap_or(digits);
    let Ok(numerator) = digits.parse::<u128>() else {
        return 0;
    };
    let scale = 10_u128.pow(u32::try_from(digits.len()).unwrap_or(18));
    u64::try_from(numerator * u128::from(unit_ns) / scale).unwrap_or(0)
}

impl fmt::Display for DurationNs {
    /// Prints Go's format: `1h0m5s`, `1.5s`, `500ms`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 < 0 {
            f.write_str("-")?;
        }
        let ns = self.0.unsigned_abs();
        if ns == 0 {
            return f.write_str("0s");
        }
        if ns < SECOND {
            let (unit_ns, unit) = match ns {
                _ if ns < MICROSECOND => (1, "ns"),
                _ if ns < MILLISECOND => (MICROSECOND, "µs"),
                _ => (MILLISECOND, "ms"),
            };
            return write_fraction(f, ns, unit_ns, unit);
        }
        if ns >= HOUR {
            write!(f, "{}h", ns / HOUR)?;
        }
        if ns >= MINUTE {
            write!(f, "{}m", ns % HOUR / MINUTE)?;
        }
        write_fraction(f, ns % MINUTE, SECOND, "s")
    }
}

fn write_fraction(f: &mut fmt::Formatter<'_>, ns: u64, unit_ns: u64, unit: &str) -> fmt::Result {
    write!(f, "{}", ns / unit_ns)?;
    let rest = ns % unit_ns;
    if rest > 0 {
        let width = unit_ns.ilog10() as usize;
        let digits = format!("{rest:0width$}");
        write!(f, ".{}", digits.trim_end_matches('0'))?;
    }
    f.write_str(unit)
}

/// Returns a duration rounded to 0.1 s, with as many digits as `limit` needs: `05.0s`, `0m05.0s`.
///
/// A duration beyond the limit gets as many digits as it needs. Negative durations count as 0.
#[must_use]
pub fn fixed_width(duration: DurationNs, limit: DurationNs) -> String {
    let tenths = (duration.non_negative() + SECOND / 20) / (SECOND / 10);
    let limit = limit.non_negative().max(tenths * (SECOND / 10));
    let seconds = tenths / 10;
    let last = tenths % 10;
    let (d, h, m, s) = (
        seconds / 86_400,
        seconds / 3_600 % 24,
        seconds / 60 % 60,
        seconds % 60,
    );
    match limit {
        _ if limit < 10 * SECOND => format!("{s}.{last}s"),
        _ if limit < MINUTE => format!("{s:02}.{last}s"),
        _ if limit < 10 * MINUTE => format!("{m}m{s:02}.{last}s"),
        _ if limit < HOUR => format!("{m:02}m{s:02}.{last}s"),
        _ if limit < 10 * HOUR => format!("{h}h{m:02}m{s:02}.{last}s"),
        _ if limit < DAY => format!("{h:02}h{m:02}m{s:02}.{last}s"),
        _ => {
            let width = (limit / DAY).ilog10() as usize + 1;
            format!("{d:0width$}d{h:02}h{m:02}m{s:02}.{last}s")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ns(text: &str) -> i64 {
        DurationNs::parse(text).unwrap().0
    }

    #[test]
    fn durations_have_units_or_are_milliseconds() {
        assert_eq!(ns("10"), 10_000_000);
        assert_eq!(ns("0.5"), 500_000);
        assert_eq!(ns("1h30m"), 5_400 * SECOND as i64);
        assert_eq!(ns("1d2h"), 26 * HOUR as i64);
        assert_eq!(ns("2d"), 48 * HOUR as i64);
        assert_eq!(ns("1.5s"), 1_500_000_000);
        assert_eq!(ns(".5ms"), 500_000);
        assert_eq!(ns("1µs2us3ns"), 3_003);
        assert_eq!(ns("-5s"), -5 * SECOND as i64);
        assert_eq!(ns("-1d1s"), -((DAY + SECOND) as i64));
        assert_eq!(ns("0"), 0);
    }

    #[test]
    fn other_texts_are_refused_with_k6s_error() {
        for text in [
            "",
            "5x",
            "s",
            "1",
            "1s ",
            "1d-2h",
            "d",
            "inf",
            "99999999999h",
            ".",
        ] {
            if text != "1" {
                let error = DurationNs::parse(text).unwrap_err().to_string();
                assert_eq!(error, format!("'{text}' is not a valid duration value"));
            }
            assert!(DurationNs::parse_go(text).is_err(), "{text}");
        }
        assert!(DurationNs::parse_go("1d").is_err());
        assert!(DurationNs::parse_json(&serde_json::json!(true)).is_err());
        assert_eq!(
            DurationNs::parse_json(&serde_json::json!(1500)),
            Ok(DurationNs(1_500_000_000))
        );
    }

    #[test]
    fn durations_are_printed_as_in_go() {
        for (ns, text) in [
            (0, "0s"),
            (1, "1ns"),
            (1_500, "1.5µs"),
            (500_000_000, "500ms"),
            (1_000_000_000, "1s"),
            (1_500_000_000, "1.5s"),
            (60_000_000_000, "1m0s"),
            (600_000_000_000, "10m0s"),
            (3_605_000_000_000, "1h0m5s"),
            (-1_000, "-1µs"),
        ] {
            assert_eq!(DurationNs(ns).to_string(), text);
        }
    }

    #[test]
    fn fixed_form_depends_on_the_limit() {
        let five = DurationNs::from_secs(5);
        for (limit, text) in [
            (9, "5.0s"),
            (30, "05.0s"),
            (60, "0m05.0s"),
            (600, "00m05.0s"),
            (3_600, "0h00m05.0s"),
            (36_000, "00h00m05.0s"),
            (86_400, "0d00h00m05.0s"),
            (864_000, "00d00h00m05.0s"),
        ] {
            assert_eq!(fixed_width(five, DurationNs::from_secs(limit)), text);
        }
        assert_eq!(fixed_width(DurationNs(59_960_000_000), five), "1m00.0s");
        assert_eq!(fixed_width(DurationNs(i64::MIN), five), "0.0s");
        assert_eq!(
            fixed_width(DurationNs(i64::MAX), five),
            "106751d23h47m16.9s"
        );
    }

    proptest! {
        #[test]
        fn printed_durations_are_read_again(ns in any::<i64>()) {
            let text = DurationNs(ns).to_string();
            prop_assert_eq!(DurationNs::parse_go(&text), Ok(DurationNs(ns)));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "[-+0-9.eEdhmsnuµ ]{0,12}|.{0,12}") {
            let _ = DurationNs::parse(&text);
            let _ = DurationNs::parse_go(&text);
        }
    }
}
