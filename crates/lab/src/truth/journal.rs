//! The log of this lab: a line per request in order of release, one for the start, one per stall.
//! Lines are put together and written by a thread of its own, so that no file system ever delays an answer; nothing is dropped.

use std::io::{self, Write};
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::stall::Windows;
use crate::LabError;
use crate::log::RequestLog;

/// Lines are written so often, in small portions: a large one could keep a core that the lab needs.
const PAUSE: Duration = Duration::from_millis(50);

/// What is told of one request; moments and durations in nanoseconds.
#[derive(Debug)]
pub(super) struct RequestEntry {
    pub(super) id: Option<Box<[u8]>>,
    /// In order of arrival, from 0.
    pub(super) n: u64,
    /// The connection, in order of acceptance, from 0.
    pub(super) conn: u64,
    pub(super) arrival: u64,
    pub(super) service: u64,
    pub(super) due: Option<u64>,
    /// None: not answered, and never will be.
    pub(super) release: Option<u64>,
    pub(super) code: Option<u16>,
    /// The client was seen to have gone when the answer was written.
    pub(super) gone: bool,
}

/// An entry of the log.
pub(super) enum LogEntry {
    Start { start: u64, seed: u64 },
    Stalls(Range<u64>, Windows),
    Request(RequestEntry),
}

/// The lab's end of the log.
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

    pub(super) fn tell(&self, entry: LogEntry) {
        // It fails only if the writer has panicked, which `finish` finds out.
        let _ = self.entries.send(entry);
    }

    /// Writes out what is left, and says whether everything got written.
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
    // On Linux this is the thread's own; if it is refused, the log is merely less polite.
    let _ = rustix::process::nice(10);
    let mut writer = Writer::default();
    // Waits for a first entry without using the processor, and lets more of them gather: so the lab rarely has to wake it.
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
    /// Lines of requests without an answer, which stand at the end.
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
        // Writing to memory does not fail.
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
        LogEntry::Request(told) => format_request(line, told),
    }
}

fn format_request(line: &mut Vec<u8>, told: &RequestEntry) -> io::Result<()> {
    let id = told.id.as_deref().map(String::from_utf8_lossy);
    line.extend_from_slice(b"{\"id\":");
    serde_json::to_writer(&mut *line, &id)?;
    write!(line, r#","arrival_ns":{},"release_ns":"#, told.arrival)?;
    serde_json::to_writer(&mut *line, &told.release)?;
    line.extend_from_slice(b",\"code\":");
    serde_json::to_writer(&mut *line, &told.code)?;
    line.extend_from_slice(b",\"due_ns\":");
    serde_json::to_writer(&mut *line, &told.due)?;
    let RequestEntry {
        service, n, conn, ..
    } = told;
    write!(line, r#","service_ns":{service},"n":{n},"conn":{conn}"#)?;
    if told.gone {
        line.extend_from_slice(b",\"gone\":true");
    }
    line.extend_from_slice(b"}\n");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(n: u64, release: Option<u64>) -> LogEntry {
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
    fn unanswered_requests_stand_at_the_end() {
        let path = std::env::temp_dir().join(format!("lab-journal-{}.jsonl", std::process::id()));
        let journal = Journal::start(RequestLog::create(&path).unwrap()).unwrap();
        for entry in [
            LogEntry::Start { start: 10, seed: 7 },
            told(0, Some(16)),
            told(1, None),
            told(2, Some(17)),
        ] {
            journal.tell(entry);
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
    fn a_log_that_cannot_be_written_says_so() {
        let journal = Journal::start(RequestLog::create("/dev/full".as_ref()).unwrap()).unwrap();
        journal.tell(told(0, Some(16)));
        let error = journal.finish().unwrap_err().to_string();
        assert!(error.starts_with("cannot write log /dev/full: "), "{error}");
    }
}
