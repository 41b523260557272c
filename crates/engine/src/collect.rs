//! Merging of the workers' snapshots into intervals, which are passed to the sink in order. Runs on
//! a low-priority thread.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError},
    },
    time::Duration,
};

use measure::{
    Interval, Label, LabelId, TimeSpan,
    interval::Snapshot,
    label::{Registry, Role},
};

use plan::Raw;
use worker::{
    OutputLine, WorkerMessage,
    clock::Clock,
    watchdog::{LOOK_NS, Stuck, Watchdog},
};

/// Receives the intervals and output lines of a run.
pub trait Sink: Send {
    /// Receives a complete interval. Intervals arrive in order, and each exactly once.
    fn interval(&mut self, interval: Interval);
    /// Receives a line that a scenario or a trace prints.
    fn line(&mut self, line: Raw<OutputLine>);
}

/// Returns how many arrivals of a worker are due by a time. The number comes from the schedule, so
/// it is also correct for delayed and dead workers.
pub type Due = Box<dyn Fn(usize, u64) -> u64 + Send>;

/// Merges the workers' snapshots.
pub struct Collector {
    due: Due,
    arrivals_end: Vec<Option<u64>>,
    workers: usize,
    labels: Registry,
    requests: Vec<bool>,

    waiting: BTreeMap<u64, Vec<Snapshot>>,
    last: Vec<Option<u64>>,
    /// Whether each worker has been abandoned, so that the collector no longer waits for it.
    given_up: Vec<bool>,
    next: u64,
}

impl Collector {
    /// Creates a collector for `workers` workers.
    #[must_use]
    pub fn new(workers: usize, labels: Registry, due: Due) -> Collector {
        let mut collector = Collector {
            due,
            labels,

            arrivals_end: vec![None; workers],
            workers,
            requests: Vec::new(),
            waiting: BTreeMap::new(),
            last: vec![None; workers],
            given_up: vec![false; workers],
            next: 0,
        };
        collector.new_labels();
        collector
    }

    fn new_labels(&mut self) -> Vec<Label> {
        let new = self.labels.since(self.requests.len());
        let are_requests = new.iter().map(|label| label.group.role() == Role::Request);
        self.requests.extend(are_requests);
        new
    }

    /// Collects until every worker has finished, died or been abandoned. Returns the abandoned
    /// workers.
    pub fn run(
        mut self,
        messages: &Receiver<WorkerMessage>,
        lines: &Arc<AtomicUsize>,
        clock: &Clock,
        mut watchdog: Watchdog,
        sink: &mut dyn Sink,
    ) -> Vec<Stuck> {
        loop {
            // Check this first, so that the last messages of a finished worker are not lost.
            let all_over = watchdog.all_over();
            match messages.recv_timeout(Duration::from_nanos(LOOK_NS)) {
                Ok(WorkerMessage::Line(line)) => {
                    lines.fetch_sub(1, Ordering::Relaxed);
                    sink.line(line);
                }
                Ok(WorkerMessage::Snapshot(snapshot)) => {
                    for interval in self.take(*snapshot) {
                        sink.interval(interval);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if all_over => break,
                Err(RecvTimeoutError::Timeout) => {}
            }
            for worker in watchdog.look(clock.now()) {
                for interval in self.give_up(worker) {
                    sink.interval(interval);
                }
            }
        }
        for (_, snapshots) in std::mem::take(&mut self.waiting) {
            sink.interval(self.merge(snapshots));
        }
        watchdog.into_stuck()
    }

    fn give_up(&mut self, worker: usize) -> Vec<Interval> {
        self.given_up[worker] = true;
        self.complete()
    }

    fn take(&mut self, snapshot: Snapshot) -> Vec<Interval> {
        if self.given_up[snapshot.worker] {
            // The worker resumed after its intervals had been written.
            return Vec::new();
        }
        if snapshot.last {
            self.last[snapshot.worker] = Some(snapshot.index);
        }
        self.waiting
            .entry(snapshot.index)
            .or_default()
            .push(snapshot);
        self.complete()
    }

    fn complete(&mut self) -> Vec<Interval> {
        let mut complete = Vec::new();
        while let Some(waiting) = self.waiting.get(&self.next) {
            let is_missing = |worker: usize| {
                let is_over = self.last[worker].is_some_and(|last| last < self.next);
                !is_over && !self.given_up[worker] && !waiting.iter().any(|s| s.worker == worker)
            };
            if (0..self.workers).any(is_missing) {
                break;
            }
            let snapshots = self.waiting.remove(&self.next).unwrap_or_default();
            complete.push(self.merge(snapshots));
            self.next += 1;
        }
        complete
    }

    fn merge(&mut self, snapshots: Vec<Snapshot>) -> Interval {
        for snapshot in &snapshots {
            self.arrivals_end[snapshot.worker] = snapshot.arrivals_end_ns;
        }
        // The labels were assigned before the intervals were closed.
        let labels = self.new_labels();
        let is_request = |id: LabelId| self.requests.get(usize::from(id)).copied().unwrap_or(true);
        let mut interval = Interval::merge(snapshots, self.workers, is_request);
        interval.labels = labels;
        let TimeSpan {
            from_ns: from,
            to_ns: to,
        } = interval.span;
        for (worker, end) in self.arrivals_end.iter().enumerate() {
            let until = |at: u64| (self.due)(worker, end.map_or(at, |end| at.min(end)));
            interval.run.due += until(to).saturating_sub(if from == 0 { 0 } else { until(from) });
        }
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(worker: usize, index: u64, last: bool) -> Snapshot {
        Snapshot {
            worker,
            index,
            span: TimeSpan::new(index * 10, index * 10 + 10),
            last,
            ..Snapshot::default()
        }
    }

    #[test]
    fn planned_arrivals_come_from_the_schedule() {
        let mut collector = Collector::new(2, Registry::default(), Box::new(|_, until| until));
        let mut silent = snapshot(0, 1, false);
        silent.arrivals_end_ns = Some(14);
        let first = collector.merge(vec![snapshot(0, 0, false)]);
        let second = collector.merge(vec![silent]);
        assert_eq!((first.run.due, second.run.due), (20, 14));
    }

    #[test]
    fn intervals_are_complete_and_in_order() {
        let mut collector = Collector::new(2, Registry::default(), Box::new(|_, _| 0));
        let mut indices = |s| {
            collector
                .take(s)
                .iter()
                .map(|i| i.index)
                .collect::<Vec<_>>()
        };
        assert_eq!(indices(snapshot(0, 0, false)), Vec::<u64>::new());
        assert_eq!(indices(snapshot(0, 1, false)), Vec::<u64>::new());
        assert_eq!(indices(snapshot(1, 0, true)), [0, 1]);
        assert_eq!(indices(snapshot(0, 2, true)), [2]);
    }

    #[test]
    fn stuck_worker_does_not_block_others() {
        let mut collector = Collector::new(2, Registry::default(), Box::new(|_, _| 0));
        let indices =
            |intervals: Vec<Interval>| intervals.iter().map(|i| i.index).collect::<Vec<_>>();
        assert!(indices(collector.take(snapshot(0, 0, false))).is_empty());
        assert_eq!(indices(collector.take(snapshot(1, 0, false))), [0]);
        for index in 1..4 {
            assert!(indices(collector.take(snapshot(0, index, false))).is_empty());
        }
        assert_eq!(indices(collector.give_up(1)), [1, 2, 3]);
        assert!(indices(collector.take(snapshot(1, 1, true))).is_empty());
        assert_eq!(indices(collector.take(snapshot(0, 4, true))), [4]);
        assert!(collector.waiting.is_empty());
    }
}
