//! Formats numbers with three significant digits and a unit, or with thousands separators. Ties
//! round to even.

use plan::units::{HOUR, MICROSECOND, MILLISECOND, MINUTE, SECOND};

/// Formats a time, such as `412 µs`, `1.23 ms` or `2.05 s`.
#[must_use]
pub fn time(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..999_500 => format!("{} µs", three_digits(ns as f64 / MICROSECOND as f64)),
        999_500..999_500_000 => format!("{} ms", three_digits(ns as f64 / MILLISECOND as f64)),
        _ if ns < 10 * MINUTE => format!("{} s", three_digits(ns as f64 / SECOND as f64)),
        _ => duration(ns),
    }
}

/// Formats the times of an interval in the unit of `of_ns`, which appears once: `950 to 1,200 ms`.
#[must_use]
pub fn time_interval(low_ns: u64, word: &str, high_ns: u64, of_ns: u64) -> String {
    match TimeUnit::of(of_ns) {
        Some(unit) => format!(
            "{} {word} {} {}",
            unit.digits(low_ns),
            unit.digits(high_ns),
            unit.name
        ),
        None => format!("{} {word} {}", time(low_ns), time(high_ns)),
    }
}

/// The unit in which [`time`] formats a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeUnit {
    pub name: &'static str,
    ns: u64,
}

impl TimeUnit {
    /// Returns the unit for a time. `None` from ten minutes, which [`time`] formats in several
    /// units.
    #[must_use]
    pub fn of(ns: u64) -> Option<TimeUnit> {
        let (name, ns) = match ns {
            0..1_000 => ("ns", 1),
            1_000..999_500 => ("µs", MICROSECOND),
            999_500..999_500_000 => ("ms", MILLISECOND),
            _ if ns < 10 * MINUTE => ("s", SECOND),
            _ => return None,
        };
        Some(TimeUnit { name, ns })
    }

    /// Formats a duration in this unit, without the unit suffix: `0.950`, `12.3`, `1,200`.
    #[must_use]
    pub fn digits(self, ns: u64) -> String {
        let value = ns as f64 / self.ns as f64;
        if self.ns == 1 || ns == 0 || value >= 999.5 {
            return count(value.round_ties_even() as u64);
        }
        if value >= 0.9995 {
            return three_digits(value);
        }
        let (mut decimals, mut scaled) = (2, value);
        while scaled < 0.9995 && decimals < 6 {
            (decimals, scaled) = (decimals + 1, scaled * 10.0);
        }
        format!("{value:.decimals$}")
    }
}

#[must_use]
pub fn duration(ns: u64) -> String {
    if ns < MINUTE {
        return match ns {
            0 => "0 s".into(),
            _ if ns < MICROSECOND => format!("{ns} ns"),
            _ if ns < MILLISECOND => format!("{} µs", decimal(ns as f64 / MICROSECOND as f64)),
            _ if ns < SECOND => format!("{} ms", decimal(ns as f64 / MILLISECOND as f64)),
            _ => format!("{} s", decimal(ns as f64 / SECOND as f64)),
        };
    }
    let seconds = ns / SECOND + u64::from(ns % SECOND >= SECOND / 2);
    let parts = [
        (seconds / (HOUR / SECOND), "h"),
        (seconds / 60 % 60, "min"),
        (seconds % 60, "s"),
    ];
    let rendered: Vec<String> = parts
        .iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, unit)| format!("{n} {unit}"))
        .collect();
    rendered.join(" ")
}

#[must_use]
pub fn moment(ns: u64) -> String {
    duration(ns / MILLISECOND * MILLISECOND)
}

#[must_use]
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with at most three decimals: `200`, `0.5`, `1.667`.
#[must_use]
pub fn decimal(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Joins names, as in `a, b and c`.
#[must_use]
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}

#[must_use]
pub fn times(n: u64) -> String {
    match n {
        1 => "once".into(),
        2 => "twice".into(),
        n => format!("{} times", count(n)),
    }
}

/// Formats a rate: three significant digits below 1,000, otherwise whole numbers.
#[must_use]
pub fn rate(per_second: f64) -> String {
    if per_second == 0.0 {
        "0".into()
    } else if per_second < 999.5 {
        three_digits(per_second)
    } else {
        count(per_second.round_ties_even() as u64)
    }
}

/// Formats a share with three significant digits: `0 %`, `0.012 %`, `100 %`. Only exact values are
/// printed as 0 % or 100 %.
#[must_use]
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if percent == 0.0 || percent == 100.0 {
        return format!("{percent:.0} %");
    }
    if percent > 999.5 {
        return format!("{} %", count(percent.round_ties_even() as u64));
    }
    if percent > 99.9 && percent < 100.0 {
        return format!("{} %", decimal((percent * 1000.0).floor() / 1000.0));
    }
    if percent < 0.001 {
        return "<0.001 %".into();
    }
    if percent < 1.0 {
        format!("{} %", decimal(percent))
    } else {
        format!("{} %", three_digits(percent))
    }
}

#[must_use]
pub fn bytes(n: u64) -> String {
    let units = ["kB", "MB", "GB", "TB", "PB"];
    if n < 1000 {
        return format!("{n} B");
    }
    let mut value = n as f64 / 1000.0;
    let mut unit = 0;
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    format!("{} {}", three_digits(value), units[unit])
}

/// Formats a value with three significant digits, or with all digits before the decimal point if
/// there are more.
#[must_use]
pub fn figure(value: f64, unit: &str) -> String {
    match unit {
        "B" | "B/s" if value >= 1000.0 => {
            let per = unit.trim_start_matches('B');
            format!("{}{per}", bytes(value.round() as u64))
        }
        "s" if value >= 0.0 => time((value * SECOND as f64).round() as u64),
        _ => format!("{} {unit}", significant(value))
            .trim_end()
            .to_owned(),
    }
}

