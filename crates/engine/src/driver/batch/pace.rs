//! Due times of paced connections. Workers and connections take turns, so that all requests
//! together follow a rate or a schedule.

use std::{cell::Cell, rc::Rc};

use plan::{Rate, Schedule, Share};

/// The pace of one worker's connections.
#[derive(Debug, Clone)]
pub struct BatchPace {
    /// Due times of the whole load.
    pub turns: Turns,
    /// This worker's share of the turns. It does not depend on the number of connections.
    pub share: Share,
    /// Number of this worker's connections.
    pub connections: u64,
}

/// Due times of all connections together. Each due time is a numbered turn.
#[derive(Debug, Clone)]
pub enum Turns {
    /// Evenly spaced at a rate.
    Even(Rate),
    /// Taken from a schedule.
    Drawn(Rc<Drawn>),
}

/// A schedule with a cache of its last count. The cache helps because requested times are mostly
/// ascending.
#[derive(Debug)]
pub struct Drawn {
    schedule: Schedule,
    /// A time, and the number of turns before it.
    counted: Cell<(u64, u64)>,
}

impl Drawn {
    /// Creates the turns of a schedule.
    #[must_use]
    pub fn turns(schedule: Schedule) -> Turns {
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

    fn before(&self, ns: u64) -> u128 {
        match self {
            // Find the first turn at or after this time, with the same rounding as in `at`.
            Turns::Even(Rate { count, per_ns }) => {
                (u128::from(ns) * u128::from(*count)).div_ceil(u128::from((*per_ns).max(1)))
            }
            Turns::Drawn(drawn) => drawn.before(ns).into(),
        }
    }
}

impl BatchPace {
    /// Returns the due time of the n-th request (from 0) of a connection.
    #[must_use]
    pub fn intended(&self, connection: usize, n: u64) -> u64 {
        let own = u128::from(n) * u128::from(self.connections) + connection as u128;
        let turn = own * u128::from(self.share.of) + u128::from(self.share.index);
        self.turns.at(turn)
    }

    /// Returns the number of requests of a connection that are due before a time.
    #[must_use]
    pub fn due(&self, connection: usize, before_ns: u64) -> u64 {
        let turns = self.turns.before(before_ns);
        let own = every(turns, self.share.index.into(), self.share.of);
        u64::try_from(every(own, connection as u128, self.connections)).unwrap_or(u64::MAX)
    }
}

/// Counts the turns `first`, `first + of`, `first + 2 * of` and so on that are below `count`.
fn every(count: u128, first: u128, of: u64) -> u128 {
    count.saturating_sub(first).div_ceil(of.max(1).into())
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn connections_take_turns() {
        let of = |worker| BatchPace {
            turns: Turns::Even(Rate::per_second(1000)),
            share: Share {
                index: worker,
                of: 2,
            },
            connections: 2,
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
        let due: u64 = (0..2)
            .flat_map(|w| (0..2).map(move |c| of(w).due(c, 10 * SECOND)))
            .sum();
        assert_eq!(due, 10_000);
    }

    #[test]
    fn drawn_turns_follow_the_schedule() {
        let mut phase = plan::Phase::new(10 * SECOND, plan::Shape::Rate(Rate::per_second(500)));
        phase.arrivals = plan::ArrivalProcess::Poisson;
        let first = plan::FirstArrival::AtStart;
        let load = plan::Load::Open {
            phases: vec![phase],
            first,
        };
        let schedule = Schedule::new(&load, 7);
        let turns = Drawn::turns(schedule.clone());
        let of = |index| BatchPace {
            turns: turns.clone(),
            share: Share { index, of: 3 },
            connections: 1,
        };
        for number in 0..schedule.total() {
            let at = schedule.at(number).expect("an arrival").intended_ns;
            assert_eq!(of(number % 3).intended(0, number / 3), at);
        }
        assert_eq!(of(0).intended(0, schedule.total()), u64::MAX);
        for ns in [0, SECOND, 9 * SECOND, 2 * SECOND, 20 * SECOND] {
            let due: u64 = (0..3).map(|index| of(index).due(0, ns)).sum();
            assert_eq!(due, schedule.due(ns));
        }
    }

    proptest! {
        #[test]
        fn due_count_matches_intended_times(rate in 1..50_000u64, connections in 1..40u64, of in 1..40u64, index in 0..40u64, ns in 0..5 * SECOND) {
            let share = Share { index: index % of, of };
            let pace = BatchPace { turns: Turns::Even(Rate::per_second(rate)), share, connections };
            for connection in 0..connections as usize {
                let due = pace.due(connection, ns);
                prop_assert!(due == 0 || pace.intended(connection, due - 1) < ns);
                prop_assert!(pace.intended(connection, due) >= ns);
            }
        }

        #[test]
        fn shares_add_up_to_the_whole(
            rate in 1..1_000u64,
            at_random: bool,
            connections in 1..30u64,
            processes in 1..7u64,
            workers in 1..4u64,
            until_ns in 0..2 * SECOND,
        ) {
            prop_assume!(connections / processes >= workers);
            let rate = Rate::per_second(rate);
            let mut phase = plan::Phase::new(2 * SECOND, plan::Shape::Rate(rate));
            if at_random {
                phase.arrivals = plan::ArrivalProcess::Poisson;
            }
            let load = plan::Load::Open { phases: vec![phase], first: plan::FirstArrival::AtStart };
            let schedule = Schedule::new(&load, 3);
            let turns = if at_random { Drawn::turns(schedule.clone()) } else { Turns::Even(rate) };
            let (mut sent, mut lines) = (Vec::new(), 0);
            for process in 0..processes {
                for worker in 0..workers {
                    let share = Share { index: process, of: processes }.part(worker, workers);
                    let pace = BatchPace { turns: turns.clone(), share, connections: share.of_first(connections) };
                    prop_assert!(pace.connections > 0);
                    lines += pace.connections;
                    let all = 0..pace.connections as usize;
                    let due: u64 = all.clone().map(|connection| pace.due(connection, until_ns)).sum();
                    prop_assert_eq!(due, schedule.due_of_shard(share.index, share.of, until_ns));
                    for connection in all {
                        sent.extend((0..pace.due(connection, 2 * SECOND)).map(|n| pace.intended(connection, n)));
                    }
                }
            }
            sent.sort_unstable();
            let arrivals = (0..schedule.total()).filter_map(|n| schedule.at(n));
            let whole: Vec<u64> = arrivals.map(|arrival| arrival.intended_ns).collect();
            prop_assert_eq!(lines, connections);
            prop_assert_eq!(sent, whole);
        }
    }
}
