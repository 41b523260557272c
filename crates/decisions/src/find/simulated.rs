//! Simulated services with known load lines, for tests and `loadline selftest`. The production code
//! plans, ends and judges the probes.

use measure::confidence::Standing;
use plan::rng::{Purpose, Rng};

use super::search::{
    ProbeReason, ProbeResult, SearchConfig, SearchEnd, SearchStep, ViolationTally, next, probe_seed,
};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ServiceTime {
    Fixed,
    Exponential,
    Lognormal(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Discipline {
    Queue,
    Refuse,
    TokenBucket {
        rate: f64,
        burst: f64,
    },
    /// Like `Queue`, but service times grow by this share per 1,000 requests, so there is no load
    /// line.
    Slowing(f64),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulatedService {
    pub servers: usize,
    pub mean_s: f64,
    /// Whether arrivals are a Poisson process. Otherwise they are evenly spaced.
    pub has_random_arrivals: bool,
    pub time: ServiceTime,
    pub discipline: Discipline,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    pub allowed: f64,
    /// Bound on the response time, in seconds. `None` means that the share of refused requests is
    /// bounded instead.
    pub bound_s: Option<f64>,
}

#[derive(Debug, Clone, Copy)]
pub struct KnownLoadLine {
    pub name: &'static str,
    pub service: SimulatedService,
    pub objective: Objective,
    pub load_line: f64,
}

const ONE: SimulatedService = SimulatedService {
    servers: 1,
    mean_s: 0.001,
    has_random_arrivals: true,
    time: ServiceTime::Exponential,
    discipline: Discipline::Queue,
};
const FOUR: SimulatedService = SimulatedService {
    servers: 4,
    mean_s: 0.010,
    ..ONE
};
pub const POOL: SimulatedService = SimulatedService {
    servers: 8,
    mean_s: 0.050,
    has_random_arrivals: false,
    time: ServiceTime::Fixed,
    discipline: Discipline::Queue,
};
pub const BUSY_POOL: SimulatedService = SimulatedService {
    has_random_arrivals: true,
    ..POOL
};

const fn slower_than(allowed: f64, bound_s: f64) -> Objective {
    Objective {
        allowed,
        bound_s: Some(bound_s),
    }
}

const REFUSED: Objective = Objective {
    allowed: 0.01,
    bound_s: None,
};

pub const SLOWING: KnownLoadLine = KnownLoadLine {
    name: "8 × 50 ms, 2 % slower after every 1,000 requests",
    service: SimulatedService {
        discipline: Discipline::Slowing(0.02),
        ..BUSY_POOL
    },
    objective: slower_than(0.01, 0.200),
    load_line: f64::NAN,
};
pub const FULL_POOL: KnownLoadLine = KnownLoadLine {
    name: "8 × 50 ms fixed, even arrivals, p99 < 200 ms",
    service: POOL,
    objective: slower_than(0.01, 0.200),
    load_line: 160.0,
};

/// Services with known load lines, either from closed forms (M/M/1, M/M/c, Erlang's loss formula)
/// or from simulation (`the_load_lines_without_a_closed_form_are_right`).
pub const KNOWN: [KnownLoadLine; 8] = [
    KnownLoadLine {
        name: "1 × 1 ms exponential, p99 < 20 ms",
        service: ONE,
        objective: slower_than(0.01, 0.020),
        load_line: 769.7,
    },
    KnownLoadLine {
        name: "4 × 10 ms exponential, p99 < 60 ms",
        service: FOUR,
        objective: slower_than(0.01, 0.060),
        load_line: 299.8,
    },
    KnownLoadLine {
        name: "4 × 10 ms exponential, p99 < 100 ms",
        service: FOUR,
        objective: slower_than(0.01, 0.100),
        load_line: 350.1,
    },
    KnownLoadLine {
        name: "8 × 100 ms exponential, p95 < 400 ms",
        service: SimulatedService {
            servers: 8,
            mean_s: 0.100,
            ..ONE
        },
        objective: slower_than(0.05, 0.400),
        load_line: 68.4,
    },
    KnownLoadLine {
        name: "8 × 50 ms fixed, p99 < 200 ms",
        service: BUSY_POOL,
        objective: slower_than(0.01, 0.200),
        load_line: 145.7,
    },
    KnownLoadLine {
        name: "8 × 50 ms lognormal, p99 < 250 ms",
        service: SimulatedService {
            time: ServiceTime::Lognormal(0.7),
            ..BUSY_POOL
        },
        objective: slower_than(0.01, 0.250),
        load_line: 137.2,
    },
    KnownLoadLine {
        name: "limiter of 40/s that answers 429, errors < 5 %",
        service: SimulatedService {
            servers: 1,
            mean_s: 0.001,
            time: ServiceTime::Fixed,
            discipline: Discipline::TokenBucket {
                rate: 40.0,
                burst: 4.0,
            },
            ..ONE
        },
        objective: Objective {
            allowed: 0.05,
            bound_s: None,
        },
        load_line: 30.7,
    },
    KnownLoadLine {
        name: "30 connections of 300 ms, errors < 1 %",
        service: SimulatedService {
            servers: 30,
            mean_s: 0.300,
            time: ServiceTime::Fixed,
            discipline: Discipline::Refuse,
            ..ONE
        },
        objective: REFUSED,
        load_line: 67.8,
    },
];

#[derive(Debug, Clone, PartialEq)]
pub struct ProbeCounts {
    pub counted: Vec<(f64, f64)>,
    pub arrived: Vec<f64>,
    pub completed: Vec<f64>,
}

impl ProbeCounts {
    #[must_use]
    pub fn grows(&self, rate: f64, until: usize) -> Option<bool> {
        let growth = statistics::outpaced(rate, &self.arrived[..until], &self.completed[..until]);
        (until >= statistics::ENOUGH_OF_PLANNED).then_some(growth.is_some())
    }
}

#[must_use]
pub fn config(budget_s: f64, probe_s: f64, seed: u64) -> SearchConfig {
    SearchConfig {
        from: 10.0,
        least: 1.0,
        most: None,
        precision: 0.025,
        budget_s,
        probe_s,
        settle_s: 2.0,
        whole: false,
        seed,
    }
}

struct Servers {
    free_at: Vec<f64>,
    tokens: f64,
    refilled_at: f64,
}

impl Servers {
    fn new(service: &SimulatedService) -> Servers {
        let tokens = match service.discipline {
            Discipline::TokenBucket { burst, .. } => burst,
            _ => 0.0,
        };
        Servers {
            free_at: vec![0.0; service.servers],
            tokens,
            refilled_at: 0.0,
        }
    }

    fn serve(&mut self, discipline: Discipline, at: f64, takes: f64) -> Option<f64> {
        if let Discipline::TokenBucket { rate, burst } = discipline {
            let refilled = self.tokens + (at - self.refilled_at) * rate;
            (self.tokens, self.refilled_at) = (refilled.min(burst), at);
            if self.tokens < 1.0 {
                return None;
            }
            self.tokens -= 1.0;
            return Some(at + takes);
        }
        let first = earliest(&mut self.free_at)?;
        if discipline == Discipline::Refuse && *first > at {
            return None;
        }
        *first = first.max(at) + takes;
        Some(*first)
    }
}

fn earliest(times: &mut [f64]) -> Option<&mut f64> {
    times.iter_mut().min_by(|a, b| a.total_cmp(b))
}

#[derive(Debug, Clone, Copy)]
pub struct ProbeLength {
    pub settle_s: f64,
    pub seconds: usize,
}

impl SimulatedService {
    /// Simulates a probe. It is preceded by `settle_s` seconds of load and, before that, by
    /// `served` requests.
    #[must_use]
    pub fn load(
        self,
        rate: f64,
        objective: Objective,
        length: ProbeLength,
        seed: u64,
        served: f64,
    ) -> ProbeCounts {
        let ProbeLength { settle_s, seconds } = length;
        let mut random = Rng::keyed(seed, Purpose::Resampling, 12, 0);
        let mut servers = Servers::new(&self);
        let mut seen = ProbeCounts {
            counted: vec![(0.0, 0.0); seconds],
            arrived: vec![0.0; seconds],
            completed: vec![0.0; seconds],
        };
        let (mut at, mut number) = (0.0f64, served);
        let until = settle_s + seconds as f64;
        loop {
            at += if self.has_random_arrivals {
                random.exponential() / rate
            } else {
                1.0 / rate
            };
            if at >= until {
                return seen;
            }
            number += 1.0;
            let takes = self.takes(&mut random, number);
            let answered = servers.serve(self.discipline, at, takes);
            let done = answered.unwrap_or(at);
            if (settle_s..until).contains(&done) {
                seen.completed[(done - settle_s) as usize] += 1.0;
            }
            // A request belongs to the second of its intended start. The probe waits for all
            // responses.
            if at >= settle_s {
                let second = (at - settle_s) as usize;
                seen.arrived[second] += 1.0;
                let is_beyond = match objective.bound_s {
                    Some(bound_s) => answered.is_none_or(|done| done - at > bound_s),
                    None => answered.is_none(),
                };
                let counted = &mut seen.counted[second];
                counted.0 += 1.0;
                counted.1 += f64::from(u8::from(is_beyond));
            }
        }
    }

    fn takes(&self, random: &mut Rng, number: f64) -> f64 {
        let mean_s = match self.discipline {
            Discipline::Slowing(share) => self.mean_s * (1.0 + share * number / 1_000.0),
            _ => self.mean_s,
        };
        match self.time {
            ServiceTime::Fixed => mean_s,
            ServiceTime::Exponential => random.exponential() * mean_s,
            ServiceTime::Lognormal(deviation) => {
                let radius = (2.0 * random.exponential()).sqrt();
                let normal = radius * (std::f64::consts::TAU * random.unit()).cos();
                mean_s * (deviation * normal - deviation * deviation / 2.0).exp()
            }
        }
    }

    /// Returns the throughput of a closed loop without think time. Users start within the first
    /// second.
    #[must_use]
    pub fn throughput(self, users: usize, seconds: f64, seed: u64) -> f64 {
        const SETTLED_S: f64 = 2.0;
        let mut random = Rng::keyed(seed, Purpose::Resampling, 15, users as u64);
        let mut asks: Vec<f64> = (0..users).map(|_| random.unit()).collect();
        let mut free = vec![0.0f64; self.servers];
        let mut answered = 0.0;
        loop {
            let (Some(user), Some(server)) = (earliest(&mut asks), earliest(&mut free)) else {
                return 0.0;
            };
            let done = server.max(*user) + self.mean_s;
            if done >= SETTLED_S + seconds {
                return answered / seconds;
            }
            answered += f64::from(u8::from(done >= SETTLED_S));
            (*user, *server) = (done, done);
        }
    }
}

#[must_use]
pub fn search(
    service: SimulatedService,
    objective: Objective,
    config: &SearchConfig,
) -> (SearchEnd, Vec<ProbeResult>) {
    let mut probes: Vec<ProbeResult> = Vec::new();
    let mut served = 0.0;
    loop {
        match next(config, &probes) {
            SearchStep::End(end) => return (end, probes),
            SearchStep::Probe(probe) => {
                let seed = probe_seed(config.seed, probes.len());
                let seconds = probe.seconds.ceil() as usize;
                let length = ProbeLength {
                    settle_s: config.settle_s,
                    seconds,
                };
                let seen = service.load(probe.level, objective, length, seed, served);
                let tally = |until: usize| ViolationTally {
                    allowed: objective.allowed,
                    seconds: seen.counted[..until].to_vec(),
                };
                let is_over = |until: &usize| match probe.reason {
                    ProbeReason::Near => tally(*until).fails_plainly(),
                    ProbeReason::Again => false,
                    _ => tally(*until).standing() != Standing::Open,
                };
                let until = (3..seconds).find(is_over).unwrap_or(seconds);
                served += probe.level * (until as f64 + config.settle_s);
                let answered = seen.completed[..until].iter().sum::<f64>() / until as f64;
                probes.push(ProbeResult {
                    level: probe.level,
                    reason: probe.reason,
                    spent_s: until as f64 + config.settle_s,
                    tallies: vec![tally(until)],
                    grows: seen.grows(probe.level, until),
                    answered: Some(answered),
                    invalid: None,
                });
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct SearchStatistics {
    pub covered: usize,
    pub drifted: usize,
    /// Logarithmic distances from the load line, ascending. Infinite if there is no result, or if
    /// the search exceeded its budget.
    pub errors: Vec<f64>,
}

impl SearchStatistics {
    #[must_use]
    pub fn of_searches(
        known: &KnownLoadLine,
        searches: u64,
        config: impl Fn(u64) -> SearchConfig,
    ) -> SearchStatistics {
        let mut statistics = SearchStatistics {
            covered: 0,
            drifted: 0,
            errors: Vec::new(),
        };
        let truth = known.load_line.ln();
        for seed in 0..searches {
            let config = config(seed);
            let (end, probes) = search(known.service, known.objective, &config);
            let spent: f64 = probes.iter().map(|probe| probe.spent_s).sum();
            statistics.drifted += usize::from(matches!(end, SearchEnd::Drifts(_)));
            let found = match end {
                SearchEnd::Found(found) if spent <= config.budget_s => found,
                _ => {
                    statistics.errors.push(f64::INFINITY);
                    continue;
                }
            };
            let (low, high) = found.interval();
            statistics.covered += usize::from((low..=high).contains(&truth));
            statistics.errors.push((found.estimate() - truth).abs());
        }
        statistics.errors.sort_by(f64::total_cmp);
        statistics
    }

    #[must_use]
    pub fn error(&self, share: f64) -> f64 {
        let last = self.errors.len().saturating_sub(1);
        let place = (last as f64 * share) as usize;
        self.errors.get(place).copied().unwrap_or(f64::INFINITY)
    }
}