fn significant(value: f64) -> String {
    if value.abs() < 0.001 {
        return format!("{value}");
    }
    if value.abs() < 999.5 {
        return decimal(
            three_digits(value.abs())
                .parse::<f64>()
                .map_or(value, |v| v.copysign(value)),
        );
    }
    let whole = count(value.abs().round_ties_even() as u64);
    if value < 0.0 {
        format!("-{whole}")
    } else {
        whole
    }
}

fn three_digits(value: f64) -> String {
    if value < 9.995 {
        format!("{value:.2}")
    } else if value < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_has_one_unit() {
        let ms = |ms: u64| ms * MILLISECOND;
        for (low, high, of, text) in [
            (ms(950), ms(1_200), ms(987), "950 to 1,200 ms"),
            (ms(950), ms(1_200), ms(1_000), "0.950 to 1.20 s"),
            (ms(12), ms(13), ms(12), "12.0 to 13.0 ms"),
            (0, ms(2_500), ms(5), "0 to 2,500 ms"),
            (900, 12_000, 1_000, "0.900 to 12.0 µs"),
            (1_000, ms(1_000), ms(1_000), "0.000001 to 1.00 s"),
            (500, 2_000, 999, "500 to 2,000 ns"),
            (10 * MINUTE, 11 * MINUTE, 10 * MINUTE, "10 min to 11 min"),
        ] {
            assert_eq!(time_interval(low, "to", high, of), text);
        }
    }

    #[test]
    fn the_page_rounds_alike() {
        let cases: serde_json::Value =
            serde_json::from_str(include_str!("units_cases.json")).unwrap();
        let all = ["time", "count", "decimal", "rate", "share", "bytes"];
        let mut seen = 0;
        for name in all {
            for case in cases[name].as_array().unwrap() {
                let (value, text) = (case[0].as_f64().unwrap(), case[1].as_str().unwrap());
                let rendered = match name {
                    "time" => time(value as u64),
                    "count" => count(value as u64),
                    "decimal" => decimal(value),
                    "rate" => rate(value),
                    "share" => share(value),
                    _ => bytes(value as u64),
                };
                assert_eq!(rendered, text, "{name} of {value}");
                seen += 1;
            }
        }
        assert_eq!(cases.as_object().map(serde_json::Map::len), Some(all.len()));
        assert!(seen > 30, "{seen}");
    }

    #[test]
    fn figures_in_the_unit_of_their_source() {
        for (value, unit, rendered) in [
            (78_799.301, "B/s", "78.8 kB/s"),
            (812.4, "B/s", "812 B/s"),
            (2_500_000.0, "B", "2.50 MB"),
            (55.0, "%", "55 %"),
            (12.345, "%", "12.3 %"),
            (0.0123, "s", "12.3 ms"),
            (0.25, "", "0.25"),
            (0.0, "%", "0 %"),
            (-3.456, "", "-3.46"),
            (12_345.6, "/s", "12,346 /s"),
        ] {
            assert_eq!(figure(value, unit), rendered);
        }
    }

    #[test]
    fn times_have_three_digits() {
        for (ns, rendered) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (1_000, "1.00 µs"),
            (9_996, "10.0 µs"),
            (412_300, "412 µs"),
            (999_499, "999 µs"),
            (999_600, "1.00 ms"),
            (1_234_567, "1.23 ms"),
            (99_960_000, "100 ms"),
            (2_050_000_000, "2.05 s"),
            (60_000_000_000, "60.0 s"),
            (599_000_000_000, "599 s"),
            (3_600_000_000_000, "1 h"),
        ] {
            assert_eq!(time(ns), rendered);
        }
    }

    #[test]
    fn durations_counts_rates_and_shares() {
        let durations = [
            10 * SECOND,
            150 * SECOND,
            HOUR,
            1_500_000_000,
            200 * MILLISECOND,
            0,
        ]
        .map(duration);
        assert_eq!(
            durations,
            ["10 s", "2 min 30 s", "1 h", "1.5 s", "200 ms", "0 s"]
        );
        assert_eq!(
            [0, 999, 1000, 1_234_567].map(count),
            ["0", "999", "1,000", "1,234,567"]
        );
        assert_eq!(
            [0, 1, 2, 1_234].map(times),
            ["0 times", "once", "twice", "1,234 times"]
        );
        assert_eq!(
            [0.0, 0.5, 9.999, 123.4, 999.6, 54_321.0].map(rate),
            ["0", "0.50", "10.0", "123", "1,000", "54,321"]
        );
        let shares = [
            0.0,
            0.000_000_1,
            0.000_12,
            0.0123,
            0.5,
            0.999_999_9,
            1.0,
            1.413_82,
            142.95,
        ]
        .map(share);
        assert_eq!(
            shares,
            [
                "0 %", "<0.001 %", "0.012 %", "1.23 %", "50.0 %", "99.999 %", "100 %", "141 %",
                "14,295 %"
            ]
        );
        assert_eq!(
            [0, 999, 1_234, 5_600_000_000].map(bytes),
            ["0 B", "999 B", "1.23 kB", "5.60 GB"]
        );
        assert_eq!(
            [200.0, 0.5, 5.0 / 3.0].map(decimal),
            ["200", "0.5", "1.667"]
        );
    }

    #[test]
    fn names_are_listed_as_in_a_sentence() {
        assert_eq!(listed(&[""; 0]), "");
        assert_eq!(listed(&["a"]), "a");
        assert_eq!(listed(&["a", "b"]), "a and b");
        assert_eq!(listed(&["a", "b", "c"]), "a, b and c");
    }
}
