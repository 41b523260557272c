//! Sets the CPU affinity of child processes and withholds CPU time from them.

use std::{
    process::Child,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use super::truth::quantile;
use analysis::verdict::measurement::LATE_NS;
use rustix::{
    process::{Pid, Signal, kill_process},
    thread::{CpuSet, sched_getaffinity, sched_setaffinity},
};
use worker::clock;

/// Length of the periods in which a starved process alternately runs and is stopped.
const HALF_NS: u64 = 50_000_000;

pub struct OnCore {
    before: Option<CpuSet>,
}

impl OnCore {
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

/// A thread that waits on the load generator's core. It shows whether a delay was caused by the
/// machine.
pub struct Witness {
    end: Arc<AtomicBool>,
    thread: JoinHandle<Vec<u64>>,
}

const LOOK_NS: u64 = 500_000;
/// Share of late times from which, in one of 100 runs, more than six of 600 requests are late.
const ENOUGH_TO_BE_FLAGGED: f64 = 0.004;

impl Witness {
    pub fn on_core(core: usize) -> Witness {
        let end = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&end);
        let thread = std::thread::spawn(move || {
            let _core = OnCore::number(core);
            worker::clock::lateness_of_looks(LOOK_NS, &|| !stop.load(Ordering::Relaxed))
        });
        Witness { end, thread }
    }

    pub fn end(self) -> WitnessLateness {
        self.end.store(true, Ordering::Relaxed);
        let mut lateness = self.thread.join().unwrap_or_default();
        lateness.sort_unstable();
        WitnessLateness { lateness }
    }
}

pub struct WitnessLateness {
    lateness: Vec<u64>,
}

impl WitnessLateness {
    pub fn was_late(&self) -> bool {
        quantile(&self.lateness, 0.98) > LATE_NS / 2
            || quantile(&self.lateness, 1.0 - ENOUGH_TO_BE_FLAGGED) > LATE_NS
    }

    pub fn worst_ms(&self) -> f64 {
        self.lateness.last().map_or(0.0, |ns| *ns as f64 / 1e6)
    }
}

pub fn hold(child: &Child, ns: u64) {
    let pid = Pid::from_child(child);
    let _ = kill_process(pid, Signal::STOP);
    clock::pause(ns);
    let _ = kill_process(pid, Signal::CONT);
}

/// Stops and continues a child process every 50 ms until dropped.
pub struct Starved {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Starved {
    #[must_use]
    pub fn child(child: &Child) -> Starved {
        let end = Arc::new(AtomicBool::new(false));
        let (stop, pid) = (Arc::clone(&end), Pid::from_child(child));
        let thread = std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let _ = kill_process(pid, Signal::STOP);
                clock::pause(HALF_NS);
                let _ = kill_process(pid, Signal::CONT);
                clock::pause(HALF_NS);
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
            let _ = thread.join();
        }
    }
}

pub struct Neighbour {
    end: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Neighbour {
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
            let _ = thread.join();
        }
    }
}
