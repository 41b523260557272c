//! Units: durations in nanoseconds, exact rates, and the native grammar `number + ns us ms s m h d`
//! and `number + /s /m /h /d`.

use serde::Serialize;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: u64 = 1_000;
/// Nanoseconds in a millisecond.
pub const MILLISECOND: u64 = 1_000_000;
/// Nanoseconds in a second.
pub const SECOND: u64 = 1_000_000_000;
/// Nanoseconds in a minute.
pub const MINUTE: u64 = 60 * SECOND;
/// Nanoseconds in an hour.
pub const HOUR: u64 = 60 * MINUTE;
/// Nanoseconds in a day.
pub const DAY: u64 = 24 * HOUR;

/// Maximum duration in a plan: 100 days, so that all products fit into 128 bits.
pub const MAX_DURATION: u64 = 100 * DAY;

/// A number of events per second, as an exact fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    /// Number of events.
    pub count: u64,
    /// Period in which `count` events happen, in nanoseconds.
    pub per_ns: u64,
}

impl Rate {
    /// Creates a rate of a whole number of events per second.
    #[must_use]
    pub const fn per_second(count: u64) -> Rate {
        Rate {
            count,
            per_ns: SECOND,
        }
    }

    /// Returns the exact fraction for a decimal number with at most six decimals.
    #[must_use]
    pub fn from_f64(per_second: f64) -> Option<Rate> {
        if !(0.0..=1e9).contains(&per_second) {
            return None;
        }
        // Up to a billion, the product is exact in 53 bits.
        let millionths = (per_second * 1e6).round();
        Some(
            Rate {
                count: millionths as u64,
                per_ns: 1_000_000 * SECOND,
            }
            .reduced(),
        )
    }

    /// Reduces a ratio of any size. Rounds it if it exceeds 62 bits. Returns `None` if the result
    /// would be zero.
    #[must_use]
    pub fn ratio(count: u128, per_ns: u128) -> Option<Rate> {
        let divisor = wide_gcd(count, per_ns).max(1);
        let (mut count, mut per_ns) = (count / divisor, per_ns / divisor);
        // Limit the size, because the product with another rate or a duration must fit into 128
        // bits.
        let mut excess = 0;
        while count.max(per_ns) >> excess >= 1 << 62 {
            excess += 1;
        }
        if excess > 0 {
            // Round the smaller number and scale the larger one accordingly, to keep the ratio.
            let ratio = count as f64 / per_ns as f64;
            if count < per_ns {
                count = (count >> excess).max(u128::from(count > 0));
                per_ns = (count as f64 / ratio) as u128;
            } else {
                per_ns = (per_ns >> excess).max(1);
                count = (per_ns as f64 * ratio) as u128;
            }
        }
        let rate = Rate {
            count: u64::try_from(count).ok()?,
            per_ns: u64::try_from(per_ns).ok()?,
        };
        (rate.per_ns > 0 && rate.as_f64() <= 1e9).then_some(rate)
    }

    /// Returns the sum of the two rates.
    #[must_use]
    pub fn plus(self, other: Rate) -> Option<Rate> {
        let [a, b] = [self, other].map(|rate| (u128::from(rate.count), u128::from(rate.per_ns)));
        Rate::ratio(a.0 * b.1 + b.0 * a.1, a.1 * b.1)
    }

    /// Returns this rate multiplied by a fraction.
    #[must_use]
    pub fn times(self, numerator: u64, denominator: u64) -> Option<Rate> {
        let scaled = |part: u64, by: u64| u128::from(part) * u128::from(by);
        Rate::ratio(
            scaled(self.count, numerator),
            scaled(self.per_ns, denominator),
        )
    }

    /// Returns the number of events per second.
    #[must_use]
    pub fn as_f64(self) -> f64 {
        self.count as f64 * SECOND as f64 / self.per_ns as f64
    }

    /// Returns whether the rate is zero.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.count == 0
    }

    /// Returns the number of whole events in a duration.
    #[must_use]
    pub fn events_in(self, duration_ns: u64) -> u64 {
        (u128::from(self.count) * u128::from(duration_ns) / u128::from(self.per_ns)) as u64
    }

    fn reduced(self) -> Rate {
        let g = gcd(self.count, self.per_ns).max(1);
        Rate {
            count: self.count / g,
            per_ns: self.per_ns / g,
        }
    }
}

impl Serialize for Rate {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.as_f64())
    }
}

fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

fn wide_gcd(mut a: u128, mut b: u128) -> u128 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

/// An error in a quantity, a criterion or a similar text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GrammarError {
    /// Offset of the error, in bytes from the start of the parsed text.
    pub offset: usize,
    /// What is wrong and what would be valid, on one line.
    pub message: String,
}

impl GrammarError {
    /// Formats the error on one line, with its subject, the text and the position.
    #[must_use]
    pub fn describe(&self, subject: &str, text: &str) -> String {
        let before = &text[..self.offset.min(text.len())];
        format!(
            "{subject} '{text}', column {}: {self}",
            before.chars().count() + 1
        )
    }
}

