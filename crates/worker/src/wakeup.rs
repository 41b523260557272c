//! Decides how early to wake before a deadline, and limits spinning. [`crate::pacer`] and the bare
//! timer loop use it.
//!
//! The sleeper wakes early by the 90th percentile of recent wake-up delays, and spins for the
//! remaining time. With a larger pacing slack, it rarely spins.

/// Maximum and initial lead: how early the sleeper wakes before a deadline.
const LONGEST_NS: u64 = 60_000;
/// Minimum lead, which covers reading the clock and starting the work.
const SHORTEST_NS: u64 = 3_000;
const IN_TIME: f64 = 0.9;
const STEP_NS: f64 = 1_000.0;
/// Maximum share of a worker's time that may be spent spinning.
const SPIN_SHARE: f64 = 0.25;
/// Spin time that is always allowed, before the share applies.
const SPIN_CREDIT_NS: u64 = 2_000_000;

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
    /// Returns how early to wake before a deadline. Returns 0 if spinning has used up its share of
    /// `elapsed_ns`.
    #[must_use]
    pub fn early_ns(&self, elapsed_ns: u64) -> u64 {
        let allowed = elapsed_ns as f64 * SPIN_SHARE + SPIN_CREDIT_NS as f64;
        if (self.spun_ns as f64) < allowed {
            self.waking_ns as u64
        } else {
            0
        }
    }

    /// Returns when to wake for a deadline. All times are nanoseconds since the start of the run.
    ///
    /// A deadline farther away than the slack gets a separate wake-up. Nearer deadlines share one:
    /// the worker wakes after one slack and handles all deadlines that are due.
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

    pub fn woke(&mut self, late_ns: u64) {
        let late = late_ns as f64 > self.waking_ns;
        let step = if late { IN_TIME } else { IN_TIME - 1.0 };
        self.waking_ns =
            (self.waking_ns + step * STEP_NS).clamp(SHORTEST_NS as f64, LONGEST_NS as f64);
    }

    pub fn spun(&mut self, ns: u64) {
        self.spun_ns += ns;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(wakings_ns: &[u64]) -> u64 {
        let mut wakeup = WakeupLatency::default();
        for late in wakings_ns.iter().cycle().take(5_000) {
            wakeup.woke(*late);
        }
        wakeup.early_ns(0)
    }

    #[test]
    fn lead_covers_most_wakeups() {
        let close = |measured: u64, to: u64| measured.abs_diff(to) <= 2_000;
        assert!(close(after(&[12_000]), 12_000), "{}", after(&[12_000]));
        let mut mostly_quick = [8_000; 20];
        mostly_quick[7] = 50_000;
        assert!(close(after(&mostly_quick), 8_000));
        let half = after(&[8_000, 30_000]);
        assert!(close(half, 30_000), "{half}");
    }

    #[test]
    fn lead_stays_within_limits() {
        assert_eq!(after(&[5_000_000]), LONGEST_NS);
        assert_eq!(after(&[0]), SHORTEST_NS);
    }

    #[test]
    fn close_deadlines_share_a_wakeup() {
        let mut wakeup = WakeupLatency::default();
        for _ in 0..5_000 {
            wakeup.woke(20_000);
        }
        let early = wakeup.early_ns(0);
        let at = 1_000_000_000;
        assert_eq!(wakeup.wake_at(at, at - 1_000_000, 0), at - early);
        assert_eq!(wakeup.wake_at(at, at - 1_000, 0), at - early);
        assert_eq!(wakeup.wake_at(at, at - 100_000, 100_000), at);
        assert_eq!(
            wakeup.wake_at(at, at - 99_999, 100_000),
            at + 100_000 - early
        );
        assert_eq!(wakeup.wake_at(at, at - 100_000, 5_000), at + 5_000 - early);
        assert_eq!(wakeup.wake_at(at, at - 4_999, 5_000), at + 5_000 - early);
    }

    #[test]
    fn spinning_is_limited_to_a_quarter() {
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
