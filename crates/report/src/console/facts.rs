//! Protocol figures in the terminal.

use analysis::summary::Summary;
use record::units;

use super::{
    Detail,
    text::{Columns, wrap},
};
use crate::{facts::Fact, http2, socketio, websocket};

/// HTTP/2 figures that are shown without `--verbose`, because they are events instead of levels.
const BRIEF_HTTP2: [&str; 6] = [
    "sent again",
    "on lost connections",
    "RST_STREAM received",
    "RST_STREAM sent",
    "GOAWAY received",
    "uploads blocked",
];

pub(super) fn http2(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let facts = http2::facts(summary);
    let is_shown = |fact: &&Fact| detail == Detail::Full || BRIEF_HTTP2.contains(&fact.name);
    let mut lines = lines("HTTP/2", facts.iter().filter(is_shown), columns);
    let sentence = summary
        .http2
        .as_ref()
        .and_then(|http2| http2.sentence.as_ref());
    lines.extend(sentence.map(|sentence| wrap(&format!("           {sentence}"), 11, columns)));
    lines.join("\n")
}

/// Number of slowest traced requests to show, without and with `--verbose`.
const TRACED: [usize; 2] = [3, 20];

pub(super) fn traces(summary: &Summary, columns: Columns, detail: Detail) -> String {
    let Some(traces) = &summary.traces else {
        return String::new();
    };
    let head = format!("Traced     {}", traces.sentence);
    let mut lines = vec![wrap(&head, 11, columns)];
    let most = TRACED[usize::from(detail == Detail::Full)];
    let slowest = traces.most_useful(most, most);
    for one in &slowest {
        let line = format!(
            "{:11}{} at {} {} ({}) trace {}",
            "",
            units::time(one.response_ns),
            units::moment(one.intended_ns),
            one.text,
            one.outcome(),
            one.ids.trace_id
        );
        lines.push(wrap(&line, 13, columns));
    }
    lines.join("\n")
}

pub(super) fn websocket(summary: &Summary, columns: Columns) -> String {
    lines("WebSocket", websocket::facts(summary).iter(), columns).join("\n")
}

pub(super) fn socketio(summary: &Summary, columns: Columns) -> String {
    lines("Socket.IO", socketio::facts(summary).iter(), columns).join("\n")
}

fn lines<'f>(title: &str, facts: impl Iterator<Item = &'f Fact>, columns: Columns) -> Vec<String> {
    let lines = facts.enumerate().map(|(at, fact)| {
        let title = if at == 0 { title } else { "" };
        let line = format!("{title:<11}{}: {}", fact.name, fact.text);
        wrap(&line, 11, columns)
    });
    lines.collect()
}
