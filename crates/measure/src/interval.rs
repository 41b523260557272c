//! Interval snapshots of workers, and the merged interval. A worker sends one snapshot per interval
//! instead of a message per request.

use std::collections::BTreeMap;

use crate::{
    Histogram, Label, LabelId, Sample, Slot, accumulator::Tally, custom::CustomMetrics, label,
};

pub use crate::{
    http2_counts::{Http2Close, Http2Counts, RequestSpread},
    socketio::SocketIoCounts,
    websocket::WebSocketCounts,
};

/// A period of the run, in nanoseconds from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeSpan {
    /// Start of the period.
    pub from_ns: u64,
    /// End of the period.
    pub to_ns: u64,
}

impl TimeSpan {
    /// Creates a period from its start and end.
    #[must_use]
    pub const fn new(from_ns: u64, to_ns: u64) -> TimeSpan {
        TimeSpan { from_ns, to_ns }
    }

    /// Returns the period that covers both periods.
    #[must_use]
    pub fn merged(self, other: TimeSpan) -> TimeSpan {
        TimeSpan {
            from_ns: self.from_ns.min(other.from_ns),
            to_ns: self.to_ns.max(other.to_ns),
        }
    }

    /// Returns whether this period contains the whole other period.
    #[must_use]
    pub fn contains(self, other: TimeSpan) -> bool {
        self.from_ns <= other.from_ns && other.to_ns <= self.to_ns
    }

    /// Returns whether the two periods overlap.
    #[must_use]
    pub fn overlaps(self, other: TimeSpan) -> bool {
        self.from_ns < other.to_ns && self.to_ns > other.from_ns
    }

    /// Returns the duration.
    #[must_use]
    pub fn length_ns(self) -> u64 {
        self.to_ns.saturating_sub(self.from_ns)
    }
}

/// The counts of one worker in one interval.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Index of the worker.
    pub worker: usize,
    /// Index of the interval, from 0.
    pub index: u64,
    /// Period of the interval, in nanoseconds from the start of the run.
    pub span: TimeSpan,
    /// Phase at the start of the interval.
    pub phase: u32,
    /// Slots of the labels that have counts.
    pub slots: Vec<(LabelId, Slot<u32>)>,
    /// Slots of samples whose intended start is in another phase than the start of the interval.
    pub other_phases: Vec<(LabelId, u32, Slot<u32>)>,
    /// Run-wide counts and levels.
    pub run: RunPart,
    /// Figures that the front end defined itself.
    pub frontend: Tally,
    /// Metrics that the test's script reported.
    pub custom: CustomMetrics,
    /// First samples of each fault and failure.
    pub firsts: Vec<FirstSeen>,
    /// Traced requests that became one of the slowest of their label during the interval.
    pub slowest: Vec<Sample>,
    /// The first failed traced requests of the interval.
    pub failed_traces: Vec<Sample>,
    /// Time at which the worker stopped starting arrivals, if the run ended early.
    pub arrivals_end_ns: Option<u64>,
    /// Ages of the requests in flight at the end of the interval, by label.
    pub in_flight_ages: Vec<(LabelId, Histogram<u64>)>,
    /// Whether this is the worker's last snapshot.
    pub last: bool,
}

/// Run-wide counts and levels of an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunPart {
    /// Arrivals that were due according to the schedule. Workers leave this at zero.
    pub due: u64,
    /// Arrivals that started.
    pub started: u64,
    /// Arrivals that were skipped because of the plan's user limit.
    pub skipped: u64,
    /// Completed iterations that ended at an exit step.
    pub exited: u64,
    /// Requests in flight, sampled at random times and at the end of the interval.
    pub in_flight: Gauge,
    /// Active virtual users, sampled at the same times as `in_flight`.
    pub users: Gauge,
    /// Connections opened.
    pub opened: u64,
    /// Open connections at the end of the interval.
    pub connections: u64,
    /// HTTP/2 counts.
    pub http2: Http2Counts,
    /// WebSocket counts.
    pub websocket: WebSocketCounts,
    /// Socket.IO counts.
    pub socketio: SocketIoCounts,
    /// CPU time by worker, in nanoseconds.
    pub cpu_ns: Vec<u64>,
    /// Time that each worker spent spinning until the next arrival. Included in its CPU time.
    pub spin_ns: Vec<u64>,
    /// Time that workers were ready to run but waited for a CPU, by worker. 0 if the kernel does
    /// not report it.
    pub waiting_ns: Vec<u64>,
    /// Longest delay of a worker in polling its deadlines, in nanoseconds.
    pub stall_ns: u64,
    /// Number of terminal lines dropped because the queue was full.
    pub lines_lost: u64,
    /// Time at which the last request or iteration of the interval ended, in nanoseconds from the
    /// start of the run. 0 if none ended.
    pub last_end_ns: u64,
    /// Finished requests that carried a trace context.
    pub traced: u64,
}

/// Samples of a level, such as the number of active users.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauge {
    /// Number of samples.
    pub samples: u64,
    /// Sum of the samples.
    pub sum: u64,
    /// Largest sample.
    pub max: u64,
    /// Level at the end of the interval.
    pub last: u64,
}

impl Gauge {
    /// Adds a sample.
    pub fn sample(&mut self, level: u64) {
        self.samples += 1;
        self.sum += level;
        self.max = self.max.max(level);
        self.last = level;
    }

    /// Sets the current level. It may exceed the largest sample.
    pub fn set(&mut self, level: u64) {
        self.max = self.max.max(level);
        self.last = level;
    }

