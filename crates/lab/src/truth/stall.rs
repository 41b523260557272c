//! Computes when the server stalls, and when it releases the requests held during a stall.

use std::ops::Range;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rhythm {
    pub(super) stall: u64,
    pub(super) every: u64,
    pub(super) first: u64,
}

/// Stall `k` starts at `begin + k * every` and lasts `stall`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    begin: u64,
    every: u64,
    stall: u64,
}

impl Windows {
    fn new(rhythm: Rhythm, start: u64) -> Self {
        Self {
            begin: start.saturating_add(rhythm.first),
            every: rhythm.every,
            stall: rhythm.stall,
        }
    }

    pub(super) fn window(&self, k: u64) -> (u64, u64) {
        let begin = self.begin.saturating_add(k.saturating_mul(self.every));
        (begin, begin.saturating_add(self.stall))
    }

    fn ended(&self, now: u64) -> u64 {
        now.checked_sub(self.begin.saturating_add(self.stall))
            .map_or(0, |since| since / self.every + 1)
    }

    /// Returns when service can start for a request that is ready at `at`. The service must not
    /// overlap a stall.
    fn clear(&self, at: u64, service: u64) -> u64 {
        let (begin, end) = self.window(self.ended(at));
        if begin <= at || begin < at.saturating_add(service) {
            end
        } else {
            at
        }
    }
}

#[derive(Debug)]
pub(super) struct Stalls {
    windows: Windows,
    /// Minimum time between two releases from the backlog. With 0, all requests are released
    /// together.
    gap: u64,
    last_turn: Option<u64>,
    announced: u64,
}

impl Stalls {
    pub(super) fn new(rhythm: Rhythm, gap: u64, start: u64) -> Self {
        Self {
            windows: Windows::new(rhythm, start),
            gap,
            last_turn: None,
            announced: 0,
        }
    }

    pub(super) fn admit(&mut self, arrival: u64, service: u64) -> u64 {
        let mut turn = self.windows.clear(arrival, service);
        let next = self.last_turn.map(|last| last.saturating_add(self.gap));
        if let Some(next) = next.filter(|&next| next > arrival) {
            turn = turn.max(self.windows.clear(next, service));
        }
        if turn > arrival {
            self.last_turn = Some(turn);
        }
        turn.saturating_add(service)
    }

    pub(super) fn ended(&mut self, now: u64) -> Range<u64> {
        let from = self.announced;
        self.announced = from.max(self.windows.ended(now));
        from..self.announced
    }

    pub(super) fn begun(&mut self, now: u64) -> Range<u64> {
        self.ended(now.saturating_add(self.windows.stall))
    }

    pub(super) fn windows(&self) -> Windows {
        self.windows
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MS: u64 = 1_000_000;
    const START: u64 = 77 * MS;

    fn stalls(gap: u64) -> Stalls {
        let rhythm = Rhythm {
            stall: 100 * MS,
            every: 1000 * MS,
            first: 500 * MS,
        };
        Stalls::new(rhythm, gap, START)
    }

    fn admit(stalls: &mut Stalls, arrival: u64, service: u64) -> u64 {
        (stalls.admit(START + arrival * MS, service * MS) - START) / MS
    }

    #[test]
    fn requests_that_overlap_a_stall_are_held() {
        for (arrival, service, due) in [
            (0, 1, 1),
            (498, 2, 500),
            (499, 2, 602),
            (500, 0, 600),
            (599, 3, 603),
            (600, 0, 600),
            (1499, 1, 1500),
            (1550, 900, 2500),
            (2000, 600, 3200),
        ] {
            let due_alone = admit(&mut stalls(0), arrival, service);
            assert_eq!(due_alone, due, "{arrival} {service}");
        }
    }

    #[test]
    fn backlog_drains_at_its_rate_in_order() {
        let mut s = stalls(10 * MS);
        let due: Vec<_> = [500, 505, 595, 601, 620, 700]
            .map(|at| admit(&mut s, at, 1))
            .into();
        assert_eq!(due, [601, 611, 621, 631, 641, 701]);
        let due: Vec<_> = (0..95).map(|n| admit(&mut s, 1500 + n, 0)).collect();
        assert_eq!(
            (due[0], due[89], due[90], due[94]),
            (1600, 2490, 2600, 2640)
        );
    }

    #[test]
    fn stalls_are_returned_once() {
        let mut s = stalls(0);
        assert_eq!(s.ended(START), 0..0);
        assert_eq!(s.ended(START + 599 * MS), 0..0);
        assert_eq!(s.ended(START + 600 * MS), 0..1);
        assert_eq!(s.ended(START + 600 * MS), 1..1);
        assert_eq!(s.ended(START + 3700 * MS), 1..4);
        assert_eq!(s.begun(START + 4499 * MS), 4..4);
        assert_eq!(s.begun(START + 4500 * MS), 4..5);
        assert_eq!(
            s.windows().window(3),
            (START + 3500 * MS, START + 3600 * MS)
        );
    }

    #[test]
    fn quantiles_match_the_closed_form() {
        let rhythm = Rhythm {
            stall: 1000 * MS,
            every: 10_000 * MS,
            first: 4500 * MS,
        };
        for (gap, expected) in [(0, [500.0, 900.0, 990.0]), (MS / 2, [750.0, 950.0, 995.0])] {
            let mut s = Stalls::new(rhythm, gap, 0);
            let mut spent: Vec<_> = (0..60_000).map(|n| s.admit(n * MS, MS) - n * MS).collect();
            spent.sort_unstable();
            assert_eq!(spent[30_000], MS);
            for (q, ms) in [57_000, 59_400, 59_940].into_iter().zip(expected) {
                let measured = spent[q] as f64 / 1e6;
                assert!((measured - ms).abs() < 2.5, "{gap} {q}: {measured}");
            }
        }
    }

    proptest! {
        #[test]
        fn services_never_overlap_a_stall(
            arrivals in proptest::collection::vec(0_u64..50, 1..200),
            service in 0_u64..=90,
            gap in 0_u64..30,
        ) {
            let rhythm = Rhythm { stall: 10, every: 100, first: 7 };
            let mut s = Stalls::new(rhythm, gap, 1000);
            let (mut now, mut last) = (1000, 0);
            for step in arrivals {
                now += step;
                let due = s.admit(now, service);
                let begin = due - service;
                prop_assert!(begin >= now && due >= last, "in order of arrival");
                last = due;
                for k in 0..200 {
                    let (from, to) = s.windows().window(k);
                    prop_assert!(begin >= to || due <= from && begin < from, "{begin} {due} {from} {to}");
                }
            }
        }
    }
}
