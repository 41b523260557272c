//! Values as the summary prints them.

use serde_json::Value;

use crate::{
    metric::{Contains, MetricType},
    text::{fixed, number, trimmed, truncated},
};

/// The unit of times, set by the option `summaryTimeUnit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TimeUnit {
    /// A suitable unit for each value.
    #[default]
    Auto,
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Milliseconds,
    /// Microseconds.
    Microseconds,
}

impl TimeUnit {
    /// Parses `s`, `ms` or `us`. Other texts give [`TimeUnit::Auto`].
    #[must_use]
    pub fn parse(text: &str) -> TimeUnit {
        match text {
            "s" => TimeUnit::Seconds,
            "ms" => TimeUnit::Milliseconds,
            "us" => TimeUnit::Microseconds,
            _ => TimeUnit::Auto,
        }
    }
}

/// Formats a value of a metric as percent, bytes, a time, or a plain number.
#[must_use]
pub fn humanize(value: f64, metric_type: MetricType, contains: Contains, unit: TimeUnit) -> String {
    if metric_type == MetricType::Rate {
        return percent(value);
    }
    match contains {
        Contains::Data => bytes(value),
        Contains::Time => time(value, unit),
        Contains::Default => trimmed(value, 6),
    }
}

/// Returns a JSON number, without decimals if it is whole. Returns null if it is not finite.
#[must_use]
pub fn json_value(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        return Value::from(value as i64);
    }
    Value::from(value)
}

/// Formats a share in percent, cut to two decimals.
#[must_use]
pub fn percent(share: f64) -> String {
    let cut = (share * 100.0 * 100.0).trunc() / 100.0;
    format!("{}%", fixed(cut, 2))
}

/// Formats a number of bytes with a decimal unit.
#[must_use]
pub fn bytes(value: f64) -> String {
    const UNITS: [&str; 5] = ["B", "kB", "MB", "GB", "TB"];
    if value < 10.0 {
        return format!("{} B", number(value));
    }
    let mut scaled = value;
    let mut index = 0;
    while scaled >= 1000.0 && index + 1 < UNITS.len() {
        scaled /= 1000.0;
        index += 1;
    }
    let rounded = (scaled * 10.0 + 0.5).floor() / 10.0;
    let decimals = usize::from(rounded < 10.0);
    let unit = UNITS.get(index).copied().unwrap_or_default();
    format!("{} {unit}", fixed(rounded, decimals))
}

/// Formats a time that is given in milliseconds.
#[must_use]
pub fn time(ms: f64, unit: TimeUnit) -> String {
    match unit {
        TimeUnit::Auto => automatic_time(ms),
        TimeUnit::Seconds => format!("{}s", fixed(ms * 0.001, 2)),
        TimeUnit::Milliseconds => format!("{}ms", fixed(ms, 2)),
        TimeUnit::Microseconds => format!("{}µs", fixed(ms * 1000.0, 2)),
    }
}

fn automatic_time(ms: f64) -> String {
    if ms == 0.0 {
        return "0s".to_owned();
    }
    if ms < 0.0 {
        return format!("-{}", automatic_time(-ms));
    }
    if ms < 0.001 {
        return format!("{}ns", (ms * 1_000_000.0).trunc());
    }
    if ms < 1.0 {
        return format!("{}µs", truncated(ms * 1000.0, 2));
    }
    if ms < 1000.0 {
        return format!("{}ms", truncated(ms, 2));
    }
    if ms < 60_000.0 {
        return format!("{}s", truncated(ms / 1000.0, 2));
    }
    let seconds = (ms / 1000.0).trunc();
    let (hours, minutes) = ((seconds / 3600.0).trunc(), (seconds / 60.0).trunc() % 60.0);
    match hours > 0.0 {
        true => format!("{}h{minutes}m{}s", number(hours), seconds % 60.0),
        false => format!("{minutes}m{}s", seconds % 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_suitable_units() {
        for (ms, text) in [
            (0.0, "0s"),
            (0.000_123, "123ns"),
            (0.123_456, "123.45µs"),
            (140.369, "140.36ms"),
            (120.0, "120ms"),
            (1_500.0, "1.5s"),
            (59_999.0, "59.99s"),
            (90_500.0, "1m30s"),
            (3_605_000.0, "1h0m5s"),
            (-2.5, "-2.5ms"),
        ] {
            assert_eq!(time(ms, TimeUnit::Auto), text);
        }
        assert_eq!(time(140.369, TimeUnit::Seconds), "0.14s");
        assert_eq!(time(140.369, TimeUnit::Milliseconds), "140.37ms");
        assert_eq!(time(0.5, TimeUnit::Microseconds), "500.00µs");
    }

    #[test]
    fn bytes_have_one_decimal_below_ten() {
        for (value, text) in [
            (0.0, "0 B"),
            (7.0, "7 B"),
            (718.0, "718 B"),
            (4_900.0, "4.9 kB"),
            (519_000.0, "519 kB"),
            (1e6, "1.0 MB"),
            (1e300, "1e+288 TB"),
        ] {
            assert_eq!(bytes(value), text);
        }
    }

    #[test]
    fn percents_are_cut() {
        assert_eq!(percent(60.0 / 90.0), "66.66%");
        assert_eq!(percent(1.0), "100.00%");
        assert_eq!(percent(0.0), "0.00%");
    }
}
