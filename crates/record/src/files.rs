//! The files of a record. Each interval appends to them. Histograms are written before counters
//! with their end line, so that the record stays readable after a crash.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use serde::Serialize;

use super::{
    Event, LineCounts,
    chunk::{RecordChunk, json_lines},
    hlog,
};

pub(super) struct Files {
    pub dir: PathBuf,
    labels: Sheet,
    intervals: Sheet,
    counters: Sheet,
    events: Sheet,
    frontend: Sheet,
    server: Sheet,
}

/// An append-only file. It is opened before the first connection, while file descriptors are still
/// available.
struct Sheet {
    path: PathBuf,
    /// The open file. `None` if it is optional and not needed yet.
    file: Option<File>,
    lines: u64,
}

const RESERVE: &str = ".reserve";
const RESERVE_BYTES: usize = 64 << 10;

pub(super) fn reserve(dir: &Path) -> io::Result<()> {
    fs::write(dir.join(RESERVE), vec![0; RESERVE_BYTES])
}

pub(super) fn release(dir: &Path) {
    // A failure only wastes 64 KiB.
    let _ = fs::remove_file(dir.join(RESERVE));
}

pub(super) fn append_events(dir: &Path, events: &[Event]) -> io::Result<()> {
    Sheet::new(dir, "events.jsonl")?.append(&json_lines(events))
}

impl Sheet {
    fn unopened(dir: &Path, name: &str) -> Sheet {
        Sheet {
            path: dir.join(name),
            file: None,
            lines: 0,
        }
    }

    fn new(dir: &Path, name: &str) -> io::Result<Sheet> {
        let mut sheet = Sheet::unopened(dir, name);
        sheet.open()?;
        Ok(sheet)
    }

    fn open(&mut self) -> io::Result<&mut File> {
        let mut how = OpenOptions::new();
        how.create(true).append(true);
        match &mut self.file {
            Some(file) => Ok(file),
            none => Ok(none.insert(how.open(&self.path)?)),
        }
    }

    fn append(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.open()?.write_all(text.as_bytes())?;
        self.lines += text.bytes().filter(|byte| *byte == b'\n').count() as u64;
        Ok(())
    }
}

impl Files {
    pub(super) fn begin(
        dir: &Path,
        wall_start_ns: u64,
        has_accumulator: bool,
    ) -> io::Result<Files> {
        let sheet = |name| Sheet::new(dir, name);
        let frontend = if has_accumulator {
            sheet("frontend.jsonl")?
        } else {
            Sheet::unopened(dir, "frontend.jsonl")
        };
        let mut files = Files {
            dir: dir.to_owned(),
            labels: sheet("labels.jsonl")?,
            intervals: sheet("intervals.hlog")?,
            counters: sheet("counters.jsonl")?,
            events: sheet("events.jsonl")?,
            frontend,
            server: sheet("server.jsonl")?,
        };
        files.intervals.append(&hlog::header(wall_start_ns))?;
        Ok(files)
    }

    pub(super) fn lines(&self) -> LineCounts {
        LineCounts {
            events: self.events.lines,
            frontend: self.frontend.lines,
            server: self.server.lines,
        }
    }

    pub(super) fn events(&mut self, lines: &str) -> io::Result<()> {
        self.events.append(lines)
    }

    pub(super) fn server(&mut self, lines: &str) -> io::Result<()> {
        self.server.append(lines)
    }

    pub(super) fn interval(&mut self, record_chunk: &RecordChunk) -> io::Result<()> {
        self.labels.append(&record_chunk.labels)?;
        self.intervals.append(&record_chunk.intervals)?;
        self.frontend.append(&record_chunk.frontend)?;
        self.events.append(&record_chunk.events)?;
        self.counters.append(&record_chunk.counters)
    }
}

pub(super) fn replace<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    text.push('\n');
    let new = path.with_extension("json.new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
    }
    written
}
