//! Log of the live view: output of the test, notes and events. Keeps only the newest lines.

use std::{
    collections::VecDeque,
    fmt::Display,
    sync::{Arc, Mutex, PoisonError},
};

use record::{Event, EventKind};
use serde::Serialize;
use worker::{
    OutputLine,
    clock::{self, Zero},
};

use crate::messages::{MessageSink, SharedMessageSink};

const MOST_LINES: usize = 200;
/// Maximum length of a line. A test may print whole responses.
const LONGEST: usize = 500;

#[derive(Debug, Clone)]
pub struct Log {
    zero_ns: u64,
    entries: Arc<Mutex<LogLines>>,
}

#[derive(Debug, Default)]
struct LogLines {
    lines: VecDeque<LogEntry>,
    gone: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LogEntry {
    at_ns: u64,
    /// Type of the line: `message` (printed by the test), `remark`, `warning`, `error`, `phase` or
    /// `stop`.
    kind: &'static str,
    text: String,
}

#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct NewestLines {
    lines: Vec<LogEntry>,
    left_out: usize,
}

impl Log {
    pub fn from(zero: Zero) -> Log {
        Log {
            zero_ns: zero.monotonic_ns,
            entries: Arc::default(),
        }
    }

    pub fn line(&self, line: &OutputLine) {
        match line {
            OutputLine::Log { text, .. }
            | OutputLine::Trace(text)
            | OutputLine::Text(text)
            | OutputLine::ErrorText(text) => {
                self.add("message", text);
            }
            OutputLine::Step(_)
            | OutputLine::Error(_)
            | OutputLine::Secret(_)
            | OutputLine::Remark(_)
            | OutputLine::Negotiated { .. } => {}
        }
    }

    pub fn overhear(&self, sink: &SharedMessageSink) -> SharedMessageSink {
        Arc::new(Overheard {
            log: self.clone(),
            sink: Arc::clone(sink),
        })
    }

    pub fn with(&self, events: &[Event]) -> NewestLines {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        // The page shows slow requests in a table.
        let events = events
            .iter()
            .filter(|event| event.event != EventKind::SlowRequest);
        let newest = events.clone().count().saturating_sub(MOST_LINES);
        let mut lines: Vec<LogEntry> = events.skip(newest).map(LogEntry::from_event).collect();
        lines.extend(entries.lines.iter().cloned());
        lines.sort_by_key(|entry| entry.at_ns);
        let more = lines.len().saturating_sub(MOST_LINES);
        lines.drain(..more);
        NewestLines {
            lines,
            left_out: newest + entries.gone + more,
        }
    }

    fn add(&self, kind: &'static str, text: &str) {
        let at_ns = clock::monotonic_ns().saturating_sub(self.zero_ns);
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.lines.push_back(LogEntry {
            at_ns,
            kind,
            text: cut(text),
        });
        if entries.lines.len() > MOST_LINES {
            entries.lines.pop_front();
            entries.gone += 1;
        }
    }
}

impl LogEntry {
    fn from_event(event: &Event) -> LogEntry {
        LogEntry {
            at_ns: event.at_ns,
            kind: match event.event {
                EventKind::PhaseStarted | EventKind::PhaseCompleted => "phase",
                EventKind::LoadChanged => "load",
                EventKind::Warning | EventKind::NodeLost => "warning",
                EventKind::FirstError => "error",
                EventKind::Stop | EventKind::Interrupt => "stop",
                EventKind::Finding
                | EventKind::Unmeasured
                | EventKind::Negotiated
                | EventKind::Threshold
                | EventKind::SlowRequest
                | EventKind::Note => "remark",
            },
            text: cut(&event.text),
        }
    }
}

fn cut(text: &str) -> String {
    let text = text.trim_end_matches('\n');
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

struct Overheard {
    log: Log,
    sink: SharedMessageSink,
}

impl MessageSink for Overheard {
    fn say(&self, line: &dyn Display) {
        self.log.add("remark", &line.to_string());
        self.sink.say(line);
    }

    fn warning(&self, line: &dyn Display) {
        self.log.add("warning", &line.to_string());
        self.sink.warning(line);
    }

    fn error(&self, line: &dyn Display) {
        self.log.add("error", &line.to_string());
        self.sink.error(line);
    }

    fn out(&self, text: &str) {
        self.log.add("message", text);
        self.sink.out(text);
    }

    fn document(&self, text: &str) {
        self.sink.document(text);
    }

    // Do not log this line, because the function must not block.
    fn last_words(&self, line: &dyn Display) {
        self.sink.last_words(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log() -> Log {
        Log {
            zero_ns: clock::monotonic_ns(),
            entries: Arc::default(),
        }
    }

    #[test]
    fn lines_and_events_are_ordered_by_time() {
        let log = log();
        let early = Event::new(0, EventKind::PhaseStarted, "phase 1 started");
        let late = Event::new(u64::MAX, EventKind::Stop, "stopped");
        log.add("message", "hello\n");
        let rendered = log.with(&[early, late]);
        let lines: Vec<_> = rendered.lines.iter().map(|l| (l.kind, &*l.text)).collect();
        let expected = [
            ("phase", "phase 1 started"),
            ("message", "hello"),
            ("stop", "stopped"),
        ];
        assert_eq!((lines.as_slice(), rendered.left_out), (&expected[..], 0));
    }

    #[test]
    fn the_newest_lines_are_kept_and_the_others_counted() {
        let log = log();
        let all = MOST_LINES * 3;
        (0..all).for_each(|n| log.add("message", &n.to_string()));
        let events: Vec<_> = (0..all)
            .map(|n| Event::new(0, EventKind::Warning, n.to_string()))
            .collect();
        let rendered = log.with(&events);
        assert_eq!(rendered.lines.len(), MOST_LINES);
        assert_eq!(rendered.left_out, 2 * all - MOST_LINES);
        assert_eq!(rendered.lines.last().unwrap().text, (all - 1).to_string());
        log.add("message", &"é".repeat(LONGEST + 1));
        let long = log.with(&[]).lines.pop().unwrap().text;
        assert_eq!(long.chars().count(), LONGEST + 1);
    }
}
