//! Periods of ten seconds of wall-clock time, merged from intervals.

use measure::{TimeSpan, accumulator::Tally};

pub(super) const LENGTH_MS: u64 = 10_000;

#[derive(Debug, Clone)]
pub(super) struct Period {
    pub start_ms: u64,
    pub part: Tally,
}

pub(super) struct Periods {
    wall_start_ns: u64,
    complete: Vec<Period>,
    current: Option<Period>,
    total: Tally,
}

impl Periods {
    pub(super) fn new(wall_start_ns: u64) -> Periods {
        Periods {
            wall_start_ns,
            complete: Vec::new(),
            current: None,
            total: Tally::default(),
        }
    }

    pub(super) fn push(&mut self, span: TimeSpan, part: &Tally) -> Vec<Period> {
        let ms = |ns: u64| (self.wall_start_ns + ns) / 1_000_000;
        let start_ms = ms(span.from_ns) / LENGTH_MS * LENGTH_MS;
        let is_over = ms(span.to_ns) >= start_ms + LENGTH_MS;
        let mut done = Vec::new();
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.start_ms < start_ms)
        {
            done.extend(self.finish());
        }
        if !part.is_empty() {
            self.total.merge(part.clone());
            let current = self.current.get_or_insert_with(|| Period {
                start_ms,
                part: Tally::default(),
            });
            current.part.merge(part.clone());
        }
        if is_over {
            done.extend(self.finish());
        }
        done
    }

    pub(super) fn finish(&mut self) -> Option<Period> {
        let period = self.current.take()?;
        self.complete.push(period.clone());
        Some(period)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Period> {
        self.complete.iter().chain(&self.current)
    }

    pub(super) fn total(&self) -> &Tally {
        &self.total
    }
}
