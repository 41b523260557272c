//! Parses CSV with a time column and metric columns, as exported by the consoles of CloudWatch,
//! Grafana and Datadog. Rows before the first time are headers.

use std::{borrow::Cow, collections::BTreeMap};

use super::{layout::Layout, quantity::quantity};
use crate::import::csv::{self, CsvRecord};

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ExternalSample {
    pub from_wall_ns: i128,
    pub at_wall_ns: i128,
    pub value: f64,
}

#[derive(Debug)]
pub(super) struct MetricTable {
    pub columns: Vec<MetricColumn>,
}

#[derive(Debug)]
pub(super) struct MetricColumn {
    pub name: String,
    /// Group or series named in a text column.
    pub instance: Option<String>,
    /// `%`, `s`, `B`, or empty if the cells have no unit.
    pub unit: String,
    pub samples: Vec<ExternalSample>,
}

const SECOND: i128 = 1_000_000_000;

pub(super) fn read(text: &str) -> Result<MetricTable, String> {
    let (text, delimiter) = delimited(text.trim_start_matches('\u{feff}'));
    let records = csv::records_with(&text, delimiter);
    let time_of = |record: &CsvRecord| {
        let mut columns = 0..record.len();
        columns.find(|column| cell(record, *column).is_some_and(|text| moment(text).is_some()))
    };
    let found = records.iter().enumerate();
    let mut found = found.filter_map(|(line, record)| Some((line, time_of(record)?)));
    let (first, time) = found.next().ok_or(
        ": no line begins with a time: the first column must be a time (2026-11-23T10:00:00Z, or seconds or milliseconds since 1970), the others metrics",
    )?;
    let (heads, data) = records.split_at(first);
    let layout = Layout::new(heads, data, time)?;
    let period = heads.iter().find_map(|head| {
        let text = cell(head, 0).filter(|text| text.eq_ignore_ascii_case("period"));
        text.and_then(|_| cell(head, 1)?.parse::<u32>().ok())
    });
    let mut rows: Vec<(i128, &CsvRecord)> = Vec::new();
    for record in data {
        let at = cell(record, time).and_then(moment);
        let at = at.ok_or_else(|| wrong(record, time, "is not a time"))?;
        rows.push((at, record));
    }
    // Some consoles print the newest row first.
    rows.sort_by_key(|(at, _)| *at);
    let gaps = rows.windows(2).map(|pair| pair[1].0 - pair[0].0);
    let mut gaps: Vec<i128> = gaps.filter(|gap| *gap > 0).collect();
    gaps.sort_unstable();
    let usual = gaps.get(gaps.len() / 2).copied().unwrap_or(SECOND);
    let mut columns: Vec<MetricColumn> = Vec::new();
    let mut last: BTreeMap<(usize, usize), i128> = BTreeMap::new();
    for (at, record) in &rows {
        for (number, metric) in layout.metrics.iter().enumerate() {
            let place = layout.place(&mut columns, metric, record);
            if last.insert((number, place), *at) == Some(*at) {
                let text = "occurs twice: use one column for each metric";
                return Err(wrong(record, time, text));
            }
            let Some(text) = cell(record, metric.column).filter(|text| !is_nothing(text)) else {
                continue;
            };
            let quantity = quantity(text).ok_or_else(|| {
                wrong(
                    record,
                    metric.column,
                    "is not a number, or has an unknown unit",
                )
            })?;
            if !quantity.value.is_finite() {
                continue;
            }
            let (from_wall_ns, at_wall_ns) = match period {
                Some(period) => (*at, at + i128::from(period) * SECOND),
                None => (at - usual, *at),
            };
            let column = &mut columns[place];
            quantity.unit.clone_into(&mut column.unit);
            column.samples.push(ExternalSample {
                from_wall_ns,
                at_wall_ns,
                value: quantity.value,
            });
        }
    }
    Ok(MetricTable { columns })
}

/// Returns the delimiter, and the text without the line `sep=;` that is meant for spreadsheets.
fn delimited(text: &str) -> (Cow<'_, str>, char) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    if let Some(delimiter) = first
        .trim()
        .strip_prefix("sep=")
        .and_then(|rest| rest.chars().next())
    {
        // An empty line preserves the line numbers in errors.
        return (Cow::Owned(format!("\n{rest}")), delimiter);
    }
    let is_semicolons = first.contains(';') && !first.contains(',');
    (Cow::Borrowed(text), if is_semicolons { ';' } else { ',' })
}

pub(super) fn cell(record: &CsvRecord, number: usize) -> Option<&str> {
    record.field(number).map(|word| word.text)
}

pub(super) fn wrong(record: &CsvRecord, number: usize, what: &str) -> String {
    let word = record.field(number);
    let place = word
        .as_ref()
        .map_or_else(|| record.place(), |word| word.place);
    let text = word.map_or("", |word| word.text);
    format!(":{}:{}: `{text:.40}` {what}", place.line, place.column)
}

pub(super) fn is_nothing(text: &str) -> bool {
    text.is_empty()
        || ["null", "nan", "-"]
            .iter()
            .any(|no| text.eq_ignore_ascii_case(no))
}

