//! A first-come, first-served queue with c servers in virtual time. Completion times are computed
//! at arrival, so late wake-ups and slow writes never delay later requests.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

#[derive(Debug)]
pub struct Fifo {
    free: BinaryHeap<Reverse<u64>>,
}

impl Fifo {
    #[must_use]
    pub fn new(servers: usize) -> Self {
        Self {
            free: vec![Reverse(0); servers].into(),
        }
    }

    /// Adds a request and returns its completion time: `max(arrival, earliest free server) +
    /// service`.
    pub fn admit(&mut self, arrival: u64, service: u64) -> u64 {
        match self.free.peek_mut() {
            Some(mut earliest) => {
                earliest.0 = arrival.max(earliest.0).saturating_add(service);
                earliest.0
            }
            None => arrival.saturating_add(service),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Draws;

    #[test]
    fn single_server_serves_in_sequence() {
        let mut fifo = Fifo::new(1);
        assert_eq!(fifo.admit(100, 10), 110);
        assert_eq!(fifo.admit(105, 10), 120);
        assert_eq!(fifo.admit(105, 0), 120);
        assert_eq!(
            fifo.admit(200, 10),
            210,
            "an idle server does not save up time"
        );
    }

    #[test]
    fn earliest_free_server_serves() {
        let mut fifo = Fifo::new(2);
        assert_eq!(fifo.admit(0, 100), 100);
        assert_eq!(fifo.admit(1, 10), 11);
        assert_eq!(fifo.admit(2, 10), 21, "overtakes the first");
        assert_eq!(fifo.admit(3, 100), 121);
        assert_eq!(fifo.admit(4, 1), 101);
    }

    /// Compares one exponential server at half its capacity with closed-form results, for Poisson
    /// arrivals (M/M/1) and evenly spaced arrivals (D/M/1).
    #[test]
    fn waits_match_queueing_theory() {
        const N: u64 = 400_000;
        let (arrivals, services) = (Draws::new(3), Draws::new(4));
        for (poisson, mean, p99) in [(true, 2.0e6, 9.21e6), (false, 1.255e6, 5.78e6)] {
            let mut fifo = Fifo::new(1);
            let mut now = 0;
            let mut spent: Vec<u64> = (0..N)
                .map(|n| {
                    now += if poisson {
                        arrivals.exponential(2_000_000, n)
                    } else {
                        2_000_000
                    };
                    fifo.admit(now, services.exponential(1_000_000, n)) - now
                })
                .collect();
            spent.sort_unstable();
            let measured = spent.iter().sum::<u64>() as f64 / N as f64;
            assert!((measured / mean - 1.0).abs() < 0.03, "{poisson} {measured}");
            let measured = spent[(N as usize * 99) / 100] as f64;
            assert!((measured / p99 - 1.0).abs() < 0.05, "{poisson} {measured}");
        }
    }
}
