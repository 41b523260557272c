//! Section of `report.md` about custom metrics.

use super::{sections::section, table::MarkdownTable};
use crate::custom;
use analysis::summary::Summary;

const MEANING: &str = "Counts of a counter are sums, the other counts are numbers of values, events, errors or evaluations. The rate of a sum is its sum per second. The script determines the unit of the values.";

pub fn metrics(summary: &Summary) -> String {
    if summary.custom.is_empty() {
        return String::new();
    }
    let names = custom::names(&summary.custom);
    let mut table = MarkdownTable::new(&["Metric", "<Type", "Count", "Per second"]);
    table.add_columns(names.iter().cloned());
    for row in &summary.custom {
        let figure = |name: &String| custom::figure(row, name).unwrap_or_default();
        let cells = [
            row.name.clone(),
            row.kind.clone(),
            custom::count(row),
            custom::per_second(row),
        ];
        table.row(cells.into_iter().chain(names.iter().map(figure)));
    }
    let judged = if custom::has_marks(&summary.custom) {
        " \\*: judged by a criterion."
    } else {
        ""
    };
    section("Custom metrics", &format!("{table}\n{MEANING}{judged}"))
}
