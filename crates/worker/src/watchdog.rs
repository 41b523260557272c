//! Detection of workers that hang, for example in a user's script. A worker that hangs for a few
//! seconds is abandoned: it is reported, and the run no longer waits for it.
//!
//! The collector polls the watchdog ten times per second.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use crate::stop::{StopHandle, Urgency};

/// Time between two polls, in nanoseconds.
pub const LOOK_NS: u64 = 100_000_000;
/// Number of polls without a heartbeat after which a worker is abandoned.
const LOOKS: u32 = 50;
const LOOKS_IN_A_HURRY: u32 = 10;

/// The heartbeat of a worker, which the worker updates in every tick.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: AtomicU64,
    /// ID of the worker's thread, or 0 before the thread runs.
    thread: AtomicI32,
    over: AtomicBool,
}

impl Pulse {
    /// Registers the calling thread as the worker's thread.
    pub fn begin(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// Signals that the worker is responsive.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// Signals that the worker has sent its last message.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// Describes what a worker is doing, if known.
pub type Doing = Arc<dyn Fn(usize) -> Option<String> + Send + Sync>;

/// A worker that was abandoned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Index of the worker.
    pub worker: usize,
    /// What the worker was doing when it was abandoned, if known.
    pub doing: Option<String>,
}

impl Stuck {
    /// Returns a description of the worker, for texts after "ended early by".
    #[must_use]
    pub fn by_whom(&self) -> String {
        let place = self.doing.as_ref().map(|doing| format!(" in {doing}"));
        let place = place.unwrap_or_default();
        format!("worker {}, which hung{place}", self.worker)
    }
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "worker {} hung", self.worker)?;
        if let Some(doing) = &self.doing {
            write!(f, " in {doing}")?;
        }
        f.write_str(" and was abandoned; its latest figures are lost")
    }
}

/// Monitors the workers of a run.
pub struct Watchdog {
    workers: Vec<WatchedWorker>,
    stop: StopHandle,
    doing: Option<Doing>,
    next_look_ns: u64,
    stuck: Vec<Stuck>,
}

struct WatchedWorker {
    pulse: Arc<Pulse>,
    beats: u64,
    /// Time that the worker's thread has waited for a CPU, in nanoseconds.
    waited_ns: u64,
    /// Time without a heartbeat, except for times in which the thread waited for a CPU, in
    /// nanoseconds.
    still_ns: u64,
    given_up: bool,
}

impl Watchdog {
    /// Creates a watchdog for the workers with these heartbeats.
    #[must_use]
    pub fn new(pulses: Vec<Arc<Pulse>>, stop: StopHandle, doing: Option<Doing>) -> Watchdog {
        let watched = |pulse| WatchedWorker {
            pulse,
            beats: 0,
            waited_ns: 0,
            still_ns: 0,
            given_up: false,
        };
        Watchdog {
            workers: pulses.into_iter().map(watched).collect(),
            stop,
            doing,
            next_look_ns: 0,
            stuck: Vec::new(),
        }
    }

    /// Polls the workers if a poll is due. Returns the workers that this call abandons.
    pub fn look(&mut self, now_ns: u64) -> Vec<usize> {
        if now_ns < self.next_look_ns {
            return Vec::new();
        }
        self.next_look_ns = now_ns + LOOK_NS;
        let urgency = self.stop.urgency();
        if urgency > Urgency::None {
            // The hung worker may be the only one that could have noticed the stop.
            self.stop.noticed(now_ns);
        }
        let patience = if urgency == Urgency::Abort {
            LOOKS_IN_A_HURRY
        } else {
            LOOKS
        };
        let mut found = Vec::new();
        for (number, worker) in self.workers.iter_mut().enumerate() {
            if worker.is_still(patience) {
                worker.given_up = true;
                found.push(number);
            }
        }
        for worker in &found {
            let doing = self.doing.as_ref().and_then(|doing| doing(*worker));
            self.stuck.push(Stuck {
                worker: *worker,
                doing,
            });
        }
        if !found.is_empty() {
            // Without this worker's share of the load, the run is not the requested test.
            self.stop.fail("a hung worker");
        }
        found
    }

    /// Returns whether all workers have ended or were abandoned.
    #[must_use]
    pub fn all_over(&self) -> bool {
        let mut workers = self.workers.iter();
        workers.all(|worker| worker.given_up || worker.pulse.is_over())
    }

    /// Returns the abandoned workers.
    #[must_use]
    pub fn into_stuck(self) -> Vec<Stuck> {
        self.stuck
    }
}

impl WatchedWorker {
    /// Returns whether the heartbeat has not changed for the time of `patience` polls.
    fn is_still(&mut self, patience: u32) -> bool {
        if self.given_up || self.pulse.is_over() {
            return false;
        }
        let beats = self.pulse.beats.load(Ordering::Relaxed);
        if beats != self.beats {
            self.beats = beats;
            self.still_ns = 0;
            return false;
        }
        let waited = waited_ns(self.pulse.thread.load(Ordering::Relaxed)).unwrap_or(0);
        let waiting = waited.saturating_sub(std::mem::replace(&mut self.waited_ns, waited));
        // A worker that gets no CPU time does not hang. A worker in an endless loop gets some on
        // any machine.
        self.still_ns += LOOK_NS.saturating_sub(waiting);
        self.still_ns >= u64::from(patience) * LOOK_NS
    }
}

fn waited_ns(thread: i32) -> Option<u64> {
    let path = format!("/proc/self/task/{thread}/schedstat");
    let text = std::fs::read_to_string(path).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dog(workers: usize, stop: &StopHandle) -> (Watchdog, Vec<Arc<Pulse>>) {
        let pulses: Vec<Arc<Pulse>> = (0..workers).map(|_| Arc::default()).collect();
        let doing: Doing = Arc::new(|worker| Some(format!("the hook of {worker}")));
        let dog = Watchdog::new(pulses.clone(), stop.clone(), Some(doing));
        (dog, pulses)
    }

    #[test]
    fn hung_worker_is_abandoned_once_and_named() {
        let stop = StopHandle::default();
        let (mut dog, pulses) = dog(2, &stop);
        for look in 0..u64::from(LOOKS) - 1 {
            pulses[0].beat();
            assert!(dog.look(look * LOOK_NS).is_empty());
            assert!(
                dog.look(look * LOOK_NS + 1).is_empty(),
                "too early to count"
            );
        }
        pulses[0].beat();
        assert_eq!(dog.look(60 * LOOK_NS), [1]);
        assert_eq!(stop.urgency(), Urgency::Abort);
        assert!(!dog.all_over());
        pulses[0].end();
        assert!(dog.look(61 * LOOK_NS).is_empty());
        assert!(dog.all_over());
        let stuck = dog.into_stuck();
        assert_eq!(stuck.len(), 1);
        assert_eq!(stuck[0].doing.as_deref(), Some("the hook of 1"));
    }

    #[test]
    fn abort_abandons_hung_worker_sooner() {
        let stop = StopHandle::default();
        let (mut dog, _pulses) = dog(1, &stop);
        stop.stop(crate::stop::Cause::Signal(2));
        stop.stop(crate::stop::Cause::Signal(2));
        let looks = (0..).take_while(|look| dog.look(look * LOOK_NS).is_empty());
        assert_eq!(looks.count() as u32, LOOKS_IN_A_HURRY - 1);
        assert_eq!(stop.noticed_at(), Some(0));
    }
}
