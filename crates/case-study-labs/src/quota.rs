//! CPU quota of a control group in virtual time. One core runs until the quota of the period is
//! used up. Requests are served first come, first served.

use crate::cores::Booked;

pub(crate) const PERIOD_NS: u64 = 100_000_000;

#[derive(Debug)]
pub(crate) struct Quota {
    part_ns: u64,
    free_ns: u64,
    /// The period of `free_ns`. `used_ns` is the part of the period's quota that has been used.
    period: u64,
    used_ns: u64,
    busy: Booked,
    held_back: Booked,
}

impl Quota {
    pub(crate) fn new(part_ns: u64) -> Self {
        Self {
            part_ns: part_ns.clamp(1, PERIOD_NS),
            free_ns: 0,
            period: 0,
            used_ns: 0,
            busy: Booked::default(),
            held_back: Booked::default(),
        }
    }

    pub(crate) fn compute(&mut self, now_ns: u64, ns: u64) -> u64 {
        // Release memory even if the figures are never read.
        self.busy.settle(now_ns);
        self.held_back.settle(now_ns);
        let mut at = now_ns.max(self.free_ns);
        let mut left = ns;
        while left > 0 {
            let period = at / PERIOD_NS;
            if period != self.period {
                (self.period, self.used_ns) = (period, 0);
            }
            let ends = (period + 1) * PERIOD_NS;
            let run = left.min(self.part_ns - self.used_ns).min(ends - at);
            if run == 0 {
                self.held_back.add(at, ends);
                at = ends;
                continue;
            }
            self.busy.add(at, at + run);
            (at, left, self.used_ns) = (at + run, left - run, self.used_ns + run);
        }
        self.free_ns = at;
        at
    }

    pub(crate) fn busy_ns(&mut self, now_ns: u64) -> u64 {
        self.busy.passed_ns(now_ns)
    }

    pub(crate) fn held_back_ns(&mut self, now_ns: u64) -> u64 {
        self.held_back.passed_ns(now_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn what_does_not_fit_into_a_period_goes_on_in_the_next() {
        let mut quota = Quota::new(25 * MS);
        assert_eq!(quota.compute(0, 20 * MS), 20 * MS, "at full speed");
        assert_eq!(quota.compute(30 * MS, 10 * MS), 105 * MS);
        assert_eq!(quota.busy_ns(30 * MS), 20 * MS);
        assert_eq!(quota.busy_ns(35 * MS), 25 * MS);
        assert_eq!(quota.held_back_ns(35 * MS), 0);
        assert_eq!(quota.held_back_ns(100 * MS), 65 * MS);
        assert_eq!(quota.compute(100 * MS, 50 * MS), 305 * MS, "20, 25, 5");
        assert_eq!(quota.busy_ns(1_000 * MS), 80 * MS);
    }

    #[test]
    fn nothing_of_a_period_is_saved_up() {
        let mut quota = Quota::new(25 * MS);
        assert_eq!(quota.compute(1_000 * MS, 30 * MS), 1_105 * MS);
        let mut quota = Quota::new(25 * MS);
        assert_eq!(quota.compute(90 * MS, 20 * MS), 110 * MS);
        assert_eq!(quota.compute(110 * MS, 20 * MS), 205 * MS);
    }

    #[test]
    fn in_the_long_run_it_is_its_part_of_a_core() {
        let mut quota = Quota::new(25 * MS);
        let mut done = 0;
        for n in 0..10_000_u64 {
            done = quota.compute(n * MS, MS);
        }
        // This is 10 s of computation with a quarter of a core.
        assert!(done.abs_diff(39_925 * MS) <= 100 * MS, "{done}");
        assert_eq!(quota.busy_ns(done), 10_000 * MS);
        assert_eq!(quota.busy.left(done) + quota.held_back.left(done), 0);
    }
}
