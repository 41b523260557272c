//! Reads the counters of a record while its run is writing them, so that the limits on the number
//! and rate of requests can be enforced.

use std::{
    collections::VecDeque,
    fs::File,
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use plan::units::SECOND;
use serde::Deserialize;

/// Length of the window over which the rate is measured.
const WINDOW_NS: u64 = 3 * SECOND;
/// Factor by which random variation may exceed a rate.
const RATE_TOLERANCE: f64 = 1.25;
const MOST_READ: u64 = 16 << 20;

/// The counts of a run so far.
#[derive(Debug, Default)]
pub(crate) struct CounterTail {
    offset: u64,
    partial: Vec<u8>,
    issued: u64,
    redirects: u64,
    errors: u64,
    recorded_to_ns: u64,
    recent: VecDeque<(u64, u64)>,
}

#[derive(Deserialize)]
struct TotalLine {
    #[serde(default)]
    label: Option<u64>,
    #[serde(default)]
    issued: u64,
    #[serde(default)]
    redirects: u64,
    #[serde(default)]
    failed: u64,
    #[serde(default)]
    none: serde_json::Value,
    #[serde(default)]
    run: Option<SpanFields>,
}

#[derive(Deserialize)]
struct SpanFields {
    to_ns: u64,
}

impl CounterTail {
    /// Reads the lines that have been added to the record. A missing file counts as empty.
    pub fn read(&mut self, record: &Path) {
        let Ok(mut file) = File::open(record.join("counters.jsonl")) else {
            return;
        };
        if file.seek(SeekFrom::Start(self.offset)).is_err() {
            return;
        }
        let before = self.partial.len();
        if file.take(MOST_READ).read_to_end(&mut self.partial).is_err() {
            self.partial.truncate(before);
            return;
        }
        self.offset += (self.partial.len() - before) as u64;
        let whole = self.partial.iter().rposition(|byte| *byte == b'\n');
        let Some(end) = whole else { return };
        let rest = self.partial.split_off(end + 1);
        let lines = std::mem::replace(&mut self.partial, rest);
        for line in lines.split(|byte| *byte == b'\n') {
            if let Ok(line) = serde_json::from_slice::<TotalLine>(line) {
                self.add(&line);
            }
        }
    }

    fn add(&mut self, line: &TotalLine) {
        // Label 0 counts all requests.
        let Some(span) = line.run.as_ref().filter(|_| line.label == Some(0)) else {
            return;
        };
        let none = line.none.as_object().into_iter().flatten();
        let none: u64 = none.filter_map(|(_, count)| count.as_u64()).sum();
        self.issued += line.issued;
        self.redirects += line.redirects;
        self.errors += line.failed + none;
        self.recorded_to_ns = span.to_ns;
        self.recent.push_back((span.to_ns, self.sent()));
        let begin = span.to_ns.saturating_sub(WINDOW_NS);
        while self.recent.len() > 1 && self.recent.get(1).is_some_and(|(at, _)| *at <= begin) {
            self.recent.pop_front();
        }
    }

    /// Returns the number of requests issued, without redirects.
    pub fn issued(&self) -> u64 {
        self.issued
    }

    /// Returns the number of requests sent, including redirects.
    pub fn sent(&self) -> u64 {
        self.issued + self.redirects
    }

    /// Returns the number of requests that failed or received no response.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// Returns the end of the newest interval, in nanoseconds since the start of the run.
    pub fn recorded_to_ns(&self) -> u64 {
        self.recorded_to_ns
    }

    /// Returns whether the run exceeds a rate, either recently or on average since its start. The
    /// random variation of arrivals is tolerated.
    pub fn exceeds(&self, per_second: f64) -> bool {
        let allowed = |length_ns: u64| {
            let planned = per_second * length_ns as f64 / SECOND as f64;
            planned * RATE_TOLERANCE + 3.0 * planned.sqrt() + 5.0
        };
        let since_start = allowed(self.recorded_to_ns) + per_second;
        let (Some(first), Some(last)) = (self.recent.front(), self.recent.back()) else {
            return false;
        };
        let recent = allowed(last.0.saturating_sub(first.0));
        (last.1 - first.1) as f64 > recent || self.sent() as f64 > since_start
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::*;

    #[test]
    fn counters_are_followed_while_they_grow() {
        let dir = std::env::temp_dir().join(format!("mcp-tail-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let path = dir.join("counters.jsonl");
        let _ = fs::remove_file(&path);
        let mut tail = CounterTail::default();
        tail.read(&dir);
        assert_eq!(tail.issued(), 0);
        let mut file = fs::File::create(&path).unwrap();
        for second in 1..=5_u64 {
            let line = format!(
                "{{\"i\":{second},\"label\":0,\"run\":{{\"to_ns\":{}}},\"issued\":100,\"ok\":90,\"failed\":6,\"none\":{{\"timeout\":4}}}}\n{{\"i\":{second},\"label\":2,\"issued\":100}}\nnot JSON\n",
                second * SECOND
            );
            let (begin, end) = line.split_at(20);
            file.write_all(begin.as_bytes()).unwrap();
            tail.read(&dir);
            file.write_all(end.as_bytes()).unwrap();
            tail.read(&dir);
        }
        assert_eq!((tail.issued(), tail.errors()), (500, 50));
        assert!(!tail.exceeds(100.0) && !tail.exceeds(81.0));
        assert!(tail.exceeds(60.0));
        assert_eq!(tail.recorded_to_ns(), 5 * SECOND);
        fs::remove_dir_all(&dir).unwrap();
    }

    #[test]
    fn burst_at_the_start_exceeds_a_rate() {
        let mut tail = CounterTail::default();
        let line = |to_ns: u64, issued: u64| TotalLine {
            label: Some(0),
            issued,
            redirects: 0,
            failed: 0,
            none: serde_json::Value::Null,
            run: Some(SpanFields { to_ns }),
        };
        tail.add(&line(SECOND / 10, 20));
        assert!(!tail.exceeds(200.0));
        tail.add(&line(SECOND / 5, 300));
        assert!(tail.exceeds(200.0));
    }

    #[test]
    fn redirects_count_as_requests() {
        let mut tail = CounterTail::default();
        for second in 1..=4_u64 {
            let line = format!(
                "{{\"label\":0,\"run\":{{\"to_ns\":{}}},\"issued\":100,\"redirects\":900}}",
                second * SECOND
            );
            tail.add(&serde_json::from_str(&line).unwrap());
        }
        assert_eq!((tail.issued(), tail.sent()), (400, 4_000));
        assert!(tail.exceeds(200.0) && !tail.exceeds(1_000.0));
    }
}
