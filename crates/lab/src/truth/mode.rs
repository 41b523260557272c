//! The modes, as a state machine that maps arrival times to results. It is independent of clocks
//! and sockets, so tests can recompute the log.

use std::ops::Range;

use super::stall::{Rhythm, Stalls, Windows};
use super::table::DurationTable;
use crate::draw::{Draws, For};
use crate::fifo::Fifo;

/// A mode with its parameters. Durations are in nanoseconds, and shares are between 0 and 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Mode {
    Constant {
        service: u64,
    },
    Table(DurationTable),
    Exponential {
        mean: u64,
        servers: usize,
    },
    Stall {
        rhythm: Rhythm,
        gap: u64,
        service: u64,
    },
    Slow {
        share: f64,
        slow: u64,
        service: u64,
    },
    Never {
        share: f64,
        service: u64,
    },
    Reset {
        share: f64,
        when: When,
        service: u64,
    },
    Error {
        share: f64,
        service: u64,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum When {
    Before,
    Half,
}

impl When {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match text {
            "before" => Ok(Self::Before),
            "half" => Ok(Self::Half),
            _ => Err("use before or half".to_owned()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Decision {
    pub(super) n: u64,
    pub(super) service: u64,
    pub(super) fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Answer { due: u64 },
    Error { due: u64 },
    Reset { due: u64, when: When },
    Never,
}

#[derive(Debug)]
pub(super) struct ModeServer {
    mode: Mode,
    draws: Draws,
    arrived: u64,
    queue: Queue,
}

#[derive(Debug)]
enum Queue {
    None,
    Fifo(Fifo),
    Stalls(Option<Stalls>),
}

impl ModeServer {
    pub(super) fn new(mode: Mode, seed: u64) -> Self {
        let queue = match mode {
            Mode::Exponential { servers, .. } => Queue::Fifo(Fifo::new(servers)),
            Mode::Stall { .. } => Queue::Stalls(None),
            _ => Queue::None,
        };
        Self {
            mode,
            draws: Draws::new(seed),
            arrived: 0,
            queue,
        }
    }

    pub(super) fn arrive(&mut self, arrival: u64) -> Decision {
        let n = self.arrived;
        self.arrived += 1;
        let service = self.service(n);
        let due = self.due(arrival, service);
        let drawn = |share| self.draws.is_of(share, n);
        let fate = match self.mode {
            Mode::Never { share, .. } if drawn(share) => Fate::Never,
            Mode::Reset { share, when, .. } if drawn(share) => Fate::Reset { due, when },
            Mode::Error { share, .. } if drawn(share) => Fate::Error { due },
            _ => Fate::Answer { due },
        };
        Decision { n, service, fate }
    }

    fn service(&self, n: u64) -> u64 {
        match &self.mode {
            Mode::Table(table) => table.pick(self.draws.uniform(n, For::Service)),
            Mode::Exponential { mean, .. } => self.draws.exponential(*mean, n),
            Mode::Slow { share, slow, .. } if self.draws.is_of(*share, n) => *slow,
            Mode::Error { share, .. } if self.draws.is_of(*share, n) => 0,
            Mode::Constant { service }
            | Mode::Stall { service, .. }
            | Mode::Slow { service, .. }
            | Mode::Never { service, .. }
            | Mode::Reset { service, .. }
            | Mode::Error { service, .. } => *service,
        }
    }

    fn due(&mut self, arrival: u64, service: u64) -> u64 {
        match (&mut self.queue, &self.mode) {
            (Queue::Fifo(fifo), _) => fifo.admit(arrival, service),
            (Queue::Stalls(stalls), Mode::Stall { rhythm, gap, .. }) => stalls
                .get_or_insert_with(|| Stalls::new(*rhythm, *gap, arrival))
                .admit(arrival, service),
            _ => arrival.saturating_add(service),
        }
    }

    pub(super) fn ended(&mut self, now: u64) -> Option<(Range<u64>, Windows)> {
        self.announce(|stalls| stalls.ended(now))
    }

    pub(super) fn begun(&mut self, now: u64) -> Option<(Range<u64>, Windows)> {
        self.announce(|stalls| stalls.begun(now))
    }

    fn announce(
        &mut self,
        which: impl FnOnce(&mut Stalls) -> Range<u64>,
    ) -> Option<(Range<u64>, Windows)> {
        let Queue::Stalls(Some(stalls)) = &mut self.queue else {
            return None;
        };
        let reported = which(stalls);
        (!reported.is_empty()).then(|| (reported, stalls.windows()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 100_000;

    fn decisions(mode: Mode, seed: u64) -> Vec<Decision> {
        let mut server = ModeServer::new(mode, seed);
        (0..N).map(|n| server.arrive(n * 1000)).collect()
    }

    fn share(of: &[Decision], is: impl Fn(&Decision) -> bool) -> f64 {
        of.iter().filter(|d| is(d)).count() as f64 / N as f64
    }

    #[test]
    fn results_depend_on_the_seed_only() {
        let mode = Mode::Exponential {
            mean: 500,
            servers: 2,
        };
        assert_eq!(decisions(mode.clone(), 1), decisions(mode.clone(), 1));
        assert_ne!(decisions(mode.clone(), 1), decisions(mode, 2));
    }

    #[test]
    fn constant_service_is_added() {
        let all = decisions(Mode::Constant { service: 5 }, 1);
        let due = Fate::Answer { due: 7005 };
        let seventh = Decision {
            n: 7,
            service: 5,
            fate: due,
        };
        assert_eq!(all[7], seventh);
    }

    #[test]
    fn table_is_drawn_by_weight() {
        let table = DurationTable::read("1ns:90,10ns:9,100ns:1").unwrap();
        let all = decisions(Mode::Table(table), 5);
        for (service, expected) in [(1, 0.9), (10, 0.09), (100, 0.01)] {
            let drawn = share(&all, |d| d.service == service);
            assert!((drawn - expected).abs() < 0.003, "{service}: {drawn}");
        }
    }

    #[test]
    fn share_has_its_result() {
        let (share_of, service) = (0.1, 9);
        let slow = Mode::Slow {
            share: share_of,
            slow: 99,
            service,
        };
        let never = Mode::Never {
            share: share_of,
            service,
        };
        let reset = Mode::Reset {
            share: share_of,
            when: When::Half,
            service,
        };
        let error = Mode::Error {
            share: share_of,
            service,
        };
        let met = |d: &Decision, mode: &Mode| match mode {
            Mode::Slow { .. } => {
                d.service == 99
                    && d.fate
                        == Fate::Answer {
                            due: d.n * 1000 + 99,
                        }
            }
            Mode::Never { .. } => d.fate == Fate::Never,
            Mode::Reset { .. } => {
                d.fate
                    == Fate::Reset {
                        due: d.n * 1000 + 9,
                        when: When::Half,
                    }
            }
            _ => d.fate == Fate::Error { due: d.n * 1000 } && d.service == 0,
        };
        for mode in [slow, never, reset, error] {
            let all = decisions(mode.clone(), 11);
            let hit = share(&all, |d| met(d, &mode));
            assert!((hit - share_of).abs() < 0.004, "{mode:?}: {hit}");
            let plain = |d: &Decision| {
                d.service == 9
                    && d.fate
                        == Fate::Answer {
                            due: d.n * 1000 + 9,
                        }
            };
            assert!((share(&all, plain) - 0.9).abs() < 0.004, "{mode:?}");
        }
    }

    #[test]
    fn first_arrival_starts_the_stalls() {
        let rhythm = Rhythm {
            stall: 10,
            every: 100,
            first: 50,
        };
        let mode = Mode::Stall {
            rhythm,
            gap: 0,
            service: 0,
        };
        let mut server = ModeServer::new(mode, 1);
        assert!(server.ended(u64::MAX).is_none());
        assert_eq!(server.arrive(1000).fate, Fate::Answer { due: 1000 });
        assert_eq!(server.arrive(1055).fate, Fate::Answer { due: 1060 });
        let (range, windows) = server.ended(1200).unwrap();
        assert_eq!((range, windows.window(1)), (0..2, (1150, 1160)));
        assert!(server.ended(1200).is_none());
    }
}
