//! One finished interval as the record holds it: what the writer is given, and what the reader gives back. It differs from
//! `measure::Interval` only in that reasons of failures are texts, because a record may be read by another build.

use std::collections::BTreeMap;

use measure::{
    Histogram, Interval, LabelId, NoAnswer, OutcomeClass, Slot, TimeKind,
    interval::RunPart,
    label,
    slot::{Counters, KeyCounts},
};

/// What the caller of the sink measured of the machine during an interval.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSample {
    /// Time that the hypervisor took from each worker's CPU, in nanoseconds; empty when it is not known.
    pub steal_ns: Vec<u64>,
    /// Time for which the control group kept us from running, in nanoseconds.
    pub throttled_ns: u64,
    /// Since the last sample, in nanoseconds: the time of which the others are a part. A machine that is taken away for a second
    /// tells of it in the next interval.
    pub host_ns: u64,
}

/// Everything counted under one label, in one phase.
#[derive(Debug, Clone, Default)]
pub struct LabelTotals {
    /// Counters and histograms. The tally of failures in it is empty: it is in `failures`.
    pub slot: Slot,
    /// Failed requests by reason in words.
    pub failures: BTreeMap<String, u64>,
}

impl LabelTotals {
    /// A slot, its failures as texts.
    #[must_use]
    pub fn from_slot(slot: &Slot) -> LabelTotals {
        let mut part = LabelTotals {
            slot: slot.clone(),
            failures: BTreeMap::new(),
        };
        for (failure, n) in std::mem::take(&mut part.slot.counters.failures).0 {
            *part.failures.entry(failure.to_string()).or_default() += n;
        }
        part
    }

    /// Why requests failed or had no answer, in the words under which they are counted.
    pub fn reasons(&self) -> impl Iterator<Item = String> + '_ {
        let faults = self.slot.counters.faults.0.iter();
        let failed = self.failures.keys().cloned();
        failed.chain(faults.map(|(fault, _)| fault.text().to_owned()))
    }

    /// Adds another part.
    pub fn add(&mut self, other: &LabelTotals) {
        self.slot.add(&other.slot);
        for (reason, n) in &other.failures {
            *self.failures.entry(reason.clone()).or_default() += n;
        }
    }
}

/// One finished interval.
#[derive(Debug, Clone, Default)]
pub struct IntervalRecord {
    /// Which, from 0.
    pub index: u64,
    /// Start and end, in nanoseconds from the start of the test.
    pub span: (u64, u64),
    /// The phase at its start.
    pub phase: u32,
    /// By (label, phase of the intended start).
    pub parts: BTreeMap<(LabelId, u32), LabelTotals>,
    /// Run-wide figures.
    pub run: RunPart,
    /// See [`HostSample`].
    pub steal_ns: Vec<u64>,
    /// See [`HostSample`].
    pub throttled_ns: u64,
    /// See [`HostSample`].
    pub host_ns: u64,
}

impl IntervalRecord {
    /// The frame of an interval that the engine handed over.
    #[must_use]
    pub fn new(interval: &Interval, host: &HostSample) -> IntervalRecord {
        IntervalRecord {
            index: interval.index,
            span: interval.span,
            phase: interval.phase,
            parts: interval
                .slots
                .iter()
                .filter(|(_, slot)| !slot.is_empty())
                .map(|(key, slot)| (*key, LabelTotals::from_slot(slot)))
                .collect(),
            run: interval.run.clone(),
            steal_ns: host.steal_ns.clone(),
            throttled_ns: host.throttled_ns,
            host_ns: host.host_ns,
        }
    }

    /// Adds another process's frame of the same interval.
    pub fn add(&mut self, other: &IntervalRecord) {
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        for (key, part) in &other.parts {
            self.parts.entry(*key).or_default().add(part);
        }
        join(&mut self.run, &other.run);
        self.steal_ns.extend(&other.steal_ns);
        self.throttled_ns = self.throttled_ns.max(other.throttled_ns);
        self.host_ns = self.host_ns.max(other.host_ns);
    }

    /// Everything of one label, over all phases.
    #[must_use]
    pub fn label(&self, id: LabelId) -> LabelTotals {
        let mut all = LabelTotals::default();
        for (_, part) in self.parts.range((id, 0)..=(id, u32::MAX)) {
            all.add(part);
        }
        all
    }

