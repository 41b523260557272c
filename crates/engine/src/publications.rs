//! Messages that publishing steps sent, for the listeners that receive them.
//!
//! Each worker has its own list, and hands it over when its users have finished. A message is
//! identified by its publisher and its number.

use std::{
    cell::RefCell,
    collections::VecDeque,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
};

use worker::{Worker, WorkerPosition};

/// Number of bits in a publisher's number. The number of the run precedes them. The whole number is
/// below 2^53, so that servers can read it as floating point without loss.
const PUBLISHER_BITS: u32 = 20;
/// Time after which another user may reuse a publisher's number, in nanoseconds. By then, messages
/// of both users cannot overtake each other.
const REST_NS: u64 = 1_000_000_000;

/// Result of publishing a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PublicationOutcome {
    /// The server accepted the message. If the protocol has no response, the operating system
    /// accepted it.
    Sent,
    /// At least part of the message was sent, but the response is missing.
    Unknown,
    /// The server refused the message.
    Refused,
}

/// A message that a step published.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Publication {
    /// Number of the publisher.
    pub publisher: u32,
    /// Number of the message, counted from 0 for each publisher.
    pub message: u64,
    /// When the worker started the operation, in nanoseconds of the run.
    pub at_ns: u64,
    /// Result of publishing the message.
    pub outcome: PublicationOutcome,
}

/// The publications of all workers of a run.
#[derive(Debug)]
pub struct Publications {
    /// Number that distinguishes the run from earlier runs.
    run: u32,
    workers: usize,
    finished: AtomicUsize,
    /// Number of publishers so far.
    publishers: AtomicU32,
    /// Number of messages that steps have stamped.
    stamped: AtomicU64,
    /// Number of published messages by [`PublicationOutcome`].
    outcomes: [AtomicU64; 3],
    all: Mutex<Vec<Publication>>,
}

impl Publications {
    /// Creates an empty list for a number of publishing workers. `random` distinguishes runs.
    #[must_use]
    pub fn new(random: u64, workers: usize) -> Publications {
        Publications {
            run: (random ^ (random >> 32)) as u32,
            workers,
            finished: AtomicUsize::new(0),
            publishers: AtomicU32::new(0),
            stamped: AtomicU64::new(0),
            outcomes: Default::default(),
            all: Mutex::default(),
        }
    }

    /// Returns whether all publishing workers have handed over their lists.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        self.finished.load(Ordering::Acquire) >= self.workers
    }

    /// Returns the number of messages with this outcome.
    #[must_use]
    pub fn count(&self, outcome: PublicationOutcome) -> u64 {
        self.outcomes[outcome as usize].load(Ordering::Relaxed)
    }

    /// Returns the number of stamped messages that no listener should receive: refused messages,
    /// messages that were never sent, and messages in flight.
    #[must_use]
    pub fn not_due(&self) -> u64 {
        let due = [PublicationOutcome::Sent, PublicationOutcome::Unknown];
        let due: u64 = due.into_iter().map(|outcome| self.count(outcome)).sum();
        self.stamped.load(Ordering::Relaxed).saturating_sub(due)
    }

    /// Returns the publications that were handed over, ordered by time.
    #[must_use]
    pub fn sorted(&self) -> Vec<Publication> {
        let all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = all.clone();
        all.sort_unstable_by_key(|one| one.at_ns);
        all
    }

    /// Returns the value of `$sender` for a publisher.
    #[must_use]
    pub fn sender(&self, publisher: u32) -> u64 {
        (u64::from(self.run) << PUBLISHER_BITS) | u64::from(publisher)
    }

    /// Returns the publisher with this value of `$sender`. `None` if the value is not from this
    /// run.
    #[must_use]
    pub fn publisher(&self, sender: u64) -> Option<u32> {
        let publisher = (sender & ((1 << PUBLISHER_BITS) - 1)) as u32;
        let is_known = publisher < self.publishers.load(Ordering::Relaxed);
        (sender >> PUBLISHER_BITS == u64::from(self.run) && is_known).then_some(publisher)
    }

    fn hand_over(&self, log: &mut Vec<Publication>) {
        let mut all = self.all.lock().unwrap_or_else(PoisonError::into_inner);
        all.append(log);
        self.finished.fetch_add(1, Ordering::Release);
    }
}

/// The publishers of one worker.
pub struct Publishers {
    worker: Rc<Worker>,
    shared: Arc<Publications>,
    position: WorkerPosition,
    state: RefCell<PublisherState>,
}

#[derive(Default)]
struct PublisherState {
    /// Next message number of each publisher of this worker.
    next: Vec<u64>,
    /// Publishers without a user, and the times since which they are free.
    free: VecDeque<(u64, u32)>,
    log: Vec<Publication>,
    is_finished: bool,
}

