//! Counts of one label in one interval: counters, and one histogram per time kind and outcome.

use crate::{
    Failure, Fault, Histogram, NoAnswer, OutcomeClass, Status, TimeKind, histogram::Cell,
    stream::StreamCounts,
};

/// The counters of one label.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counters {
    /// Number of requests that the worker picked up.
    pub issued: u64,
    /// Number of requests with a response as expected.
    pub ok: u64,
    /// Number of requests with a response whose status, check or capture is wrong.
    pub failed: u64,
    /// Number of requests without a complete response, by class.
    pub unanswered: [u64; NoAnswer::ALL.len()],
    /// Number of requests whose intended start came from the schedule.
    pub paced: u64,
    /// Number of redirects that were followed. They do not count as requests.
    pub redirects: u64,
    /// Number of responses by status.
    pub codes: KeyCounts<Status>,
    /// Number of failures by reason.
    pub failures: KeyCounts<Failure>,
    /// Number of unanswered requests by exact cause.
    pub faults: KeyCounts<Fault>,
    /// Number of bytes written.
    pub bytes_out: u64,
    /// Number of bytes read.
    pub bytes_in: u64,
    /// Counts of streamed responses.
    pub stream: StreamCounts,
    /// Number of requests within the bounds of a goodput definition, by the index of the
    /// definition.
    pub good: KeyCounts<u16>,
}

impl Counters {
    /// Returns the number of finished requests.
    #[must_use]
    pub fn ended(&self) -> u64 {
        self.ok + self.failed + self.without_answer()
    }

    /// Returns the number of requests without a complete response.
    #[must_use]
    pub fn without_answer(&self) -> u64 {
        self.unanswered.iter().sum()
    }

    /// Returns the number of requests that failed or had no complete response.
    #[must_use]
    pub fn errors(&self) -> u64 {
        self.failed + self.without_answer()
    }

    /// Adds the counters of another label or interval.
    pub fn add(&mut self, other: &Counters) {
        self.issued += other.issued;
        self.ok += other.ok;
        self.failed += other.failed;
        self.unanswered
            .iter_mut()
            .zip(other.unanswered)
            .for_each(|(mine, n)| *mine += n);
        self.paced += other.paced;
        self.redirects += other.redirects;
        self.codes.merge(&other.codes);
        self.failures.merge(&other.failures);
        self.faults.merge(&other.faults);
        self.bytes_out += other.bytes_out;
        self.bytes_in += other.bytes_in;
        self.stream.add(&other.stream);
        self.good.merge(&other.good);
    }
}

/// The counts of a few distinct values. A list is fast enough, because there are rarely more than
/// three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyCounts<T>(pub Vec<(T, u64)>);

impl<T> Default for KeyCounts<T> {
    fn default() -> Self {
        KeyCounts(Vec::new())
    }
}

impl<T: Copy + PartialEq> KeyCounts<T> {
    /// Adds `n` to the count of a value. Returns whether the value is new.
    #[inline]
    pub fn count(&mut self, thing: T, n: u64) -> bool {
        if let Some(entry) = self.0.iter_mut().find(|(known, _)| *known == thing) {
            entry.1 += n;
            return false;
        }
        self.0.push((thing, n));
        true
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &KeyCounts<T>) {
        for (thing, n) in &other.0 {
            self.count(*thing, *n);
        }
    }
}

const TIMES: usize = TimeKind::ALL.len() * OutcomeClass::ALL.len();

/// Counters and histograms of one label in one interval.
#[derive(Debug, Clone)]
pub struct Slot<C: Cell = u64> {
    /// The counters.
    pub counters: Counters,
    times: [Option<Box<Histogram<C>>>; TIMES],
}

impl<C: Cell> Default for Slot<C> {
    fn default() -> Self {
        Slot {
            counters: Counters::default(),
            times: [const { None }; TIMES],
        }
    }
}

impl<C: Cell> Slot<C> {
    /// Records a duration in nanoseconds.
    #[inline]
    pub fn record(&mut self, kind: TimeKind, outcome: OutcomeClass, ns: u64) {
        self.histogram_mut(kind, outcome).record(ns);
    }

    /// Returns the histogram of a time kind and an outcome. It is created on first use.
    #[inline]
    pub fn histogram_mut(&mut self, kind: TimeKind, outcome: OutcomeClass) -> &mut Histogram<C> {
        self.times[position(kind, outcome)].get_or_insert_default()
    }

    /// Returns the histogram of a time kind and an outcome. `None` if nothing was recorded.
    #[must_use]
    pub fn histogram(&self, kind: TimeKind, outcome: OutcomeClass) -> Option<&Histogram<C>> {
        self.times[position(kind, outcome)]
            .as_deref()
            .filter(|h| h.count() > 0)
    }

    /// Returns all histograms that have values.
    pub fn histograms(&self) -> impl Iterator<Item = (TimeKind, OutcomeClass, &Histogram<C>)> {
        TimeKind::ALL.into_iter().flat_map(move |kind| {
            OutcomeClass::ALL.into_iter().filter_map(move |outcome| {
                self.histogram(kind, outcome).map(|h| (kind, outcome, h))
            })
        })
    }

    /// Returns whether the slot is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counters == Counters::default() && self.histograms().next().is_none()
    }

    /// Adds the counts of another slot.
    pub fn add<D: Cell>(&mut self, other: &Slot<D>) {
        self.counters.add(&other.counters);
        for (kind, outcome, histogram) in other.histograms() {
            self.histogram_mut(kind, outcome).add(histogram);
        }
    }
}

#[inline]
fn position(kind: TimeKind, outcome: OutcomeClass) -> usize {
    kind as usize * OutcomeClass::ALL.len() + outcome as usize
}
