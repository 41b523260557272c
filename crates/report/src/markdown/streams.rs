//! Section of `report.md` about streamed responses.

use super::{sections::section, table::MarkdownTable};
use crate::streams::{self, STATISTICS};
use analysis::summary::Summary;

pub fn streams(summary: &Summary) -> String {
    let rows = streams::rows(summary);
    if rows.is_empty() && summary.goodput.is_empty() {
        return String::new();
    }
    let mut heads = vec!["Request", "<Time"];
    heads.extend(STATISTICS.map(|(name, _)| name));
    let mut table = MarkdownTable::new(&heads);
    let mut lines = Vec::new();
    for (row, stream) in &rows {
        for time in streams::times(stream) {
            let own = [row.text.clone(), time.name.to_owned()];
            let cells = STATISTICS.map(|(_, key)| streams::cell(summary, row, &time, key));
            table.row(own.into_iter().chain(cells));
        }
        let counts = streams::counts(summary, row, stream);
        let line = format!("{}: {counts}", row.text);
        lines.push(format!("- {}", super::table::escaped(&line)));
    }
    let goodput = summary.goodput.iter().enumerate();
    lines.extend(goodput.map(|(index, row)| {
        let text = streams::goodput(summary, index, row);
        format!("- {}", super::table::escaped(&text))
    }));
    let has_marks = |text: &str| text.contains('*');
    let table = if rows.is_empty() {
        String::new()
    } else {
        table.to_string()
    };
    let lines = lines.join("\n");
    let judged = if has_marks(&table) || has_marks(&lines) {
        " \\*: judged by a criterion."
    } else {
        ""
    };
    if rows.is_empty() {
        return section("Goodput", &format!("{lines}{judged}"));
    }
    let mut meaning = streams::MEANING.to_owned();
    if let Some(first) = meaning.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    section(
        "Streamed responses",
        &format!("{table}\n{lines}\n\n{meaning}{judged}"),
    )
}