impl Publishers {
    /// Creates the publishers of a worker.
    #[must_use]
    pub fn new(worker: &Rc<Worker>, shared: Arc<Publications>) -> Publishers {
        Publishers {
            worker: Rc::clone(worker),
            shared,
            position: worker.position(),
            state: RefCell::default(),
        }
    }

    /// Hands over the list of publications. Later publications are ignored.
    pub fn finish(&self) {
        let state = &mut *self.state.borrow_mut();
        if !std::mem::replace(&mut state.is_finished, true) {
            self.shared.hand_over(&mut state.log);
        }
    }

    fn take(&self) -> u32 {
        let now = self.worker.clock.now();
        let state = &mut *self.state.borrow_mut();
        let workers = self.position.workers.max(1) as u32;
        let most = (1 << PUBLISHER_BITS) / workers;
        let has_rested = |freed_ns: u64| now >= freed_ns.saturating_add(REST_NS);
        if let Some((freed_ns, slot)) = state.free.front().copied()
            && (has_rested(freed_ns) || state.next.len() as u32 >= most)
        {
            state.free.pop_front();
            return slot;
        }
        let slot = (state.next.len() as u32).min(most - 1);
        if slot as usize == state.next.len() {
            state.next.push(0);
        }
        let publisher = self.publisher(slot);
        self.shared
            .publishers
            .fetch_max(publisher + 1, Ordering::Relaxed);
        slot
    }

    fn publisher(&self, slot: u32) -> u32 {
        slot * self.position.workers.max(1) as u32 + self.position.index as u32
    }
}

impl Drop for Publishers {
    fn drop(&mut self) {
        self.finish();
    }
}

/// Assigns a publisher to a user for one iteration, starting with its first publication. A clone
/// has no publisher, because the order of messages from two branches is undefined.
#[derive(Default)]
pub struct PublisherLease(Option<(Rc<Publishers>, u32)>);

impl Clone for PublisherLease {
    fn clone(&self) -> Self {
        PublisherLease(None)
    }
}

impl Drop for PublisherLease {
    fn drop(&mut self) {
        if let Some((publishers, slot)) = self.0.take() {
            let now = publishers.worker.clock.now();
            publishers.state.borrow_mut().free.push_back((now, slot));
        }
    }
}

/// The identity of a message that a step is about to publish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageStamp {
    /// Value of `$sender`.
    pub sender: u64,
    /// Number of the publisher.
    pub publisher: u32,
    /// Number of the message, counted from 0 for each publisher.
    pub message: u64,
}

impl PublisherLease {
    /// Assigns a number to the user's next message.
    pub fn stamp(&mut self, publishers: &Rc<Publishers>) -> MessageStamp {
        let (_, slot) = self
            .0
            .get_or_insert_with(|| (Rc::clone(publishers), publishers.take()));
        publishers.shared.stamped.fetch_add(1, Ordering::Relaxed);
        let next = &mut publishers.state.borrow_mut().next[*slot as usize];
        let message = *next;
        *next += 1;
        let publisher = publishers.publisher(*slot);
        MessageStamp {
            sender: publishers.shared.sender(publisher),
            publisher,
            message,
        }
    }

    /// Adds a message to the list of publications.
    pub fn add_publication(&self, stamp: MessageStamp, at_ns: u64, outcome: PublicationOutcome) {
        if let Some((publishers, _)) = &self.0 {
            let outcomes = &publishers.shared.outcomes;
            outcomes[outcome as usize].fetch_add(1, Ordering::Relaxed);
            publishers.state.borrow_mut().log.push(Publication {
                publisher: stamp.publisher,
                message: stamp.message,
                at_ns,
                outcome,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn senders_of_other_runs_are_not_known() {
        let (one, other) = (Publications::new(7, 1), Publications::new(8, 1));
        one.publishers.store(3, Ordering::Relaxed);
        other.publishers.store(3, Ordering::Relaxed);
        assert_eq!(one.publisher(one.sender(2)), Some(2));
        assert_eq!(one.publisher(one.sender(3)), None, "not yet in use");
        assert_eq!(one.publisher(other.sender(2)), None);
        assert_eq!(one.publisher(u64::MAX), None);
        assert!(one.sender(2) < 1 << 53);
        assert!(Publications::new(u64::MAX << 32, 1).sender(0) < 1 << 53);
    }

    #[test]
    fn publications_are_complete_when_every_worker_has_finished() {
        let publications = Publications::new(1, 2);
        let one = |at_ns| Publication {
            publisher: 0,
            message: at_ns,
            at_ns,
            outcome: PublicationOutcome::Sent,
        };
        publications.hand_over(&mut vec![one(5), one(9)]);
        assert!(!publications.are_complete());
        publications.hand_over(&mut vec![one(7)]);
        assert!(publications.are_complete());
        let times: Vec<u64> = publications.sorted().iter().map(|one| one.at_ns).collect();
        assert_eq!(times, [5, 7, 9]);
    }
}
