//! When the requests of paced connections are due: the connections of all workers take turns, so that their requests together
//! are evenly spread, or as a schedule draws them. Arithmetic only.

use std::{cell::Cell, rc::Rc};

use plan::{Rate, Schedule};

/// A rate over connections.
#[derive(Debug, Clone)]
pub struct Pace {
    /// When each turn is.
    pub turns: Turns,
    /// All connections.
    pub connections: u64,
    /// The number of this worker's first connection among all; the next one is `stride` further.
    pub first: u64,
    /// See `first`.
    pub stride: u64,
}

/// When the requests of all connections together are due, one turn after the other.
#[derive(Debug, Clone)]
pub enum Turns {
    /// At a rate, evenly.
    Even(Rate),
    /// As a schedule has them.
    Drawn(Rc<Drawn>),
}

/// A schedule, and how far it was counted: moments are asked for in about their order.
#[derive(Debug)]
pub struct Drawn {
    schedule: Schedule,
    /// So many turns come before this moment.
    counted: Cell<(u64, u64)>,
}

impl Drawn {
    /// The turns of a schedule.
    #[must_use]
    pub fn of(schedule: Schedule) -> Turns {
        let counted = Cell::new((0, 0));
        Turns::Drawn(Rc::new(Drawn { schedule, counted }))
    }

    fn at(&self, turn: u64) -> u64 {
        self.schedule
            .at(turn)
            .map_or(u64::MAX, |arrival| arrival.intended_ns)
    }

    fn before(&self, ns: u64) -> u64 {
        let (known_ns, known) = self.counted.get();
        if ns < known_ns {
            return self.schedule.due(ns);
        }
        let mut turns = known;
        while self.at(turns) < ns {
            turns += 1;
        }
        self.counted.set((ns, turns));
        turns
    }
}

impl Turns {
    fn at(&self, turn: u128) -> u64 {
        match self {
            Turns::Even(Rate { count, per_ns }) => {
                let ns = turn * u128::from(*per_ns) / u128::from((*count).max(1));
                u64::try_from(ns).unwrap_or(u64::MAX)
            }
            Turns::Drawn(drawn) => u64::try_from(turn).map_or(u64::MAX, |turn| drawn.at(turn)),
        }
    }

    /// How many turns come before a moment.
    fn before(&self, ns: u64) -> u128 {
        match self {
            // The first turn at or behind the moment, rounded as `at` rounds.
            Turns::Even(Rate { count, per_ns }) => {
                (u128::from(ns) * u128::from(*count)).div_ceil(u128::from((*per_ns).max(1)))
            }
            Turns::Drawn(drawn) => drawn.before(ns).into(),
        }
    }
}

impl Pace {
    /// The moment at which a connection's nth request is due, from 0.
    #[must_use]
    pub fn intended(&self, connection: usize, n: u64) -> u64 {
        let before = u128::from(n) * u128::from(self.connections);
        self.turns.at(before + u128::from(self.turn(connection)))
    }

    /// How many requests of a connection are due before a moment.
    #[must_use]
    pub fn due(&self, connection: usize, before_ns: u64) -> u64 {
        let turns = self.turns.before(before_ns);
        let behind = turns.saturating_sub(u128::from(self.turn(connection)));
        u64::try_from(behind.div_ceil(u128::from(self.connections.max(1)))).unwrap_or(u64::MAX)
    }

    fn turn(&self, connection: usize) -> u64 {
        self.first + connection as u64 * self.stride
    }
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn connections_take_turns() {
        let of = |worker| Pace {
            turns: Turns::Even(Rate::per_second(1000)),
            connections: 4,
            first: worker,
            stride: 2,
        };
        let at = |worker: u64, connection, n| of(worker).intended(connection, n) / 1_000_000;
        assert_eq!(
            [
                at(0, 0, 0),
                at(1, 0, 0),
                at(0, 1, 0),
                at(1, 1, 0),
                at(0, 0, 1)
            ],
            [0, 1, 2, 3, 4]
        );
        // Together as many as the rate says.
        let due: u64 = (0..2)
            .flat_map(|w| (0..2).map(move |c| of(w).due(c, 10 * SECOND)))
            .sum();
        assert_eq!(due, 10_000);
    }

    #[test]
    fn drawn_turns_are_those_of_the_schedule() {
        let mut phase = plan::Phase::new(10 * SECOND, plan::Shape::Rate(Rate::per_second(500)));
        phase.arrivals = plan::Arrivals::Poisson;
        let first = plan::FirstArrival::AtStart;
        let load = plan::Load::Open {
            phases: vec![phase],
            first,
        };
        let schedule = Schedule::new(&load, 7);
        let turns = Drawn::of(schedule.clone());
        let of = |first| Pace {
            turns: turns.clone(),
            connections: 3,
            first,
            stride: 3,
        };
        for number in 0..schedule.total() {
            let at = schedule.at(number).expect("an arrival").intended_ns;
            assert_eq!(of(number % 3).intended(0, number / 3), at);
        }
        assert_eq!(of(0).intended(0, schedule.total()), u64::MAX);
        // Forth and back.
        for ns in [0, SECOND, 9 * SECOND, 2 * SECOND, 20 * SECOND] {
            let due: u64 = (0..3).map(|first| of(first).due(0, ns)).sum();
            assert_eq!(due, schedule.due(ns));
        }
    }

    proptest! {
        #[test]
        fn due_counts_what_was_intended(rate in 1..50_000u64, connections in 1..40u64, first in 0..40u64, ns in 0..5 * SECOND) {
            let pace = Pace { turns: Turns::Even(Rate::per_second(rate)), connections, first: first % connections, stride: 1 };
            let due = pace.due(0, ns);
            prop_assert!(due == 0 || pace.intended(0, due - 1) < ns);
            prop_assert!(pace.intended(0, due) >= ns);
        }
    }
}
