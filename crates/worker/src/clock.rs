//! The engine's only access to time: `CLOCK_MONOTONIC` since the start of the run, and the wall
//! clock. Tests use a manual clock.

use std::{cell::Cell, num::NonZeroU64, rc::Rc};

use rustix::time::{ClockId, Timespec};

/// The start of a run on both clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Zero {
    /// `CLOCK_MONOTONIC` at the start, in nanoseconds.
    pub monotonic_ns: u64,
    /// Wall clock at the start, in nanoseconds since 1970.
    pub wall_ns: u64,
}

impl Zero {
    /// Returns a start in `ahead` nanoseconds, so that all workers have time to get ready.
    #[must_use]
    pub fn in_ns(ahead: u64) -> Zero {
        Zero {
            monotonic_ns: read(ClockId::Monotonic) + ahead,
            wall_ns: read(ClockId::Realtime) + ahead,
        }
    }
}

/// A clock that counts nanoseconds from the start of the run.
#[derive(Debug, Clone)]
pub struct Clock(ClockSource);

#[derive(Debug, Clone)]
enum ClockSource {
    System { zero_ns: u64 },
    Manual(Rc<Cell<u64>>),
}

impl Clock {
    /// Creates a clock that reads the machine's clock.
    #[must_use]
    pub fn system(zero: Zero) -> Clock {
        Clock(ClockSource::System {
            zero_ns: zero.monotonic_ns,
        })
    }

    /// Creates a clock that returns the value of `cell`.
    #[must_use]
    pub fn manual(cell: Rc<Cell<u64>>) -> Clock {
        Clock(ClockSource::Manual(cell))
    }

    /// Returns the nanoseconds since the start of the run. 0 before the start.
    #[inline]
    #[must_use]
    pub fn now(&self) -> u64 {
        match &self.0 {
            ClockSource::System { zero_ns } => read(ClockId::Monotonic).saturating_sub(*zero_ns),
            ClockSource::Manual(cell) => cell.get(),
        }
    }

    /// Converts a time of the run to `CLOCK_MONOTONIC`. With a manual clock, returns a time in the
    /// past.
    #[must_use]
    pub fn absolute(&self, ns: u64) -> u64 {
        match &self.0 {
            ClockSource::System { zero_ns } => zero_ns.saturating_add(ns),
            ClockSource::Manual(_) => 1,
        }
    }
}

/// Returns the current `CLOCK_MONOTONIC` in nanoseconds.
#[must_use]
pub fn monotonic_ns() -> u64 {
    read(ClockId::Monotonic)
}

/// Returns the CPU time of the calling thread, in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    read(ClockId::ThreadCPUTime)
}

/// Returns how long this thread was runnable but waited for a CPU. `None` if the kernel does not
/// report this.
#[must_use]
pub fn thread_waiting_ns() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the wall clock in nanoseconds since 1970.
#[must_use]
pub fn wall_ns() -> u64 {
    read(ClockId::Realtime)
}

/// Blocks this thread for `ns` nanoseconds. A worker must use deadlines instead.
///
/// A single `park_timeout` may return immediately, if other code left a token on the thread.
pub fn pause(ns: u64) {
    let until = monotonic_ns().saturating_add(ns);
    loop {
        let left = until.saturating_sub(monotonic_ns());
        if left == 0 {
            return;
        }
        std::thread::park_timeout(std::time::Duration::from_nanos(left));
    }
}

#[inline]
#[allow(
    clippy::disallowed_methods,
    reason = "this is the only place that reads the clock"
)]
fn read(id: ClockId) -> u64 {
    let Timespec { tv_sec, tv_nsec } = rustix::time::clock_gettime(id);
    tv_sec as u64 * 1_000_000_000 + tv_nsec as u64
}

/// Measures the precision of the machine's timers by waiting repeatedly for `gap_ns`. Returns the
/// lateness of each wait in nanoseconds.
#[must_use]
pub fn bare_timer_loop(gap_ns: u64, count: u64) -> Vec<u64> {
    // By default, a plain sleep may end 50 µs late, because the kernel groups wake-ups. The pacer's
    // timerfd is precise.
    let slack = rustix::thread::current_timer_slack()
        .ok()
        .and_then(NonZeroU64::new);
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let lateness = timer_loop(gap_ns, count);
    let _ = rustix::thread::set_current_timer_slack(slack);
    lateness
}

fn timer_loop(gap_ns: u64, count: u64) -> Vec<u64> {
    let zero = read(ClockId::Monotonic) + gap_ns;
    let mut wakeup = crate::wakeup::WakeupLatency::default();
    let mut lateness = Vec::with_capacity(count as usize);
    for k in 0..count {
        let deadline = zero + k * gap_ns;
        let mut now = read(ClockId::Monotonic);
        let asleep_until = deadline - wakeup.early_ns(now.saturating_sub(zero));
        if now < asleep_until {
            sleep_until(asleep_until);
            now = read(ClockId::Monotonic);
            wakeup.woke(now.saturating_sub(asleep_until));
        }
        let awake_since = now;
        while now < deadline {
            std::hint::spin_loop();
            now = read(ClockId::Monotonic);
        }
        wakeup.spun(now - awake_since);
        lateness.push(now - deadline);
    }
    lateness
}

/// Sleeps repeatedly for `gap_ns` while `go_on` returns `true`. Returns the lateness of each
/// wake-up in nanoseconds.
pub fn lateness_of_looks(gap_ns: u64, go_on: &dyn Fn() -> bool) -> Vec<u64> {
    let mut deadline = read(ClockId::Monotonic);
    let mut lateness = Vec::new();
    while go_on() {
        deadline += gap_ns;
        sleep_until(deadline);
        lateness.push(read(ClockId::Monotonic).saturating_sub(deadline));
    }
    lateness
}

fn sleep_until(monotonic_ns: u64) {
    let at = Timespec {
        tv_sec: (monotonic_ns / 1_000_000_000) as i64,
        tv_nsec: (monotonic_ns % 1_000_000_000) as i64,
    };
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &at);
}