    /// Adds another worker's gauge for the same period. The maxima are added too, so the result is
    /// an upper bound.
    pub fn join(&mut self, other: Gauge) {
        if self.samples > 0 && other.samples > 0 {
            let mean = |g: Gauge| g.sum as f64 / g.samples as f64;
            let joined = mean(*self) + mean(other);
            self.samples = self.samples.max(other.samples);
            self.sum = (joined * self.samples as f64).round() as u64;
        } else {
            self.samples += other.samples;
            self.sum += other.sum;
        }
        self.max += other.max;
        self.last += other.last;
    }
}

/// First sample of a fault or failure that a worker counted under a label.
#[derive(Debug, Clone)]
pub struct FirstSeen {
    /// The sample.
    pub sample: Sample,
    /// Details of the failure.
    pub detail: FailureDetail,
}

/// Details of a failure. They may contain secrets, which the writer must redact.
#[derive(Debug, Clone, Default)]
pub struct FailureDetail {
    /// Description of the failure, on one line.
    pub detail: String,
    /// Values that differ from the expected values, each with its expected value.
    pub found: Vec<String>,
    /// Beginning of the response body.
    pub body: Option<String>,
}

impl From<String> for FailureDetail {
    fn from(detail: String) -> FailureDetail {
        FailureDetail {
            detail,
            ..FailureDetail::default()
        }
    }
}

/// One interval of the run, merged over the workers.
#[derive(Debug, Default)]
pub struct Interval {
    /// Index of the interval, from 0.
    pub index: u64,
    /// Period of the interval, in nanoseconds from the start of the run.
    pub span: TimeSpan,
    /// Phase at the start of the interval.
    pub phase: u32,
    /// Slots by label and by the phase of the intended start. Label 0 is the sum of all request
    /// labels.
    pub slots: BTreeMap<(LabelId, u32), Slot>,
    /// Run-wide counts and levels.
    pub run: RunPart,
    /// Figures that the front end defined itself.
    pub frontend: Tally,
    /// Metrics that the test's script reported.
    pub custom: CustomMetrics,
    /// First samples of each fault and failure.
    pub firsts: Vec<FirstSeen>,
    /// Traced requests that became one of the slowest of their label during the interval.
    pub slowest: Vec<Sample>,
    /// The first failed traced requests of the interval.
    pub failed_traces: Vec<Sample>,
    /// Labels added since the previous interval.
    pub labels: Vec<Label>,
    /// Ages of the requests in flight at the end of the interval, by label. Label 0 contains all
    /// requests. Not recorded.
    pub in_flight_ages: BTreeMap<LabelId, Histogram<u64>>,
}

impl Interval {
    /// Merges all workers' snapshots of one interval. `is_request` selects the labels that are
    /// summed up in label 0.
    #[must_use]
    pub fn merge(
        snapshots: Vec<Snapshot>,
        workers: usize,
        is_request: impl Fn(LabelId) -> bool,
    ) -> Interval {
        let mut interval = Interval::default();
        interval.run.cpu_ns.resize(workers, 0);
        interval.run.spin_ns.resize(workers, 0);
        interval.run.waiting_ns.resize(workers, 0);
        let mut first = true;
        for snapshot in snapshots {
            interval.index = snapshot.index;
            interval.phase = snapshot.phase;
            interval.span = if first {
                snapshot.span
            } else {
                interval.span.merged(snapshot.span)
            };
            first = false;
            interval.take(snapshot, &is_request);
        }
        interval
    }

    fn take(&mut self, snapshot: Snapshot, is_request: &impl Fn(LabelId) -> bool) {
        let own_phase = snapshot
            .slots
            .into_iter()
            .map(|(id, slot)| (id, snapshot.phase, slot));
        for (id, phase, slot) in own_phase.chain(snapshot.other_phases) {
            if id != label::ALL && is_request(id) {
                self.slots
                    .entry((label::ALL, phase))
                    .or_default()
                    .add(&slot);
            }
            self.slots.entry((id, phase)).or_default().add(&slot);
        }
        let run = snapshot.run;
        self.run.due += run.due;
        self.run.started += run.started;
        self.run.skipped += run.skipped;
        self.run.exited += run.exited;
        self.run.opened += run.opened;
        self.run.connections += run.connections;
        self.run.http2.join(&run.http2);
        self.run.websocket.join(&run.websocket);
        self.run.socketio.join(&run.socketio);
        self.run.lines_lost += run.lines_lost;
        self.run.traced += run.traced;
        self.run.stall_ns = self.run.stall_ns.max(run.stall_ns);
        self.run.last_end_ns = self.run.last_end_ns.max(run.last_end_ns);
        self.run.in_flight.join(run.in_flight);
        self.run.users.join(run.users);
        for (all, part) in [
            (&mut self.run.cpu_ns, run.cpu_ns),
            (&mut self.run.spin_ns, run.spin_ns),
            (&mut self.run.waiting_ns, run.waiting_ns),
        ] {
            if let (Some(mine), Some(ns)) = (all.get_mut(snapshot.worker), part.first()) {
                *mine += ns;
            }
        }
        for (id, ages) in snapshot.in_flight_ages {
            if id != label::ALL && is_request(id) {
                self.in_flight_ages
                    .entry(label::ALL)
                    .or_default()
                    .add(&ages);
            }
            self.in_flight_ages.entry(id).or_default().add(&ages);
        }
        self.frontend.merge(snapshot.frontend);
        self.custom.add(&snapshot.custom);
        self.firsts.extend(snapshot.firsts);
        self.slowest.extend(snapshot.slowest);
        self.failed_traces.extend(snapshot.failed_traces);
    }

    /// Returns the slot of a label, merged over all phases.
    #[must_use]
    pub fn label(&self, id: LabelId) -> Slot {
        let mut all = Slot::default();
        for (_, slot) in self.slots.range((id, 0)..=(id, u32::MAX)) {
            all.add(slot);
        }
        all
    }
}