/// Parses a time: ISO 8601 (in UTC if it has no zone), or seconds or milliseconds since 1970.
fn moment(text: &str) -> Option<i128> {
    if let Ok(number) = text.parse::<f64>() {
        // The limit distinguishes seconds before the year 5138 from milliseconds after 1973.
        return match number {
            1e8..1e11 => Some((number * 1e3).round() as i128 * 1_000_000),
            1e11..1e14 => Some(number.round() as i128 * 1_000_000),
            _ => None,
        };
    }
    let text = text.trim_end_matches("UTC").trim_end().replace('/', "-");
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return Some(moment.as_nanosecond());
    }
    let civil: jiff::civil::DateTime = text.parse().ok()?;
    text.contains(':').then_some(())?;
    let zoned = civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_nanosecond())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const AT: i128 = 1_700_000_000 * SECOND;

    #[test]
    fn times_in_their_usual_forms() {
        for text in [
            "1700000000",
            "1700000000.0",
            "1700000000000",
            "2023-11-14T22:13:20Z",
            "2023-11-14T23:13:20+01:00",
            "2023-11-14 22:13:20",
            "2023-11-14 22:13:20 UTC",
            "2023/11/14 22:13:20",
        ] {
            assert_eq!(moment(text), Some(AT), "{text}");
        }
        for text in [
            "",
            "12",
            "time",
            "2023-11-14",
            "-1700000000",
            "inf",
            "14.11.2023 22:13",
        ] {
            assert_eq!(moment(text), None, "{text}");
        }
    }

    fn sample(from_wall_ns: i128, value: f64, seconds: i128) -> ExternalSample {
        ExternalSample {
            from_wall_ns,
            at_wall_ns: from_wall_ns + seconds * SECOND,
            value,
        }
    }
    #[test]
    fn plain_times_are_ends_and_times_with_periods_are_starts() {
        let plain = read("time,CPU %,queue\n1700000010,50,\n1700000000,40,3\n").unwrap();
        assert_eq!(plain.columns[0].name, "CPU %");
        assert_eq!(
            plain.columns[0].samples,
            [sample(AT - 10 * SECOND, 40.0, 10), sample(AT, 50.0, 10)]
        );
        assert_eq!(plain.columns[1].samples.len(), 1);
        let console = "\"Full label\",\"CPUUtilization of i-1\"\nLabel,CPUUtilization\nStat,Average\nPeriod,60\n2023/11/14 22:13:20,7.5\n";
        let console = read(console).unwrap();
        assert_eq!(console.columns[0].name, "CPUUtilization");
        assert_eq!(console.columns[0].samples, [sample(AT, 7.5, 60)]);
    }

    #[test]
    fn exports_of_consoles_are_read() {
        // Grafana: one row for each value, with a name column, for spreadsheets.
        let long = "sep=;\n\"Series\";\"Time\";\"Value\"\n\"free\";\"2023-11-14T22:13:20+00:00\";20\n\"busy\";\"2023-11-14T22:13:20+00:00\";1,234.5\n";
        let long = read(long).unwrap();
        let names: Vec<&str> = long
            .columns
            .iter()
            .map(|column| column.name.as_str())
            .collect();
        assert_eq!(names, ["free", "busy"]);
        assert_eq!(long.columns[1].samples[0].value, 1234.5);
        // Grafana: joined by time, formatted, with labels in the names.
        let wide =
            "\"Time\",\"cpu{instance=\"\"a\"\", job=\"\"x\"\"}\"\n2023-11-14 22:13:20,45.1 %\n";
        let wide = &read(wide).unwrap().columns[0];
        assert_eq!((wide.name.as_str(), wide.unit.as_str()), ("cpu", "%"));
        assert_eq!(wide.instance.as_deref(), Some("instance=a,job=x"));
        // Datadog: with a column of groups.
        let grouped =
            "timestamp,group,puma.backlog\n1700000000000,host:a,1\n1700000000000,host:b,3\n";
        let grouped = read(grouped).unwrap();
        let instances = grouped
            .columns
            .iter()
            .map(|column| column.instance.as_deref());
        assert_eq!(
            instances.collect::<Vec<_>>(),
            [Some("host:a"), Some("host:b")]
        );
        assert!(
            grouped
                .columns
                .iter()
                .all(|column| column.name == "puma.backlog")
        );
    }

    #[test]
    fn errors_have_locations() {
        for (text, message) in [
            ("", ": no line begins with a time"),
            ("a,b\nc,d\n", ": no line begins with a time"),
            ("1700000000,1\n", ":1:1: the first line is data"),
            ("time,a\n1700000000,many\n", ":2:12: `many` is not a number"),
            (
                "time,a\n1700000000,5 parsecs\n",
                ":2:12: `5 parsecs` is not a number, or has an unknown",
            ),
            (
                "time,a\n1700000000,1\nlater,2\n",
                ":3:1: `later` is not a time",
            ),
            (
                "time,a\n1700000000,1\n1700000000,2\n",
                ":3:1: `1700000000` occurs twice",
            ),
            (
                "time,a,a\n1700000000,1,2\n",
                ":1:8: `a` is the name of two columns",
            ),
            ("time,a\n1700000000,1,2\n", ":1:1: column 3 has no name"),
        ] {
            let reason = read(text).unwrap_err();
            assert!(reason.starts_with(message), "{text}: {reason}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(time|1700000000|Label|Period|,|\n|\"|-|é|2023-11-14 22:13:20|[0-9]{1,16}|\\PC){0,30}") {
            let _ = read(&text);
        }
    }
}
