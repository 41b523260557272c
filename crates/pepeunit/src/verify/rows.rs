//! Fields of stored rows.

use serde_json::Value;

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

pub(super) fn is_well_told(row: &Value, input: &str) -> bool {
    let bytes = row["state"].as_str().map(str::len);
    row["state_type"] == input && row["size"].as_u64() == bytes.map(|bytes| bytes as u64)
}

pub(super) fn span_ms(row: &Value, from: &str, to: &str) -> Option<i64> {
    Some(moment_ms(&row[to])? - moment_ms(&row[from])?)
}

/// Parses a time such as `2026-01-02T03:04:05.678Z` to milliseconds since 1970.
pub(super) fn moment_ms(value: &Value) -> Option<i64> {
    let text = value
        .as_str()?
        .trim_end_matches('Z')
        .trim_end_matches("+00:00");
    let (day, time) = text.split_once(['T', ' '])?;
    let mut day = day.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (day.next()??, day.next()??, day.next()??);
    let (time, fraction) = time.split_once('.').unwrap_or((time, ""));
    let mut time = time.split(':').map(|part| part.parse::<i64>().ok());
    let (hour, minute, second) = (time.next()??, time.next()??, time.next()??);
    let ms: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    // Compute the days since 1970 with years that start in March.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = year * 365 + year.div_euclid(4) - year.div_euclid(100)
        + year.div_euclid(400)
        + (month * 153 + 2) / 5
        + day
        - 1
        - 719_468;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000 + ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn moments() {
        let ms = |text: &str| moment_ms(&json!(text));
        assert_eq!(ms("1970-01-01T00:00:00.001Z"), Some(1));
        assert_eq!(ms("2024-02-29T12:00:00+00:00"), Some(1_709_208_000_000));
        assert_eq!(ms("2024-02-29 12:00:00.5"), Some(1_709_208_000_500));
        assert_eq!(ms("soon"), None);
    }
}
