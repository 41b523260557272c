//! The cores of an instance in virtual time, assigned first come, first served. Pauses stop the
//! whole instance, as garbage collection does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use lab::draw::{Draws, For};
use lab::fifo::Fifo;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    pub(crate) length_ns: u64,
    pub(crate) every_ns: u64,
}

/// Future busy periods that are known in advance. They show how much of the booked time has passed.
#[derive(Debug, Default)]
pub(crate) struct Booked {
    spans: BinaryHeap<Reverse<(u64, u64)>>,
    ended_ns: u64,
}

impl Booked {
    pub(crate) fn add(&mut self, from_ns: u64, to_ns: u64) {
        self.spans.push(Reverse((to_ns, from_ns)));
    }

    pub(crate) fn passed_ns(&mut self, now_ns: u64) -> u64 {
        self.settle(now_ns);
        let in_flight = self.spans.iter();
        let in_flight = in_flight.map(|Reverse((_, from))| now_ns.saturating_sub(*from));
        self.ended_ns + in_flight.sum::<u64>()
    }

    pub(crate) fn left(&mut self, now_ns: u64) -> usize {
        self.settle(now_ns);
        self.spans.len()
    }

    pub(crate) fn settle(&mut self, now_ns: u64) {
        while let Some(Reverse((to, from))) = self.spans.peek().copied()
            && to <= now_ns
        {
            self.spans.pop();
            self.ended_ns += to - from;
        }
    }
}

#[derive(Debug)]
pub(crate) struct Cores {
    begun_ns: u64,
    free: Fifo,
    pub(crate) count: u32,
    booked: Booked,
    pauses: Option<Pauses>,
    draws: Draws,
}

impl Cores {
    pub(crate) fn new(count: u32, pauses: Option<Pauses>, draws: Draws, now_ns: u64) -> Self {
        Self {
            begun_ns: now_ns,
            free: Fifo::new(count as usize),
            count,
            booked: Booked::default(),
            pauses,
            draws,
        }
    }

    pub(crate) fn compute(&mut self, now_ns: u64, ns: u64) -> u64 {
        if ns == 0 {
            return self.behind_pause(now_ns);
        }
        let done = self.free.admit(now_ns, ns);
        self.booked.settle(now_ns);
        self.booked.add(done - ns, done);
        self.behind_pause(done)
    }

    pub(crate) fn behind_pause(&self, moment_ns: u64) -> u64 {
        match self.pause_around(moment_ns) {
            Some((from, to)) if (from..to).contains(&moment_ns) => to,
            _ => moment_ns,
        }
    }

    pub(crate) fn busy_ns(&mut self, now_ns: u64) -> u64 {
        self.booked.passed_ns(now_ns) + self.paused_ns(now_ns)
    }

    pub(crate) fn in_flight(&mut self, now_ns: u64) -> usize {
        self.booked.left(now_ns)
    }

    fn pause_around(&self, moment_ns: u64) -> Option<(u64, u64)> {
        let Pauses {
            length_ns,
            every_ns,
        } = self.pauses?;
        let stretch = moment_ns.checked_sub(self.begun_ns)? / every_ns;
        let room = (every_ns - length_ns) as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "part of a duration, which fits"
        )]
        let offset = (self.draws.uniform(stretch, For::Share) * room) as u64;
        let from = self.begun_ns + stretch * every_ns + offset;
        Some((from, from + length_ns))
    }

    fn paused_ns(&self, now_ns: u64) -> u64 {
        let (Some(pauses), Some((from, to))) = (self.pauses, self.pause_around(now_ns)) else {
            return 0;
        };
        let whole = (now_ns - self.begun_ns) / pauses.every_ns * pauses.length_ns;
        whole + now_ns.clamp(from, to) - from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    #[test]
    fn computing_waits_for_a_core_and_is_booked_as_it_happens() {
        let mut cores = Cores::new(2, None, Draws::new(1), 0);
        assert_eq!(cores.compute(0, 10 * MS), 10 * MS);
        assert_eq!(cores.compute(0, 10 * MS), 10 * MS);
        assert_eq!(cores.compute(5 * MS, 10 * MS), 20 * MS, "both are busy");
        assert_eq!(cores.busy_ns(5 * MS), 10 * MS);
        assert_eq!(cores.busy_ns(15 * MS), 25 * MS);
        assert_eq!(cores.busy_ns(90 * MS), 30 * MS);
    }

    #[test]
    fn there_is_one_pause_in_each_stretch_and_nothing_ends_in_it() {
        let pauses = Pauses {
            length_ns: 100 * MS,
            every_ns: 1000 * MS,
        };
        let mut cores = Cores::new(4, Some(pauses), Draws::new(3), 7 * MS);
        let mut paused = 0;
        for ms in 7..10_007 {
            let moment = ms * MS;
            let after = cores.behind_pause(moment);
            assert!(after >= moment && after - moment <= 100 * MS);
            assert_eq!(cores.behind_pause(after), after);
            paused += u64::from(after > moment);
        }
        assert!((990..=1010).contains(&paused), "{paused}");
        assert_eq!(cores.busy_ns(10_007 * MS), 1_000 * MS);
    }
}