    /// The interval's row in the run's history.
    #[must_use]
    pub fn row(&self) -> IntervalRow {
        let mut all = Counters::default();
        let mut failed_by_status = [0; 5];
        let (mut lateness, mut stalls): (Histogram, Histogram) = Default::default();
        for (_, part) in self.parts.range((label::ALL, 0)..=(label::ALL, u32::MAX)) {
            all.add(&part.slot.counters);
            for (digit, n) in part.failures.iter().filter_map(status_digit) {
                failed_by_status[digit] += n;
            }
            for (sum, kind) in [
                (&mut lateness, TimeKind::Lateness),
                (&mut stalls, TimeKind::Stall),
            ] {
                if let Some(histogram) = part.slot.histogram(kind, OutcomeClass::Ok) {
                    sum.add(histogram);
                }
            }
        }
        // Kept for every interval of the run: only what is small.
        all.codes = KeyCounts::default();
        all.faults = KeyCounts::default();
        IntervalRow {
            index: self.index,
            span: self.span,
            phase: self.phase,
            all,
            failed_by_status,
            run: self.run.clone(),
            steal_ns: self.steal_ns.clone(),
            throttled_ns: self.throttled_ns,
            host_ns: self.host_ns,
            lateness_p99_ns: lateness.quantile(0.99),
            stall_p99_ns: stalls.quantile(0.99),
        }
    }
}

/// The run-wide figures of one interval, kept for every interval of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntervalRow {
    /// Which, from 0.
    pub index: u64,
    /// Start and end, in nanoseconds from the start of the test.
    pub span: (u64, u64),
    /// The phase at its start.
    pub phase: u32,
    /// Counters of all requests, without the tallies.
    pub all: Counters,
    /// Requests that failed for their status, by its first digit from 1. The others failed for what was in the answer.
    pub failed_by_status: [u64; 5],
    /// Run-wide figures.
    pub run: RunPart,
    /// See [`HostSample`].
    pub steal_ns: Vec<u64>,
    /// See [`HostSample`].
    pub throttled_ns: u64,
    /// See [`HostSample`].
    pub host_ns: u64,
    /// 99th percentile of the lateness of what was due in the interval.
    pub lateness_p99_ns: Option<u64>,
    /// 99th percentile of by how much the worker came too late to look around.
    pub stall_p99_ns: Option<u64>,
}

impl IntervalRow {
    /// Adds another process's row of the same interval.
    pub(super) fn add(&mut self, other: &IntervalRow) {
        self.span = (self.span.0.min(other.span.0), self.span.1.max(other.span.1));
        self.all.add(&other.all);
        for (mine, n) in self.failed_by_status.iter_mut().zip(other.failed_by_status) {
            *mine += n;
        }
        join(&mut self.run, &other.run);
        self.steal_ns.extend(&other.steal_ns);
        self.throttled_ns = self.throttled_ns.max(other.throttled_ns);
        self.host_ns = self.host_ns.max(other.host_ns);
        self.lateness_p99_ns = self.lateness_p99_ns.max(other.lateness_p99_ns);
        self.stall_p99_ns = self.stall_p99_ns.max(other.stall_p99_ns);
    }

    /// The time of which steal and throttling are a part; records of before have the interval's own.
    #[must_use]
    pub fn host_length_ns(&self) -> u64 {
        if self.host_ns > 0 {
            self.host_ns
        } else {
            self.span.1 - self.span.0
        }
    }

    /// Requests that ended in the interval without a complete answer, of one class.
    #[must_use]
    pub fn none(&self, class: NoAnswer) -> u64 {
        self.all.unanswered[class as usize]
    }
}

/// The place of a failure among those by status: `status 503` is the fifth's, and a redirect too many has a status from 300 on.
fn status_digit((reason, n): (&String, &u64)) -> Option<(usize, u64)> {
    if reason == "redirect limit" {
        return Some((2, *n));
    }
    let status: u16 = reason.strip_prefix("status ")?.parse().ok()?;
    let digit = usize::from(status / 100).checked_sub(1)?;
    (digit < 5).then_some((digit, *n))
}

/// Adds another process's figures of the same interval.
fn join(mine: &mut RunPart, run: &RunPart) {
    mine.due += run.due;
    mine.started += run.started;
    mine.skipped += run.skipped;
    mine.left += run.left;
    mine.opened += run.opened;
    mine.connections += run.connections;
    mine.lines_lost += run.lines_lost;
    mine.stall_ns = mine.stall_ns.max(run.stall_ns);
    mine.last_end_ns = mine.last_end_ns.max(run.last_end_ns);
    mine.in_flight.join(run.in_flight);
    mine.users.join(run.users);
    mine.cpu_ns.extend(&run.cpu_ns);
    mine.spin_ns.extend(&run.spin_ns);
    mine.waiting_ns.extend(&run.waiting_ns);
}
