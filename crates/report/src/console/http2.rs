//! HTTP/2 in the terminal: its figures, and what requests waited for.

use analysis::summary::Summary;

use super::{
    Detail,
    text::{Columns, wrap},
};
use crate::http2;

/// Figures that are shown without `--verbose`, because they are events rather than levels.
const BRIEF: [&str; 6] = [
    "sent again",
    "on lost connections",
    "RST_STREAM received",
    "RST_STREAM sent",
    "GOAWAY received",
    "uploads blocked",
];

pub(super) fn render(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let facts = http2::facts(summary);
    let is_shown = |name: &str| detail == Detail::Full || BRIEF.contains(&name);
    let facts = facts.iter().filter(|fact| is_shown(fact.name));
    let mut lines: Vec<String> = facts
        .enumerate()
        .map(|(at, fact)| match (at, fact.name) {
            (0, name) => format!("HTTP/2     {name}: {}", fact.text),
            (_, name) => format!("           {name}: {}", fact.text),
        })
        .map(|line| wrap(&line, 11, columns))
        .collect();
    let sentence = summary
        .http2
        .as_ref()
        .and_then(|http2| http2.sentence.as_ref());
    lines.extend(sentence.map(|sentence| wrap(&format!("           {sentence}"), 11, columns)));
    lines.join("\n")
}
