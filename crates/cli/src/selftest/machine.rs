//! The machine during the battery: which core a child runs on, and taking the CPU away from one.

use std::{
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use super::truth::quantile;
use analysis::verdict::measurement::LATE_NS;
use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};

/// Starts children on one core: what this thread may use is inherited by what it starts. Put back when dropped.
pub struct OnCore {
    before: Option<CpuSet>,
}

impl OnCore {
    /// From now on children run on this one of the usable cores, if there are several.
    #[must_use]
    pub fn number(number: usize) -> OnCore {
        let Ok(before) = sched_getaffinity(None) else {
            return OnCore { before: None };
        };
        let usable: Vec<usize> = (0..CpuSet::MAX_CPU)
            .filter(|cpu| before.is_set(*cpu))
            .collect();
        if usable.len() < 2 {
            return OnCore { before: None };
        }
        let mut one = CpuSet::new();
        one.set(usable[number % usable.len()]);
        let _ = sched_setaffinity(None, &one);
        OnCore {
            before: Some(before),
        }
    }
}

impl Drop for OnCore {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            let _ = sched_setaffinity(None, before);
        }
    }
}

/// Watches the machine while an experiment runs: a thread on the generator's core that does nothing but wait, and is late when
/// whatever runs there would be. What makes both late is not the generator's fault.
pub struct Witness {
    end: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
}

/// Between two looks of a witness: ten times as often as the experiments that it watches send, so that it sees whatever one of
/// their requests may have met.
const LOOK_NS: u64 = 500_000;
/// Of 600 requests more than six are that late by chance, one time in a hundred, where this share of all moments is.
const ENOUGH_TO_BE_FLAGGED: f64 = 0.004;

impl Witness {
    /// Watches from now on.
    pub fn on_core(core: usize) -> Witness {
        let end = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let _core = OnCore::number(core);
            engine::clock::lateness_of_looks(LOOK_NS, &|| !stop.load(Ordering::Relaxed))
        });
        Witness { end, thread }
    }

    /// Ends the watch.
    pub fn end(self) -> WitnessLateness {
        self.end.store(true, Ordering::Relaxed);
        // A witness that died has seen nothing.
        let mut lateness = self.thread.join().unwrap_or_default();
        lateness.sort_unstable();
        WitnessLateness { lateness }
    }
}

/// What a witness saw.
pub struct WitnessLateness {
    /// Of each look, sorted, in nanoseconds.
    lateness: Vec<u64>,
}

impl WitnessLateness {
    /// Whether the machine was late by what would flag a run.
    pub fn was_late(&self) -> bool {
        quantile(&self.lateness, 0.98) > LATE_NS / 2
            || quantile(&self.lateness, 1.0 - ENOUGH_TO_BE_FLAGGED) > LATE_NS
    }

    /// The latest look, in milliseconds.
    pub fn worst_ms(&self) -> f64 {
        self.lateness.last().map_or(0.0, |ns| *ns as f64 / 1e6)
    }
}

/// Keeps a child from running for so long.
pub fn hold(child: &Child, time: Duration) {
    let pid = Pid::from_child(child);
    // A child that has ended already is found out by what it left.
    let _ = kill_process(pid, Signal::STOP);
    let until = std::time::Duration::from_nanos(engine::clock::wall_ns()) + time;
    while let Some(left) = until.checked_sub(Duration::from_nanos(engine::clock::wall_ns())) {
        std::thread::park_timeout(left);
    }
    let _ = kill_process(pid, Signal::CONT);
}

/// Takes the CPU away from a child, half of the time, until it is dropped: stopped and continued every 50 ms.
pub struct Starved {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Starved {
    /// Starves a child from now on.
    #[must_use]
    pub fn child(child: &Child) -> Starved {
        let end = Arc::new(AtomicBool::new(false));
        let (stop, pid) = (Arc::clone(&end), Pid::from_child(child));
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                // A child that has ended is no matter: it can no longer be starved.
                let _ = kill_process(pid, Signal::STOP);
                std::thread::park_timeout(Duration::from_millis(50));
                let _ = kill_process(pid, Signal::CONT);
                std::thread::park_timeout(Duration::from_millis(50));
            }
        });
        Starved {
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Starved {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // Only a panic in a loop without any could be lost here.
            let _ = thread.join();
        }
    }
}

/// Somebody else who wants the generator's core all of the time, until it is dropped.
pub struct Neighbour {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
    /// Is busy from now on.
    #[must_use]
    pub fn on_core(core: usize) -> Neighbour {
        let end = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let _core = OnCore::number(core);
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Neighbour {
            end,
            thread: Some(thread),
        }
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.end.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Only a panic in a loop without any could be lost here.
            let _ = thread.join();
        }
    }
}
