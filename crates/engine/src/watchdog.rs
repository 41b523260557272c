//! Finds workers that do not come back: something that they carry out - a user's script, above all - never ends, and so they see
//! neither their deadlines nor a stop. A worker that is still at it after some seconds is given up and named; the others are
//! waited for no longer because of it.
//!
//! It is asked, about ten times a second, by the collector; it starts no thread and ends none.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering},
};

use crate::stop::{StopHandle, Urgency};

/// Time between two looks.
pub const LOOK_NS: u64 = 100_000_000;
/// A worker that was not seen to move at so many looks is given up.
const LOOKS: u32 = 50;
/// The same where the user wants an end at once.
const LOOKS_IN_A_HURRY: u32 = 10;

/// A worker's sign of life, shared with the watchdog. Touched at every tick, never per request.
#[derive(Debug, Default)]
pub struct Pulse {
    beats: AtomicU64,
    /// The kernel's number of its thread; 0 before it runs.
    thread: AtomicI32,
    over: AtomicBool,
}

impl Pulse {
    /// The calling thread is the worker.
    pub fn begin(&self) {
        let thread = rustix::thread::gettid().as_raw_nonzero().get();
        self.thread.store(thread, Ordering::Relaxed);
    }

    /// The worker is alive.
    pub fn beat(&self) {
        self.beats.fetch_add(1, Ordering::Relaxed);
    }

    /// The worker has sent everything that it will ever send.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }
}

/// Says what a worker is in the middle of, where somebody can tell.
pub type Doing = Arc<dyn Fn(usize) -> Option<String> + Send + Sync>;

/// A worker that was given up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stuck {
    /// Its number.
    pub worker: usize,
    /// What it was in the middle of, where somebody could tell.
    pub doing: Option<String>,
}

impl Stuck {
    /// The worker, to stand behind "ended early by".
    #[must_use]
    pub fn by_whom(&self) -> String {
        let from = self.doing.as_ref().map(|doing| format!(" from {doing}"));
        let from = from.unwrap_or_default();
        format!("worker {}, which did not come back{from}", self.worker)
    }
}

impl std::fmt::Display for Stuck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "worker {} was given up: it did not come back",
            self.worker
        )?;
        if let Some(doing) = &self.doing {
            write!(f, " from {doing}")?;
        }
        f.write_str(", and what it had not handed over is lost")
    }
}

/// Watches the workers of a run.
pub struct Watchdog {
    workers: Vec<Watched>,
    stop: StopHandle,
    doing: Option<Doing>,
    next_look_ns: u64,
    stuck: Vec<Stuck>,
}

struct Watched {
    pulse: Arc<Pulse>,
    beats: u64,
    /// Nanoseconds that its thread has waited for a CPU so far.
    waited_ns: u64,
    /// Looks since it was last seen to move.
    still: u32,
    given_up: bool,
}

impl Watchdog {
    /// A watchdog for workers with these pulses.
    #[must_use]
    pub fn new(pulses: Vec<Arc<Pulse>>, stop: StopHandle, doing: Option<Doing>) -> Watchdog {
        let watched = |pulse| Watched {
            pulse,
            beats: 0,
            waited_ns: 0,
            still: 0,
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

    /// Looks at the workers, if it is time to; answers those that it has given up this time.
    pub fn look(&mut self, now_ns: u64) -> Vec<usize> {
        if now_ns < self.next_look_ns {
            return Vec::new();
        }
        self.next_look_ns = now_ns + LOOK_NS;
        let urgency = self.stop.urgency();
        if urgency > Urgency::None {
            // Nobody else may be able to see it.
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
            // Without its share of the load this is another test than the one that was asked for.
            self.stop.fail("a worker that did not come back");
        }
        found
    }

    /// Whether everyone is done or given up.
    #[must_use]
    pub fn all_over(&self) -> bool {
        let mut workers = self.workers.iter();
        workers.all(|worker| worker.given_up || worker.pulse.is_over())
    }

    /// The workers that were given up.
    #[must_use]
    pub fn into_stuck(self) -> Vec<Stuck> {
        self.stuck
    }
}

impl Watched {
    /// Whether it has not moved for so many looks.
    fn is_still(&mut self, patience: u32) -> bool {
        if self.given_up || self.pulse.is_over() {
            return false;
        }
        let beats = self.pulse.beats.load(Ordering::Relaxed);
        if beats != self.beats {
            self.beats = beats;
            self.still = 0;
            return false;
        }
        let waited = waited_ns(self.pulse.thread.load(Ordering::Relaxed)).unwrap_or(0);
        let waiting = waited.saturating_sub(std::mem::replace(&mut self.waited_ns, waited));
        // One that is not given a CPU cannot be blamed.
        if waiting < LOOK_NS / 2 {
            self.still += 1;
        }
        self.still >= patience
    }
}

/// For how long a thread has been ready to run and waited for a CPU.
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
    fn who_does_not_move_is_given_up_once_and_named() {
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
    fn in_a_hurry_there_is_less_patience() {
        let stop = StopHandle::default();
        let (mut dog, _pulses) = dog(1, &stop);
        stop.stop(crate::stop::Cause::Signal(2));
        stop.stop(crate::stop::Cause::Signal(2));
        let looks = (0..).take_while(|look| dog.look(look * LOOK_NS).is_empty());
        assert_eq!(looks.count() as u32, LOOKS_IN_A_HURRY - 1);
        assert_eq!(stop.noticed_at(), Some(0));
    }
}
