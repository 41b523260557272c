//! The collector: takes whole snapshots from the workers, merges those of the same interval, and hands the intervals on
//! in order. It runs on a thread of low priority and is the only one that calls the sink.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::Receiver,
    },
};

use measure::{Interval, LabelId, Labels, interval::Snapshot, label::Group};

use crate::worker::{Line, Message};

/// Who hears of a run's intervals and lines.
pub trait Sink: Send {
    /// An interval is complete. They come in order, each index once.
    fn interval(&mut self, interval: Interval);
    /// A scenario or a trace prints something.
    fn line(&mut self, line: Line);
}

/// Merges the workers' snapshots.
pub struct Collector {
    workers: usize,
    /// By label: whether its samples belong to "all requests".
    requests: Vec<bool>,
    waiting: BTreeMap<u64, Vec<Snapshot>>,
    /// The index of each worker's last snapshot, once it is known.
    last: Vec<Option<u64>>,
    next: u64,
}

impl Collector {
    /// A collector for so many workers and these labels.
    #[must_use]
    pub fn new(workers: usize, labels: &Labels) -> Collector {
        let requests = labels
            .all()
            .iter()
            .map(|label| label.group == Group::Request)
            .collect();
        Collector {
            workers,
            requests,
            waiting: BTreeMap::new(),
            last: vec![None; workers],
            next: 0,
        }
    }

    /// Works until every worker has sent its last snapshot or is gone.
    pub fn run(
        mut self,
        messages: &Receiver<Message>,
        lines: &Arc<AtomicUsize>,
        sink: &mut dyn Sink,
    ) {
        while let Ok(message) = messages.recv() {
            match message {
                Message::Line(line) => {
                    lines.fetch_sub(1, Ordering::Relaxed);
                    sink.line(line);
                }
                Message::Snapshot(snapshot) => {
                    for interval in self.take(*snapshot) {
                        sink.interval(interval);
                    }
                }
            }
        }
        // A worker that died leaves intervals that nobody completes: what there is counts all the same.
        for (_, snapshots) in std::mem::take(&mut self.waiting) {
            sink.interval(self.merge(snapshots));
        }
    }

    /// Takes a snapshot; answers the intervals that it completes.
    fn take(&mut self, snapshot: Snapshot) -> Vec<Interval> {
        if snapshot.last {
            self.last[snapshot.worker] = Some(snapshot.index);
        }
        self.waiting
            .entry(snapshot.index)
            .or_default()
            .push(snapshot);
        let mut complete = Vec::new();
        while let Some(waiting) = self.waiting.get(&self.next) {
            let over = self
                .last
                .iter()
                .flatten()
                .filter(|last| **last < self.next)
                .count();
            if waiting.len() + over < self.workers {
                break;
            }
            let snapshots = self.waiting.remove(&self.next).unwrap_or_default();
            complete.push(self.merge(snapshots));
            self.next += 1;
        }
        complete
    }

    fn merge(&self, snapshots: Vec<Snapshot>) -> Interval {
        let is_request = |id: LabelId| self.requests.get(usize::from(id)).copied().unwrap_or(true);
        Interval::merge(snapshots, self.workers, is_request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(worker: usize, index: u64, last: bool) -> Snapshot {
        Snapshot {
            worker,
            index,
            span: (index * 10, index * 10 + 10),
            last,
            ..Snapshot::default()
        }
    }

    #[test]
    fn intervals_come_in_order_when_all_have_sent_theirs() {
        let mut collector = Collector::new(2, &Labels::default());
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
}
