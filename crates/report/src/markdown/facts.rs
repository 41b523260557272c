//! Sections of `report.md` about protocols.

use super::{
    sections::section,
    table::{MarkdownTable, escaped},
};
use crate::{facts::Fact, http2, socketio, websocket};
use analysis::summary::Summary;

pub fn http2(summary: &Summary) -> String {
    let sentence = summary
        .http2
        .as_ref()
        .and_then(|http2| http2.sentence.as_deref());
    table("HTTP/2", http2::facts(summary), sentence)
}

pub fn websocket(summary: &Summary) -> String {
    table("WebSocket", websocket::facts(summary), None)
}

pub fn socketio(summary: &Summary) -> String {
    table("Socket.IO", socketio::facts(summary), None)
}

fn table(title: &str, facts: Vec<Fact>, sentence: Option<&str>) -> String {
    let mut table = MarkdownTable::new(&[title, "<Figure"]);
    for fact in facts {
        table.row([fact.name.to_owned(), fact.text]);
    }
    if table.is_empty() {
        return String::new();
    }
    let sentence = escaped(sentence.unwrap_or_default());
    section(title, &format!("{table}\n{sentence}"))
}
