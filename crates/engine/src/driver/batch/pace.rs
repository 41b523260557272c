//! When the requests of paced connections are due: the connections of all workers take turns, so that their requests together
//! are evenly spread. Arithmetic only.

use plan::Rate;

/// A rate over connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// Requests of all connections together.
    pub rate: Rate,
    /// All connections.
    pub connections: u64,
    /// The number of this worker's first connection among all; the next one is `stride` further.
    pub first: u64,
    /// See `first`.
    pub stride: u64,
}

impl Pace {
    /// The moment at which a connection's nth request is due, from 0.
    #[must_use]
    pub fn intended(&self, connection: usize, n: u64) -> u64 {
        let turn = u128::from(n) * u128::from(self.connections) + u128::from(self.turn(connection));
        let Rate { count, per_ns } = self.rate;
        u64::try_from(turn * u128::from(per_ns) / u128::from(count.max(1))).unwrap_or(u64::MAX)
    }

    /// How many requests of a connection are due before a moment.
    #[must_use]
    pub fn due(&self, connection: usize, before_ns: u64) -> u64 {
        // The first turn at or behind the moment, rounded as `intended` rounds.
        let Rate { count, per_ns } = self.rate;
        let turns = (u128::from(before_ns) * u128::from(count)).div_ceil(u128::from(per_ns.max(1)));
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
            rate: Rate::per_second(1000),
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

    proptest! {
        #[test]
        fn due_counts_what_was_intended(rate in 1..50_000u64, connections in 1..40u64, first in 0..40u64, ns in 0..5 * SECOND) {
            let pace = Pace { rate: Rate::per_second(rate), connections, first: first % connections, stride: 1 };
            let due = pace.due(0, ns);
            prop_assert!(due == 0 || pace.intended(0, due - 1) < ns);
            prop_assert!(pace.intended(0, due) >= ns);
        }
    }
}
