//! The files of a record under way: appended to with one write each per interval, in an order in which whatever a crash
//! leaves behind can be read: histograms first, the counters with their end line last.

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

/// The files of a record.
pub(super) struct Files {
    pub dir: PathBuf,
    labels: Sheet,
    intervals: Sheet,
    counters: Sheet,
    events: Sheet,
    door: Sheet,
    server: Sheet,
}

/// A file that is only ever appended to. It is opened before the first connection: when connections have taken every descriptor,
/// it must not be the record that goes without.
struct Sheet {
    path: PathBuf,
    /// None only of what may never be written at all, and has not been yet.
    file: Option<File>,
    /// Whole lines written so far.
    lines: u64,
}

/// A file of zeros that keeps room on the disk for the end of a record.
const RESERVE: &str = ".reserve";
/// More than a manifest and a few events take.
const RESERVE_BYTES: usize = 64 << 10;

/// Takes room on the disk, so that a record that fills it can still say how it ended.
pub(super) fn reserve(dir: &Path) -> io::Result<()> {
    fs::write(dir.join(RESERVE), vec![0; RESERVE_BYTES])
}

/// Gives that room back.
pub(super) fn release(dir: &Path) {
    // A file that cannot be removed takes 64 KiB and is in nobody's way.
    let _ = fs::remove_file(dir.join(RESERVE));
}

/// Appends events to a record that is closed already.
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
    /// The files of a new record in an empty folder. A front door that has an accumulator of its own has a file for it from the first.
    pub(super) fn begin(
        dir: &Path,
        wall_start_ns: u64,
        has_accumulator: bool,
    ) -> io::Result<Files> {
        let sheet = |name| Sheet::new(dir, name);
        let door = if has_accumulator {
            sheet("door.jsonl")?
        } else {
            Sheet::unopened(dir, "door.jsonl")
        };
        let mut files = Files {
            dir: dir.to_owned(),
            labels: sheet("labels.jsonl")?,
            intervals: sheet("intervals.hlog")?,
            counters: sheet("counters.jsonl")?,
            events: sheet("events.jsonl")?,
            door,
            server: sheet("server.jsonl")?,
        };
        files.intervals.append(&hlog::header(wall_start_ns))?;
        Ok(files)
    }

    /// How many lines were written of what no counter holds.
    pub(super) fn lines(&self) -> LineCounts {
        LineCounts {
            events: self.events.lines,
            door: self.door.lines,
            server: self.server.lines,
        }
    }

    /// Appends events that belong to no interval.
    pub(super) fn events(&mut self, lines: &str) -> io::Result<()> {
        self.events.append(lines)
    }

    /// Appends what was measured beside the load.
    pub(super) fn server(&mut self, lines: &str) -> io::Result<()> {
        self.server.append(lines)
    }

    /// Appends an interval.
    pub(super) fn interval(&mut self, leaf: &RecordChunk) -> io::Result<()> {
        self.labels.append(&leaf.labels)?;
        self.intervals.append(&leaf.intervals)?;
        self.door.append(&leaf.door)?;
        self.events.append(&leaf.events)?;
        self.counters.append(&leaf.counters)
    }
}

/// Writes a file whole or not at all.
pub(super) fn replace<T: Serialize>(path: &Path, value: &T) -> io::Result<()> {
    let mut text = serde_json::to_string_pretty(value).map_err(io::Error::other)?;
    text.push('\n');
    let new = path.with_extension("json.new");
    let written = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        // What is there of it is of no use.
        let _ = fs::remove_file(&new);
    }
    written
}
