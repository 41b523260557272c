//! How long before a deadline to be awake, and how much of the time may be spent awake. Arithmetic only: [`crate::pacer`] sleeps
//! and spins by it, and so does the bare loop that it is measured against.
//!
//! With a pacing slack there is usually nothing to spin for: a waking takes less than the slack.
//!
//! Waking takes a while, and not always the same while, so a sleeper asks to be woken early by what nine wakings of ten
//! have lately taken. The rest of the wait is spent awake; on a machine that wakes quickly that is a few microseconds.

/// Nobody asks to be woken earlier than this; it is also where a worker begins, before it has seen a waking.
const LONGEST_NS: u64 = 60_000;
/// And nobody later: reading the clock and turning to the work take that long.
const SHORTEST_NS: u64 = 3_000;
/// The share of wakings that take no longer than is allowed for.
const IN_TIME: f64 = 0.9;
/// How far one waking moves the estimate: far enough to follow a machine within some hundred wakings.
const STEP_NS: f64 = 1_000.0;
/// At most this share of a worker's time is spent spinning.
const SPIN_SHARE: f64 = 0.25;
/// So much may be spent at once before the share counts.
const SPIN_CREDIT_NS: u64 = 2_000_000;

/// What one worker knows of its wakings and has spent awake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct WakeupLatency {
    waking_ns: f64,
    spun_ns: u64,
}

impl Default for WakeupLatency {
    fn default() -> WakeupLatency {
        WakeupLatency {
            waking_ns: LONGEST_NS as f64,
            spun_ns: 0,
        }
    }
}

impl WakeupLatency {
    /// How long before a deadline to be awake, for whoever has been at it for so long; 0 when no more spinning is allowed.
    #[must_use]
    pub fn early_ns(&self, elapsed_ns: u64) -> u64 {
        let allowed = elapsed_ns as f64 * SPIN_SHARE + SPIN_CREDIT_NS as f64;
        if (self.spun_ns as f64) < allowed {
            self.waking_ns as u64
        } else {
            0
        }
    }

    /// When to ask to be woken for a deadline, seen from `now_ns`. All times are nanoseconds since the start.
    ///
    /// A deadline further away than the slack is met by itself: the worker wakes early by what a waking takes beyond the
    /// slack. One that is nearer belongs to a dense sequence, in which a wake-up for each deadline costs more than the work:
    /// the worker wakes a slack later and handles all that came due by then.
    #[must_use]
    pub fn wake_at(&self, deadline_ns: u64, now_ns: u64, slack_ns: u64) -> u64 {
        let early_ns = self.early_ns(now_ns);
        let is_dense = deadline_ns.saturating_sub(now_ns) < slack_ns;
        let late_ns = if is_dense {
            slack_ns
        } else {
            slack_ns.min(early_ns)
        };
        (deadline_ns + late_ns).saturating_sub(early_ns)
    }

    /// A waking came so long after it was asked for.
    pub fn woke(&mut self, late_ns: u64) {
        let late = late_ns as f64 > self.waking_ns;
        let step = if late { IN_TIME } else { IN_TIME - 1.0 };
        self.waking_ns =
            (self.waking_ns + step * STEP_NS).clamp(SHORTEST_NS as f64, LONGEST_NS as f64);
    }

    /// So long was spent awake, waiting.
    pub fn spun(&mut self, ns: u64) {
        self.spun_ns += ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is allowed for after many wakings that take so long, in turns.
    fn after(wakings_ns: &[u64]) -> u64 {
        let mut wakeup = WakeupLatency::default();
        for late in wakings_ns.iter().cycle().take(5_000) {
            wakeup.woke(*late);
        }
        wakeup.early_ns(0)
    }

    #[test]
    fn it_allows_for_what_most_wakings_take() {
        let close = |measured: u64, to: u64| measured.abs_diff(to) <= 2_000;
        assert!(close(after(&[12_000]), 12_000), "{}", after(&[12_000]));
        // Nineteen quick ones for each slow one: the slow one is not worth being awake for.
        let mut mostly_quick = [8_000; 20];
        mostly_quick[7] = 50_000;
        assert!(close(after(&mostly_quick), 8_000));
        let half = after(&[8_000, 30_000]);
        assert!(close(half, 30_000), "{half}");
    }

    #[test]
    fn a_machine_that_wakes_late_or_at_once_stays_within_the_limits() {
        assert_eq!(after(&[5_000_000]), LONGEST_NS);
        assert_eq!(after(&[0]), SHORTEST_NS);
    }

    #[test]
    fn a_single_deadline_is_met_and_close_ones_share_a_wake_up() {
        let mut wakeup = WakeupLatency::default();
        for _ in 0..5_000 {
            wakeup.woke(20_000);
        }
        let early = wakeup.early_ns(0);
        let at = 1_000_000_000;
        // Without slack: awake before the deadline, however near it is.
        assert_eq!(wakeup.wake_at(at, at - 1_000_000, 0), at - early);
        assert_eq!(wakeup.wake_at(at, at - 1_000, 0), at - early);
        // A slack that a waking fits into: nothing to be early for.
        assert_eq!(wakeup.wake_at(at, at - 100_000, 100_000), at);
        assert_eq!(
            wakeup.wake_at(at, at - 99_999, 100_000),
            at + 100_000 - early
        );
        // One that it does not fit into: early by the rest.
        assert_eq!(wakeup.wake_at(at, at - 100_000, 5_000), at + 5_000 - early);
        assert_eq!(wakeup.wake_at(at, at - 4_999, 5_000), at + 5_000 - early);
    }

    #[test]
    fn a_quarter_of_the_time_may_be_spent_awake() {
        let mut wakeup = WakeupLatency::default();
        wakeup.spun(1_999_999);
        assert_ne!(wakeup.early_ns(0), 0);
        wakeup.spun(1);
        assert_eq!(wakeup.early_ns(0), 0);
        wakeup.spun(250_000_000);
        assert_eq!(wakeup.early_ns(1_000_000_000), 0);
        assert_ne!(wakeup.early_ns(1_000_000_005), 0);
    }
}
