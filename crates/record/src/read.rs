//! Reads the finished intervals of a record in any state. An interval needs its end line and all
//! histograms. The record ends before the first interval that lacks them, and is then truncated or
//! damaged.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{BufRead, BufReader, Cursor},
    path::Path,
};

use measure::LabelId;
use serde::de::DeserializeOwned;

use super::{
    counters::{self, CounterLine},
    hlog::{self, Decoder, LogLine},
    interval::IntervalRecord,
};

pub struct IntervalReader {
    counters: LineReader,
    log: LineReader,
    decoder: Decoder,
    broken: bool,
}

impl IntervalReader {
    #[must_use]
    pub fn open(dir: &Path) -> IntervalReader {
        let lines = |name| LineReader::open(&dir.join(name));
        IntervalReader::from_lines(lines("counters.jsonl"), lines("intervals.hlog"))
    }

    pub(super) fn new(counters: &str, intervals: &str) -> IntervalReader {
        IntervalReader::from_lines(LineReader::new(counters), LineReader::new(intervals))
    }

    fn from_lines(counters: LineReader, log: LineReader) -> IntervalReader {
        IntervalReader {
            counters,
            log,
            decoder: Decoder::new(),
            broken: false,
        }
    }

    /// Returns whether the record contains unreadable data. An unfinished last interval does not
    /// count.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Checks the data after the last interval. Histograms are written before counters, so a
    /// complete line of counters implies that its histograms exist. Histograms are at most one
    /// interval ahead.
    fn look_behind(&mut self, counters_were_whole: bool) {
        let is_end =
            |line: &[u8]| serde_json::from_slice(line).is_ok_and(|line: CounterLine| line.end);
        self.broken |= counters_were_whole
            || self.counters.rest(is_end) > 0
            || self.log.rest(|line| line.starts_with(b"#end ")) > 1;
    }

    fn read(&mut self) -> Option<IntervalRecord> {
        let lines = self.counter_lines();
        let counters_are_whole = lines.is_some();
        let frame = lines.and_then(|lines| self.frame(&lines));
        if frame.is_none() {
            self.look_behind(counters_are_whole);
        }
        frame
    }

    fn frame(&mut self, lines: &[CounterLine]) -> Option<IntervalRecord> {
        let mut frame = IntervalRecord {
            index: lines.first()?.i,
            ..IntervalRecord::default()
        };
        lines.first()?.run.as_ref()?.fill(&mut frame);
        if frame.span.to_ns < frame.span.from_ns || !lines.iter().all(CounterLine::is_possible) {
            return None;
        }
        for line in lines {
            let key = (line.label?, line.phase.unwrap_or(frame.phase));
            frame.parts.insert(key, line.part());
        }
        self.histograms(&mut frame, lines)?;
        frame
            .parts
            .retain(|_, part| !part.slot.is_empty() || !part.failures.is_empty());
        Some(frame)
    }

    fn counter_lines(&mut self) -> Option<Vec<CounterLine>> {
        let mut lines: Vec<CounterLine> = Vec::new();
        loop {
            let line: CounterLine = serde_json::from_str(self.counters.next()?).ok()?;
            if lines.first().is_some_and(|first| first.i != line.i) {
                return None;
            }
            if line.end {
                return Some(lines);
            }
            lines.push(line);
        }
    }

    fn histograms(&mut self, frame: &mut IntervalRecord, lines: &[CounterLine]) -> Option<()> {
        let key = |line: &CounterLine| Some((line.label?, line.phase.unwrap_or(frame.phase)));
        let by_key: BTreeMap<(LabelId, u32), &CounterLine> = lines
            .iter()
            .filter_map(|line| Some((key(line)?, line)))
            .collect();
        let mut missing: usize = lines.iter().map(|line| line.times.len()).sum();
        loop {
            match hlog::parse(self.log.next()?)? {
                LogLine::Other => {}
                LogLine::End(index) => return (index == frame.index && missing == 0).then_some(()),
                LogLine::Histogram {
                    label,
                    kind,
                    outcome,
                    phase,
                    encoded,
                } => {
                    let phase_key = phase.unwrap_or(frame.phase);
                    let line = by_key.get(&(label, phase_key))?;
                    let exact = *line.times.get(&counters::tag(kind, outcome))?;
                    let histogram = self.decoder.decode(encoded, exact)?;
                    *frame
                        .parts
                        .get_mut(&(label, phase_key))?
                        .slot
                        .histogram_mut(kind, outcome) = histogram;
                    missing = missing.checked_sub(1)?;
                }
            }
        }
    }
}

impl Iterator for IntervalReader {
    type Item = IntervalRecord;

    fn next(&mut self) -> Option<IntervalRecord> {
        let frame = self.read();
        if frame.is_none() {
            self.counters.file = None;
        }
        frame
    }
}

pub(super) fn things<T: DeserializeOwned>(path: &Path) -> (Vec<T>, usize) {
    let (mut lines, mut found, mut unreadable) = (LineReader::open(path), Vec::new(), 0);
    while let Some(line) = lines.next_bytes() {
        match serde_json::from_slice(line) {
            Ok(thing) => found.push(thing),
            Err(_) => unreadable += 1,
        }
    }
    (found, unreadable)
}

pub(super) fn count_things<T: DeserializeOwned>(path: &Path) -> (usize, usize) {
    let (mut all, mut lines) = (0, LineReader::open(path));
    let unreadable = lines.rest(|line| {
        all += 1;
        serde_json::from_slice::<T>(line).is_err()
    });
    (all, unreadable)
}

pub(super) struct LineReader {
    file: Option<Box<dyn BufRead + Send>>,
    buffer: Vec<u8>,
}

impl LineReader {
    pub(super) fn open(path: &Path) -> LineReader {
        LineReader {
            file: Some(path)
                .filter(|path| path.is_file())
                .and_then(|path| File::open(path).ok())
                .map(|file| Box::new(BufReader::new(file)) as Box<dyn BufRead + Send>),
            buffer: Vec::new(),
        }
    }

    fn new(text: &str) -> LineReader {
        LineReader {
            file: Some(Box::new(Cursor::new(text.to_owned()))),
            buffer: Vec::new(),
        }
    }

    pub(super) fn next(&mut self) -> Option<&str> {
        std::str::from_utf8(self.next_bytes()?).ok()
    }

    fn rest(&mut self, mut is_wanted: impl FnMut(&[u8]) -> bool) -> usize {
        let mut wanted = 0;
        while let Some(line) = self.next_bytes() {
            wanted += usize::from(is_wanted(line));
        }
        wanted
    }

    fn next_bytes(&mut self) -> Option<&[u8]> {
        self.buffer.clear();
        self.file
            .as_mut()?
            .read_until(b'\n', &mut self.buffer)
            .ok()?;
        self.buffer.strip_suffix(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    proptest! {
        /// A report from the record must show the figures of the run to the last digit.
        #[test]
        fn numbers_are_read_as_they_were_written(x in prop::num::f64::NORMAL) {
            let text = serde_json::to_string(&x).unwrap();
            prop_assert_eq!(serde_json::from_str::<f64>(&text).unwrap(), x);
        }
    }
}
