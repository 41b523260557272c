//! Number format with one decimal. Halves are rounded up.

use serde_json::Value;

pub(super) fn rounded(value: f64) -> f64 {
    (value * 10.0 + 0.5).floor() / 10.0
}

pub(super) fn decimal(value: f64) -> String {
    // Rust prints whole floats without a decimal point, and others with the shortest exact digits.
    format!("{value}")
}

pub(super) fn json(value: f64) -> Value {
    if value.fract() == 0.0 && value.abs() < 9e15 {
        Value::from(value as i64)
    } else {
        Value::from(value)
    }
}

/// Formats `1 minute, 5 seconds`. Larger units are omitted if they are zero.
pub(super) fn total_time(ms: u64) -> String {
    let seconds = ms / 1000;
    let parts = [
        (seconds / 86_400, "day"),
        (seconds / 3600 % 24, "hour"),
        (seconds / 60 % 60, "minute"),
        (seconds % 60, "second"),
    ];
    let first = parts
        .iter()
        .position(|(n, _)| *n > 0)
        .unwrap_or(parts.len() - 1);
    let words = parts[first..]
        .iter()
        .map(|(n, unit)| format!("{n} {unit}{}", if *n == 1 { "" } else { "s" }));
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_javascript_would() {
        assert_eq!(
            [0.05, 0.25, 1002.36, 8.0, 0.0, 99.949].map(|v| decimal(rounded(v))),
            ["0.1", "0.3", "1002.4", "8", "0", "99.9"]
        );
        assert_eq!([8.0, 8.4].map(|v| json(v).to_string()), ["8", "8.4"]);
        let times = [0, 999, 1_000, 65_000, 3_603_000, 90_061_000].map(total_time);
        assert_eq!(
            times,
            [
                "0 seconds",
                "0 seconds",
                "1 second",
                "1 minute, 5 seconds",
                "1 hour, 0 minutes, 3 seconds",
                "1 day, 1 hour, 1 minute, 1 second"
            ]
        );
    }
}
