//! A queue in front of c servers, first come, first served, in virtual time: when a request is done is computed at its arrival.
//! So neither a late wake-up nor a slow write ever delays the requests behind it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// When each server is free.
#[derive(Debug)]
pub struct Fifo {
    free: BinaryHeap<Reverse<u64>>,
}

impl Fifo {
    /// A queue before this many idle servers.
    #[must_use]
    pub fn new(servers: usize) -> Self {
        Self {
            free: vec![Reverse(0); servers].into(),
        }
    }

    /// Takes the next request in, and says when it is done: `max(arrival, earliest free server) + service`.
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
    fn one_server_serves_one_after_another() {
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
    fn of_several_servers_the_earliest_free_one_serves() {
        let mut fifo = Fifo::new(2);
        assert_eq!(fifo.admit(0, 100), 100);
        assert_eq!(fifo.admit(1, 10), 11);
        assert_eq!(fifo.admit(2, 10), 21, "overtakes the first");
        assert_eq!(fifo.admit(3, 100), 121);
        assert_eq!(fifo.admit(4, 1), 101);
    }

    /// The closed forms for one exponential server: Poisson arrivals (M/M/1) and even ones (D/M/1) at half its capacity.
    #[test]
    fn waits_as_queueing_theory_says() {
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