impl std::fmt::Display for GrammarError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for GrammarError {}

/// A number with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "unit", content = "value", rename_all = "lowercase")]
pub enum Quantity {
    /// A number without unit.
    Number(f64),
    /// A duration, in nanoseconds.
    Duration(u64),
    /// A share, where 1.0 is 100 %.
    Share(f64),
    /// Events per second.
    PerSecond(f64),
}

/// Parses a quantity such as `10`, `1.5s`, `200ms`, `1 %` or `200/s`. Fails unless the text is a
/// non-negative number, optionally with a known unit.
pub fn parse_quantity(text: &str) -> Result<Quantity, GrammarError> {
    let trimmed = text.trim_start();
    let lead = text.len() - trimmed.len();
    let trimmed = trimmed.trim_end();
    let digits = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let error = |offset: usize, message: String| GrammarError {
        offset: lead + offset,
        message,
    };
    let number: f64 = trimmed[..digits].replace('_', "").parse().map_err(|_| {
        error(0, format!("`{trimmed}` is not a quantity: use a number followed by one of ns us ms s m h d, %, /s /m /h /d"))
    })?;
    let unit = trimmed[digits..].trim_start();
    let duration = |scale: u64| {
        let ns = number * scale as f64;
        if ns > MAX_DURATION as f64 {
            return Err(error(0, format!("`{trimmed}` is longer than 100 days")));
        }
        Ok(Quantity::Duration(ns.round() as u64))
    };
    match unit {
        "" => Ok(Quantity::Number(number)),
        "ns" => duration(1),
        "us" | "µs" => duration(MICROSECOND),
        "ms" => duration(MILLISECOND),
        "s" => duration(SECOND),
        "m" | "min" => duration(MINUTE),
        "h" => duration(HOUR),
        "d" => duration(DAY),
        "%" => Ok(Quantity::Share(number / 100.0)),
        "/s" => Ok(Quantity::PerSecond(number)),
        "/m" => Ok(Quantity::PerSecond(number / 60.0)),
        "/h" => Ok(Quantity::PerSecond(number / 3600.0)),
        "/d" => Ok(Quantity::PerSecond(number / 86_400.0)),
        other => Err(error(
            trimmed.len() - other.len(),
            format!(
                "`{other}` is not a unit: use ns us ms s m h d for time, % for shares, /s /m /h /d for rates"
            ),
        )),
    }
}

/// Parses a positive duration such as `10s`. A bare number is rejected, because its unit is
/// ambiguous.
pub fn parse_duration(text: &str) -> Result<u64, GrammarError> {
    match parse_quantity(text)? {
        Quantity::Duration(0) => Err(GrammarError {
            offset: 0,
            message: "a duration must be longer than zero".into(),
        }),
        Quantity::Duration(ns) => Ok(ns),
        Quantity::Number(_) => Err(GrammarError {
            offset: 0,
            message: format!(
                "`{}` has no unit: use, for example, {}s",
                text.trim(),
                text.trim()
            ),
        }),
        _ => Err(GrammarError {
            offset: 0,
            message: format!("`{}` is not a duration: use ns us ms s m h d", text.trim()),
        }),
    }
}

/// Parses a size such as `2kB`, in powers of 1,000. A bare number is rejected, because its unit is
/// ambiguous.
pub fn parse_size(text: &str) -> Result<u64, GrammarError> {
    let trimmed = text.trim();
    let digits = trimmed
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(trimmed.len());
    let scale = match trimmed[digits..].trim_start() {
        "B" => 1.0,
        "kB" | "KB" => 1e3,
        "MB" => 1e6,
        "GB" => 1e9,
        _ => 0.0,
    };
    match trimmed[..digits].replace('_', "").parse::<f64>() {
        Ok(number) if scale > 0.0 && number * scale <= 1e15 => Ok((number * scale).round() as u64),
        _ => Err(GrammarError {
            offset: 0,
            message: format!("`{trimmed}` is not a size: use, for example, 800B, 2kB or 1.5MB"),
        }),
    }
}

/// Parses an exact rate: `100/m` is 100 events in 60 seconds.
pub fn parse_rate(text: &str) -> Result<Rate, GrammarError> {
    let trimmed = text.trim();
    let refused = |message: String| Err(GrammarError { offset: 0, message });
    let (number, per_ns) = match trimmed.split_once('/') {
        None => (trimmed, SECOND),
        Some((number, "s")) => (number.trim(), SECOND),
        Some((number, "m" | "min")) => (number.trim(), MINUTE),
        Some((number, "h")) => (number.trim(), HOUR),
        Some((number, "d")) => (number.trim(), DAY),
        Some((_, unit)) => {
            return refused(format!("`/{unit}` is not a unit of rate: use /s /m /h /d"));
        }
    };
    if trimmed.starts_with('-') {
        return refused(format!("`{trimmed}` is negative: use a rate of 0 or more"));
    }
    match number
        .replace('_', "")
        .parse::<f64>()
        .ok()
        .and_then(Rate::from_f64)
    {
        Some(rate) => {
            let scaled = u128::from(rate.per_ns) * u128::from(per_ns / SECOND);
            Rate::ratio(u128::from(rate.count), scaled).ok_or_else(|| GrammarError {
                offset: 0,
                message: format!("`{trimmed}` has too many digits for a rate"),
            })
        }
        None => refused(format!(
            "`{trimmed}` is not a rate: use, for example, 200/s, 90/m or 3000/h"
        )),
    }
}

