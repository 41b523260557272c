//! One interval as stored in the record. Unlike `measure::Interval`, it contains failure reasons as
//! text, so that other versions of Loadline can read it.

use std::collections::BTreeMap;

use measure::{
    Histogram, Interval, LabelId, NoAnswer, OutcomeClass, Slot, TimeKind, TimeSpan,
    custom::CustomMetrics,
    interval::RunPart,
    label,
    slot::{Counters, KeyCounts},
};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostSample {
    /// CPU time stolen from each worker, in nanoseconds. Empty if unknown.
    pub steal_ns: Vec<u64>,
    /// Time in which the control group throttled the process, in nanoseconds.
    pub throttled_ns: u64,
    /// Period that these figures cover, in nanoseconds: the time since their last sample. After a
    /// pause, it is longer than the interval.
    pub host_ns: u64,
}

#[derive(Debug, Clone, Default)]
pub struct LabelTotals {
    /// Counters and times. Counts of failures are in `failures` instead.
    pub slot: Slot,
    pub failures: BTreeMap<String, u64>,
}

impl LabelTotals {
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

    pub fn reasons(&self) -> impl Iterator<Item = String> + '_ {
        let faults = self.slot.counters.faults.0.iter();
        let failed = self.failures.keys().cloned();
        failed.chain(faults.map(|(fault, _)| fault.text().to_owned()))
    }

    pub fn add(&mut self, other: &LabelTotals) {
        self.slot.add(&other.slot);
        for (reason, n) in &other.failures {
            *self.failures.entry(reason.clone()).or_default() += n;
        }
    }
}

#[derive(Debug, Clone, Default)]
pub struct IntervalRecord {
    pub index: u64,
    /// Period of the interval, in nanoseconds from the start of the run.
    pub span: TimeSpan,
    pub phase: u32,
    pub parts: BTreeMap<(LabelId, u32), LabelTotals>,
    pub run: RunPart,
    pub custom: CustomMetrics,
    pub steal_ns: Vec<u64>,
    pub throttled_ns: u64,
    pub host_ns: u64,
}

impl IntervalRecord {
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
            custom: interval.custom.clone(),
            steal_ns: host.steal_ns.clone(),
            throttled_ns: host.throttled_ns,
            host_ns: host.host_ns,
        }
    }

    pub fn add(&mut self, other: &IntervalRecord) {
        self.span = self.span.merged(other.span);
        for (key, part) in &other.parts {
            self.parts.entry(*key).or_default().add(part);
        }
        join(&mut self.run, &other.run);
        self.custom.add(&other.custom);
        self.steal_ns.extend(&other.steal_ns);
        self.throttled_ns = self.throttled_ns.max(other.throttled_ns);
        self.host_ns = self.host_ns.max(other.host_ns);
    }

    #[must_use]
    pub fn label(&self, id: LabelId) -> LabelTotals {
        let mut all = LabelTotals::default();
        for (_, part) in self.parts.range((id, 0)..=(id, u32::MAX)) {
            all.add(part);
        }
        all
    }

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
        // Clear large data, because a row is kept for every interval.
        all.codes = KeyCounts::default();
        all.faults = KeyCounts::default();
        all.good = KeyCounts::default();
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

#[derive(Debug, Clone, Default, PartialEq)]
pub struct IntervalRow {
    pub index: u64,
    /// Period of the interval, in nanoseconds from the start of the run.
    pub span: TimeSpan,
    pub phase: u32,
    pub all: Counters,
    /// Failed requests by the first digit of the status. The other requests failed because of their
    /// content.
    pub failed_by_status: [u64; 5],
    pub run: RunPart,
    pub steal_ns: Vec<u64>,
    pub throttled_ns: u64,
    pub host_ns: u64,
    /// 99th percentile of the lateness of arrivals due in the interval.
    pub lateness_p99_ns: Option<u64>,
    pub stall_p99_ns: Option<u64>,
}

impl IntervalRow {
    pub(super) fn add(&mut self, other: &IntervalRow) {
        self.span = self.span.merged(other.span);
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

    #[must_use]
    pub fn host_length_ns(&self) -> u64 {
        if self.host_ns > 0 {
            self.host_ns
        } else {
            self.span.to_ns - self.span.from_ns
        }
    }

    #[must_use]
    pub fn none(&self, class: NoAnswer) -> u64 {
        self.all.unanswered[class as usize]
    }
}

fn status_digit((reason, n): (&String, &u64)) -> Option<(usize, u64)> {
    if reason == "redirect limit" {
        return Some((2, *n));
    }
    let status: u16 = reason.strip_prefix("status ")?.parse().ok()?;
    let digit = usize::from(status / 100).checked_sub(1)?;
    (digit < 5).then_some((digit, *n))
}

fn join(mine: &mut RunPart, run: &RunPart) {
    mine.due += run.due;
    mine.started += run.started;
    mine.skipped += run.skipped;
    mine.exited += run.exited;
    mine.opened += run.opened;
    mine.connections += run.connections;
    mine.http2.join(&run.http2);
    mine.websocket.join(&run.websocket);
    mine.socketio.join(&run.socketio);
    mine.lines_lost += run.lines_lost;
    mine.traced += run.traced;
    mine.stall_ns = mine.stall_ns.max(run.stall_ns);
    mine.last_end_ns = mine.last_end_ns.max(run.last_end_ns);
    mine.in_flight.join(run.in_flight);
    mine.users.join(run.users);
    mine.cpu_ns.extend(&run.cpu_ns);
    mine.spin_ns.extend(&run.spin_ns);
    mine.waiting_ns.extend(&run.waiting_ns);
}
