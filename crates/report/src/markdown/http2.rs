//! Section of `report.md` about HTTP/2.

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::http2;
use analysis::summary::Summary;

pub fn connections(summary: &Summary) -> String {
    let mut table = MarkdownTable::new(&["HTTP/2", "<Figure"]);
    for fact in http2::facts(summary) {
        table.row([fact.name.to_owned(), fact.text]);
    }
    if table.is_empty() {
        return String::new();
    }
    let sentence = summary
        .http2
        .as_ref()
        .and_then(|http2| http2.sentence.as_deref());
    section(
        "HTTP/2",
        &format!("{table}\n{}", escaped(sentence.unwrap_or_default())),
    )
}