/// Parses the grammar of the `ms` package (`500ms`, `1.5 minutes`, `2h`, or a bare number of
/// milliseconds), which Artillery uses for templated think times. Returns nanoseconds.
#[must_use]
pub fn parse_ms_grammar(text: &str) -> Option<f64> {
    if text.is_empty() || text.len() > 100 {
        return None;
    }
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '-'))
        .unwrap_or(text.len());
    let number: f64 = text[..digits].parse().ok()?;
    let unit = text[digits..].trim_start_matches(' ').to_ascii_lowercase();
    let scale = match unit.as_str() {
        "" | "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => MILLISECOND as f64,
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND as f64,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE as f64,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR as f64,
        "d" | "day" | "days" => DAY as f64,
        "w" | "week" | "weeks" => 7.0 * DAY as f64,
        "y" | "yr" | "yrs" | "year" | "years" => 365.25 * DAY as f64,
        _ => return None,
    };
    Some(number * scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_parsed() {
        assert_eq!(parse_quantity("200ms"), Ok(Quantity::Duration(200_000_000)));
        assert_eq!(
            parse_quantity(" 1.5 s "),
            Ok(Quantity::Duration(1_500_000_000))
        );
        assert_eq!(parse_quantity("1 %"), Ok(Quantity::Share(0.01)));
        assert_eq!(parse_quantity("120/m"), Ok(Quantity::PerSecond(2.0)));
        assert_eq!(parse_quantity("7"), Ok(Quantity::Number(7.0)));
        assert_eq!(parse_quantity("7 parsecs").map_err(|e| e.offset), Err(2));
        assert!(parse_quantity("-1s").is_err());
        assert!(parse_quantity("200d").is_err());
    }

    #[test]
    fn durations_require_a_unit() {
        assert_eq!(parse_duration("10s"), Ok(10 * SECOND));
        assert!(parse_duration("10").is_err_and(|e| e.message.contains("no unit")));
        assert!(parse_duration("0s").is_err());
        assert!(parse_duration("10/s").is_err());
    }

    #[test]
    fn sizes_require_a_unit() {
        assert_eq!(parse_size("2kB"), Ok(2000));
        assert_eq!(parse_size(" 1.5 MB "), Ok(1_500_000));
        for bad in ["2000", "kB", "2k", "-1B", "1e3B", "9999999GB"] {
            assert!(
                parse_size(bad).is_err_and(|e| e.message.contains("not a size")),
                "{bad}"
            );
        }
    }

    #[test]
    fn rates_are_exact() {
        assert_eq!(parse_rate("200/s"), Ok(Rate::per_second(200).reduced()));
        let rate = parse_rate("100/m").expect("a rate");
        assert_eq!(rate.events_in(MINUTE), 100);
        assert_eq!(parse_rate("0.5").map(|r| r.events_in(10 * SECOND)), Ok(5));
        assert!(parse_rate("-3/s").is_err_and(|e| e.message.contains("negative")));
        assert!(parse_rate("3/x").is_err());
    }

    #[test]
    fn rates_add_up_and_multiply_exactly() {
        let [a, b] = ["35260/h", "145000/h"].map(|text| parse_rate(text).expect("a rate"));
        let both = a.plus(b).expect("a rate");
        assert_eq!(both.events_in(HOUR), 180_260);
        let half = both.times(1, 2).expect("a rate");
        assert_eq!(half.events_in(HOUR), 90_130);
        // A rate that needs more than 62 bits loses its last digits.
        let odd = parse_rate("0.333333/d").expect("a rate");
        let sum = (0..20).try_fold(odd, |sum, n| sum.plus(odd.times(1_000_003, 999_983 + n)?));
        let expected = odd.as_f64()
            * (1.0
                + (0..20)
                    .map(|n| 1_000_003.0 / f64::from(999_983 + n))
                    .sum::<f64>());
        assert!(sum.is_some_and(|sum| (sum.as_f64() / expected - 1.0).abs() < 1e-9));
        assert_eq!(Rate::ratio(u128::MAX, 1), None);
    }

    #[test]
    fn ms_grammar_is_parsed() {
        let ns = |text| parse_ms_grammar(text).map(|ns| ns as u64);
        assert_eq!(ns("5m"), Some(300 * SECOND));
        assert_eq!(ns("0.5 min"), Some(30 * SECOND));
        assert_eq!(ns("500ms"), Some(SECOND / 2));
        assert_eq!(ns("9 seconds"), Some(9 * SECOND));
        assert_eq!(ns("1.5H"), Some(5400 * SECOND));
        assert_eq!(ns("1h30m"), None);
        assert_eq!(ns("soon"), None);
    }
}
