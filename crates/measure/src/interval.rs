//! Snapshots of one worker, and the interval that several of them merge into. Whole snapshots are handed over once per
//! interval, never a message per request.

use std::collections::BTreeMap;

use crate::{Histogram, Label, LabelId, Sample, Slot, accumulator::Tally, label, sample::Ended};

/// What one worker counted in one interval.
#[derive(Debug, Default)]
pub struct Snapshot {
    /// Which worker.
    pub worker: usize,
    /// Which interval, from 0.
    pub index: u64,
    /// Start and end, in nanoseconds from the start of the test.
    pub span: (u64, u64),
    /// The phase at the interval's start.
    pub phase: u32,
    /// By label, those that counted anything.
    pub slots: Vec<(LabelId, Slot<u32>)>,
    /// The same for samples whose intended start lies in another phase than the interval.
    pub other_phases: Vec<(LabelId, u32, Slot<u32>)>,
    /// Run-wide figures.
    pub run: RunPart,
    /// The front door's own figures.
    pub door: Tally,
    /// First samples of faults and failures.
    pub firsts: Vec<FirstSeen>,
    /// From when on no more arrivals were wanted, if the run was told to end.
    pub arrivals_end_ns: Option<u64>,
    /// How long requests have been under way that are so at its end, by label.
    pub under_way: Vec<(LabelId, Histogram<u64>)>,
    /// Whether this is the worker's last.
    pub last: bool,
}

/// Run-wide figures of an interval.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunPart {
    /// Arrivals whose intended time came: by the schedule, whatever the workers did. Workers leave it at zero.
    pub due: u64,
    /// Arrivals that were started.
    pub started: u64,
    /// Arrivals that the plan's cap turned away.
    pub skipped: u64,
    /// Iterations that ended where the plan has some leave: they are among the completed.
    pub left: u64,
    /// Requests under way: samples taken by a clock of their own, and the figure at the interval's end.
    pub in_flight: Gauge,
    /// Virtual users under way, likewise.
    pub users: Gauge,
    /// Connections opened.
    pub opened: u64,
    /// Connections open at the end of the interval.
    pub connections: u64,
    /// CPU time of the workers, by worker, in nanoseconds.
    pub cpu_ns: Vec<u64>,
    /// Of it, time spent spinning for the next arrival, by worker.
    pub spin_ns: Vec<u64>,
    /// Time for which the workers were ready to run and had to wait for a CPU, by worker; 0 where the kernel does not say.
    pub waiting_ns: Vec<u64>,
    /// The longest time by which a worker came too late to look at its deadlines, in nanoseconds: something else had the
    /// core, or the loop was held up.
    pub stall_ns: u64,
    /// Lines for the terminal that found the queue full.
    pub lines_lost: u64,
    /// When the last request or iteration of the interval ended, in nanoseconds from the start; 0: none did.
    pub last_end_ns: u64,
}

/// Samples of a level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Gauge {
    /// Number of samples.
    pub samples: u64,
    /// Their sum.
    pub sum: u64,
    /// The largest.
    pub max: u64,
    /// The level at the end.
    pub last: u64,
}

impl Gauge {
    /// Takes a sample.
    pub fn sample(&mut self, level: u64) {
        self.samples += 1;
        self.sum += level;
        self.max = self.max.max(level);
        self.last = level;
    }

    /// Adds another worker's gauge over the same time: levels add up; maxima need not have been at the same moment, so
    /// their sum is an upper bound.
    pub fn join(&mut self, other: Gauge) {
        if self.samples == 0 {
            *self = other;
            return;
        }
        if other.samples > 0 {
            let mean = |g: Gauge| g.sum as f64 / g.samples as f64;
            let joined = mean(*self) + mean(other);
            self.samples = self.samples.max(other.samples);
            self.sum = (joined * self.samples as f64).round() as u64;
            self.max += other.max;
            self.last += other.last;
        }
    }
}

/// The first sample of a fault or failure that a worker met under a label.
#[derive(Debug, Clone)]
pub struct FirstSeen {
    /// The sample.
    pub sample: Sample,
    /// What else is known of it.
    pub told: Told,
}

/// What is known of a failure beside its sample. May hold secrets: whoever writes it redacts it.
#[derive(Debug, Clone, Default)]
pub struct Told {
    /// What failed, in one line.
    pub detail: String,
    /// Of what was looked for in the answer, what is not as it has to be: what was found, and what was expected.
    pub found: Vec<String>,
    /// The beginning of the answer's body.
    pub body: Option<String>,
}

impl From<String> for Told {
    fn from(detail: String) -> Told {
        Told {
            detail,
            ..Told::default()
        }
    }
}

impl FirstSeen {
    /// The reason in words.
    #[must_use]
    pub fn reason(&self) -> String {
        match self.sample.ended {
            Ended::Ok => "ok".to_owned(),
            Ended::Failed(failure) => failure.to_string(),
            Ended::Unanswered(fault) => fault.text().to_owned(),
        }
    }
}

/// One interval of the run, merged over the workers.
#[derive(Debug, Default)]
pub struct Interval {
    /// Which, from 0.
    pub index: u64,
    /// Start and end, in nanoseconds from the start of the test.
    pub span: (u64, u64),
    /// The phase at its start.
    pub phase: u32,
    /// By (label, phase of the intended start). Label 0 holds the sum of all request labels.
    pub slots: BTreeMap<(LabelId, u32), Slot>,
    /// Run-wide figures.
    pub run: RunPart,
    /// The front door's own figures.
    pub door: Tally,
    /// First samples of faults and failures.
    pub firsts: Vec<FirstSeen>,
    /// Labels that have come up since the interval before.
    pub labels: Vec<Label>,
    /// How long requests have been under way that are so at its end, by label; 0 holds those of all. Not recorded.
    pub under_way: BTreeMap<LabelId, Histogram<u64>>,
}

impl Interval {
    /// Merges the workers' snapshots of one interval. `is_request` says which labels add up to label 0.
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
                (
                    interval.span.0.min(snapshot.span.0),
                    interval.span.1.max(snapshot.span.1),
                )
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
        self.run.left += run.left;
        self.run.opened += run.opened;
        self.run.connections += run.connections;
        self.run.lines_lost += run.lines_lost;
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
        for (id, ages) in snapshot.under_way {
            if id != label::ALL && is_request(id) {
                self.under_way.entry(label::ALL).or_default().add(&ages);
            }
            self.under_way.entry(id).or_default().add(&ages);
        }
        self.door.merge(snapshot.door);
        self.firsts.extend(snapshot.firsts);
    }

    /// Everything of one label, over all phases.
    #[must_use]
    pub fn label(&self, id: LabelId) -> Slot {
        let mut all = Slot::default();
        for (_, slot) in self.slots.range((id, 0)..=(id, u32::MAX)) {
            all.add(slot);
        }
        all
    }
}
