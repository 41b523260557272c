//! Custom metrics: columns of the report's table, and lines for the terminal.

use analysis::summary::{CustomRow, SHARE, SUM};
use record::units;

/// Statistics that always have a column.
const STATISTICS: [&str; 6] = ["min", "mean", "p50", "p95", "p99", "max"];

/// Returns the statistics of a row's histogram with their formatted values. Percentiles are in
/// ascending order.
pub fn statistics(row: &CustomRow) -> Vec<(String, String)> {
    let names = names(std::slice::from_ref(row));
    let cell = |name: String| Some((figure(row, &name)?, name));
    let cells = names.into_iter().filter_map(cell);
    cells.map(|(value, name)| (name, value)).collect()
}

/// Returns the names of all statistics in the rows.
pub fn names(rows: &[CustomRow]) -> Vec<String> {
    let values = || rows.iter().filter_map(|row| row.values.as_ref());
    let mut names: Vec<String> = STATISTICS.map(str::to_owned).to_vec();
    let more = values().flat_map(|values| values.keys());
    names.extend(
        more.filter(|name| !STATISTICS.contains(&name.as_str()))
            .cloned(),
    );
    let place = |name: &String| -> f64 {
        match name.as_str() {
            SHARE | SUM => -3.0,
            "min" => -2.0,
            "mean" => -1.0,
            "max" => 1000.0,
            percentile => percentile[1..].parse().unwrap_or(999.0),
        }
    };
    names.sort_by(|a, b| place(a).total_cmp(&place(b)));
    names.dedup();
    names
}

/// Formats a statistic, with a mark if a criterion judges it. `None` if the row does not have it.
pub fn figure(row: &CustomRow, name: &str) -> Option<String> {
    let value = row.values.as_ref()?.get(name)?;
    let text = match name {
        SHARE => units::share(*value),
        _ => units::figure(*value, ""),
    };
    Some(text + mark(row, &format!("values/{name}")))
}

pub fn count(row: &CustomRow) -> String {
    units::count(row.count) + mark(row, "count")
}

pub fn per_second(row: &CustomRow) -> String {
    units::rate(row.per_second) + mark(row, "per_second")
}

/// Returns whether a criterion judges any figure of the rows.
pub fn has_marks(rows: &[CustomRow]) -> bool {
    rows.iter().any(|row| !row.judged.is_empty())
}

fn mark(row: &CustomRow, figure: &str) -> &'static str {
    if row.judged.iter().any(|judged| judged == figure) {
        "*"
    } else {
        ""
    }
}
