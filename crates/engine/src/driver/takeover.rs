//! Arrivals of a worker whose process may take over shares. Every action on an arrival is preceded
//! by a check for takeovers.

use std::{
    cmp::Ordering,
    collections::{BinaryHeap, binary_heap::PeekMut},
};

use plan::{
    Schedule, Share,
    schedule::{Arrival, Shard},
};

use worker::{
    Worker, WorkerPosition,
    load_control::{KNOWN_NS, LOOK_NS},
    takeover::{self, ShardTakeover, TakeoverView},
};

#[derive(Debug)]
struct Coming<'a> {
    next: Arrival,
    rest: Shard<'a>,
}

pub(super) struct TakeoverArrivals<'a> {
    schedule: &'a Schedule,
    position: WorkerPosition,
    view: TakeoverView,
    coming: BinaryHeap<Coming<'a>>,
    /// Clock reading before the last check for takeovers. While arrivals are dense, this check is
    /// recent enough.
    known_ns: u64,
}

impl<'a> TakeoverArrivals<'a> {
    pub fn new(
        takeover: &ShardTakeover,
        schedule: &'a Schedule,
        own: Share,
        position: WorkerPosition,
    ) -> TakeoverArrivals<'a> {
        let mut arrivals = TakeoverArrivals {
            schedule,
            position,
            view: takeover.view(),
            coming: BinaryHeap::new(),
            known_ns: 0,
        };
        arrivals.add(schedule.shard(own.index, own.of));
        arrivals
    }

    fn add(&mut self, mut rest: Shard<'a>) {
        if let Some(next) = rest.next() {
            self.coming.push(Coming { next, rest });
        }
    }

    /// Returns the next arrival, at most one poll interval before it is due. `None` if no arrivals
    /// remain.
    ///
    /// A takeover becomes visible before any of its arrivals is due.
    pub async fn next(&mut self, worker: &Worker) -> Option<Arrival> {
        let over_ns = self.schedule.end_ns().saturating_sub(KNOWN_NS) + 1;
        loop {
            for taken_over in self.view.news() {
                self.add(takeover::shard(taken_over, self.schedule, self.position));
            }
            let next = self.coming.peek().map(|coming| coming.next);
            let until_ns = next.map_or(over_ns, |arrival| arrival.intended_ns);
            let ahead_ns = next.map_or(0, |_| LOOK_NS);
            let is_near = |now: u64| now.saturating_add(ahead_ns) >= until_ns;
            if is_near(self.known_ns) || worker.arrivals_end.is_aborted() {
                return self.take();
            }
            // A check always takes place between reading the clock and acting on the time.
            self.known_ns = worker.clock.now();
            if !is_near(self.known_ns) {
                let _ = worker
                    .sleep_until(until_ns.min(self.known_ns + LOOK_NS), &worker.arrivals_end)
                    .await;
            }
        }
    }

    fn take(&mut self) -> Option<Arrival> {
        let mut first = self.coming.peek_mut()?;
        let arrival = first.next;
        match first.rest.next() {
            Some(next) => first.next = next,
            None => {
                PeekMut::pop(first);
            }
        }
        Some(arrival)
    }
}

impl Ord for Coming<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        other.next.number.cmp(&self.next.number)
    }
}

impl PartialOrd for Coming<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Coming<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.next.number == other.next.number
    }
}

impl Eq for Coming<'_> {}
