//! Parses numbers as printed by monitoring consoles, with units and thousands separators.

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Quantity {
    pub value: f64,
    /// `%`, `s`, `B`, or empty.
    pub unit: &'static str,
}

/// Suffixes, each with the resulting unit and factor.
const UNITS: [(&str, &str, f64); 20] = [
    ("%", "%", 1.0),
    ("s", "s", 1.0),
    ("ms", "s", 1e-3),
    ("µs", "s", 1e-6),
    ("us", "s", 1e-6),
    ("min", "s", 60.0),
    ("B", "B", 1.0),
    ("kB", "B", 1e3),
    ("KB", "B", 1e3),
    ("MB", "B", 1e6),
    ("GB", "B", 1e9),
    ("TB", "B", 1e12),
    ("KiB", "B", 1024.0),
    ("MiB", "B", 1_048_576.0),
    ("GiB", "B", 1_073_741_824.0),
    ("TiB", "B", 1_099_511_627_776.0),
    ("K", "", 1e3),
    ("k", "", 1e3),
    ("Mil", "", 1e6),
    ("Bil", "", 1e9),
];

/// Returns `None` if the text is not a number, or if its unit is unknown.
pub(super) fn quantity(text: &str) -> Option<Quantity> {
    if let Ok(value) = text.parse::<f64>() {
        return value.is_finite().then_some(Quantity { value, unit: "" });
    }
    let is_number = |c: char| c.is_ascii_digit() || ['.', ',', '-', '+'].contains(&c);
    let end = text.find(|c| !is_number(c)).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let value: f64 = ungrouped(number)?.parse().ok()?;
    let suffix = suffix.trim();
    if suffix.is_empty() {
        return Some(Quantity { value, unit: "" });
    }
    let (_, unit, factor) = UNITS.into_iter().find(|(known, ..)| *known == suffix)?;
    Some(Quantity {
        value: value * factor,
        unit,
    })
}

/// Removes thousands separators. Returns `None` if a comma is anything else.
fn ungrouped(number: &str) -> Option<String> {
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let mut groups = whole.split(',');
    let first = groups.next()?;
    let is_grouped = groups.clone().all(|group| group.len() == 3);
    let is_first = !whole.contains(',') || first.trim_start_matches(['-', '+']).len() <= 3;
    (is_grouped && is_first && !part.contains(',')).then(|| number.replace(',', ""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_units_and_groups() {
        for (text, value, unit) in [
            ("45.1 %", 45.1, "%"),
            ("350 ms", 0.35, "s"),
            ("1.5 KiB", 1536.0, "B"),
            ("1,721,992,142.283", 1_721_992_142.283, ""),
            ("-3", -3.0, ""),
            ("2 K", 2000.0, ""),
        ] {
            let found = quantity(text).unwrap();
            assert!(
                (found.value - value).abs() < 1e-9 * value.abs(),
                "{text}: {found:?}"
            );
            assert_eq!(found.unit, unit, "{text}");
        }
        for text in [
            "",
            "many",
            "1,5",
            "12 parsecs",
            "1,2345",
            "host:a",
            "inf",
            "NaN",
        ] {
            assert_eq!(quantity(text), None, "{text}");
        }
    }
}
