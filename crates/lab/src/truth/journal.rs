//! The lab's log: one line for the start, one per request in order of release, and one per stall. A
//! separate thread writes the log, so that the file system does not delay responses.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::stall::Windows;
use crate::LabError;
use crate::log::RequestLog;

/// Interval between writes. Frequent short writes avoid occupying a core that the lab needs.
const PAUSE: Duration = Duration::from_millis(50);

#[derive(Debug)]
pub(super) struct RequestEntry {
    pub(super) id: Option<Box<[u8]>>,
    pub(super) n: u64,
    pub(super) conn: u64,
    pub(super) arrival: u64,
    pub(super) service: u64,
    pub(super) due: Option<u64>,
    pub(super) release: Option<u64>,
    pub(super) code: Option<u16>,
    pub(super) gone: bool,
}

pub(super) enum LogEntry {
    Start { start: u64, seed: u64 },
    Stalls(Range<u64>, Windows),
    Request(RequestEntry),
}

pub(super) struct Journal {
    entries: Sender<LogEntry>,
    writer: JoinHandle<Result<(), LabError>>,
}

impl Journal {
    pub(super) fn start(log: RequestLog) -> Result<Self, LabError> {
        let (entries, received) = channel();
        let writer = std::thread::Builder::new()
            .name("lab-truth-log".to_owned())
            .spawn(move || write_all(log, &received))
            .map_err(LabError::Runtime)?;
        Ok(Self { entries, writer })
    }

    pub(super) fn log(&self, entry: LogEntry) {
        let _ = self.entries.send(entry);
    }

    pub(super) fn finish(self) -> Result<(), LabError> {
        let Self { entries, writer } = self;
        drop(entries);
        writer.thread().unpark();
        writer.join().unwrap_or_else(|_| {
            let panicked = io::Error::other("the log's thread panicked");
            Err(LabError::Runtime(panicked))
        })
    }
}

fn write_all(mut log: RequestLog, entries: &Receiver<LogEntry>) -> Result<(), LabError> {
    let _ = rustix::process::nice(10);
    let mut writer = Writer::default();
    while let Ok(first) = entries.recv() {
        writer.write(&mut log, &first);
        std::thread::park_timeout(PAUSE);
        for entry in entries.try_iter() {
            writer.write(&mut log, &entry);
        }
        log.flush();
    }
    log.append(&writer.unanswered);
    log.finish()
}

#[derive(Default)]
struct Writer {
    line: Vec<u8>,
    unanswered: Vec<u8>,
}

impl Writer {
    fn write(&mut self, log: &mut RequestLog, entry: &LogEntry) {
        self.line.clear();
        let unanswered = matches!(entry, LogEntry::Request(RequestEntry { release: None, .. }));
        let line = if unanswered {
            &mut self.unanswered
        } else {
            &mut self.line
        };
        let _ = format(line, entry);
        log.append(&self.line);
    }
}

fn format(line: &mut Vec<u8>, entry: &LogEntry) -> io::Result<()> {
    match entry {
        LogEntry::Start { start, seed } => {
            writeln!(line, r#"{{"start_ns":{start},"seed":{seed}}}"#)
        }
        LogEntry::Stalls(range, windows) => {
            for k in range.clone() {
                let (begin, end) = windows.window(k);
                writeln!(line, r#"{{"stall":[{begin},{end}]}}"#)?;
            }
            Ok(())
        }
        LogEntry::Request(reported) => format_request(line, reported),
    }
}

fn format_request(line: &mut Vec<u8>, reported: &RequestEntry) -> io::Result<()> {
    let id = reported.id.as_deref().map(String::from_utf8_lossy);
    line.extend_from_slice(b"{\"id\":");
    serde_json::to_writer(&mut *line, &id)?;
    write!(line, r#","arrival_ns":{},"release_ns":"#, reported.arrival)?;
    serde_json::to_writer(&mut *line, &reported.release)?;
    line.extend_from_slice(b",\"code\":");
    serde_json::to_writer(&mut *line, &reported.code)?;
    line.extend_from_slice(b",\"due_ns\":");
    serde_json::to_writer(&mut *line, &reported.due)?;
    let RequestEntry {
        service, n, conn, ..
    } = reported;
    write!(line, r#","service_ns":{service},"n":{n},"conn":{conn}"#)?;
    if reported.gone {
        line.extend_from_slice(b",\"gone\":true");
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: u64, release: Option<u64>) -> LogEntry {
        LogEntry::Request(RequestEntry {
            id: (n == 0).then(|| (*b"a\"\xff").into()),
            n,
            conn: 3,
            arrival: 10,
            service: 5,
            due: release.map(|_| 15),
            release,
            code: release.map(|_| 200),
            gone: n == 2,
        })
    }

    #[test]
    fn unanswered_requests_are_logged_last() {
        let path = std::env::temp_dir().join(format!("lab-journal-{}.jsonl", std::process::id()));
        let journal = Journal::start(RequestLog::create(&path).unwrap()).unwrap();
        for entry in [
            LogEntry::Start { start: 10, seed: 7 },
            entry(0, Some(16)),
            entry(1, None),
            entry(2, Some(17)),
        ] {
            journal.log(entry);
        }
        journal.finish().unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let rest = r#""service_ns":5,"n""#;
        let expected = format!(
            "{{\"start_ns\":10,\"seed\":7}}\n\
             {{\"id\":\"a\\\"\u{fffd}\",\"arrival_ns\":10,\"release_ns\":16,\"code\":200,\"due_ns\":15,{rest}:0,\"conn\":3}}\n\
             {{\"id\":null,\"arrival_ns\":10,\"release_ns\":17,\"code\":200,\"due_ns\":15,{rest}:2,\"conn\":3,\"gone\":true}}\n\
             {{\"id\":null,\"arrival_ns\":10,\"release_ns\":null,\"code\":null,\"due_ns\":null,{rest}:1,\"conn\":3}}\n"
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn write_errors_are_reported() {
        let journal = Journal::start(RequestLog::create("/dev/full".as_ref()).unwrap()).unwrap();
        journal.log(entry(0, Some(16)));
        let error = journal.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write log /dev/full: "), "{error}");
    }
}
