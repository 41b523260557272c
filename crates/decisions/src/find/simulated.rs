//! Services whose capacity is known in closed form, loaded on simulated time: what the tests of the search and `loadline selftest` prove
//! the answers with. Nothing is sent and no clock is read, and nothing of a real search passes through here.

use measure::confidence::Standing;
use plan::rng::{Purpose, Rng};

use super::search::{Asked, End, Probed, Step, Tally, Why, next};

/// A service of `servers` that each take so long on average.
#[derive(Debug, Clone, Copy)]
pub struct Service {
    /// Servers side by side, with one queue before them.
    pub servers: usize,
    /// What a request takes on average, in seconds.
    pub mean_s: f64,
    /// Whether arrivals come at random, else evenly.
    pub comes_at_random: bool,
    /// Whether what they take is exponential, else it is always the mean.
    pub takes_at_random: bool,
}

const ONE: Service = Service {
    servers: 1,
    mean_s: 0.001,
    comes_at_random: true,
    takes_at_random: true,
};
const FOUR: Service = Service {
    servers: 4,
    mean_s: 0.010,
    comes_at_random: true,
    takes_at_random: true,
};
/// A pool of eight places: 160/s is all it can do.
pub const POOL: Service = Service {
    servers: 8,
    mean_s: 0.050,
    comes_at_random: false,
    takes_at_random: false,
};
/// Exponential services, the bound of p99, and the rate at which it is met exactly: by the closed forms of M/M/1 and M/M/c.
pub const KNOWN: [(Service, (f64, f64)); 3] = [
    (ONE, (0.020, 769.7)),
    (FOUR, (0.060, 299.8)),
    (FOUR, (0.100, 350.1)),
];

/// The same, asked by people who come at random.
pub const BUSY_POOL: Service = Service {
    comes_at_random: true,
    ..POOL
};

/// What a probe saw, second by second.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// Samples and exceedances of the bound.
    pub counted: Vec<(f64, f64)>,
    /// Arrivals.
    pub came: Vec<f64>,
    /// Answers.
    pub went: Vec<f64>,
}

impl Seen {
    /// Whether a backlog grew in so many of its seconds, of a load of this rate.
    #[must_use]
    pub fn grows(&self, rate: f64, until: usize) -> Option<bool> {
        let growth = statistics::outpaced(rate, &self.came[..until], &self.went[..until]);
        (until >= statistics::ENOUGH_OF_PLANNED).then_some(growth.is_some())
    }
}

/// A search as it is asked for, in so many seconds, with probes of so many.
#[must_use]
pub fn asked(budget_s: f64, probe_s: f64, seed: u64) -> Asked {
    Asked {
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

impl Service {
    /// Where the first of the servers becomes free, and when.
    fn first_free(free: &mut [f64]) -> Option<&mut f64> {
        free.iter_mut().min_by(|a, b| a.total_cmp(b))
    }

    /// What a probe sees of a load of this rate that began a while before.
    #[must_use]
    pub fn load(
        self,
        rate: f64,
        bound_s: f64,
        (settle_s, seconds): (f64, usize),
        seed: u64,
    ) -> Seen {
        let mut random = Rng::keyed(seed, Purpose::Resampling, 12, 0);
        let mut free = vec![0.0f64; self.servers];
        let mut seen = Seen {
            counted: vec![(0.0, 0.0); seconds],
            came: vec![0.0; seconds],
            went: vec![0.0; seconds],
        };
        let mut at = 0.0f64;
        let until = settle_s + seconds as f64;
        loop {
            at += if self.comes_at_random {
                -(1.0 - random.unit()).ln() / rate
            } else {
                1.0 / rate
            };
            if at >= until {
                return seen;
            }
            let takes = if self.takes_at_random {
                -(1.0 - random.unit()).ln() * self.mean_s
            } else {
                self.mean_s
            };
            let Some(first) = Self::first_free(&mut free) else {
                return seen;
            };
            let done = first.max(at) + takes;
            *first = done;
            if (settle_s..until).contains(&done) {
                seen.went[(done - settle_s) as usize] += 1.0;
            }
            // By when it was due, as a probe's phases have it; what is still under way at the end is waited for.
            if at >= settle_s {
                let second = (at - settle_s) as usize;
                seen.came[second] += 1.0;
                let counted = &mut seen.counted[second];
                counted.0 += 1.0;
                counted.1 += f64::from(u8::from(done - at > bound_s));
            }
        }
    }

    /// What so many users of a closed loop get per second, each asking anew as soon as it is answered, counted over so many seconds. They
    /// begin one after the other within the first second; what each request takes is the mean.
    #[must_use]
    pub fn throughput(self, users: usize, seconds: f64, seed: u64) -> f64 {
        const SETTLED_S: f64 = 2.0;
        let mut random = Rng::keyed(seed, Purpose::Resampling, 15, users as u64);
        let mut asks: Vec<f64> = (0..users).map(|_| random.unit()).collect();
        let mut free = vec![0.0f64; self.servers];
        let mut answered = 0.0;
        loop {
            // Whoever asked first is served first.
            let (Some(user), Some(server)) =
                (Self::first_free(&mut asks), Self::first_free(&mut free))
            else {
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

/// A whole search: how it ended, and what it took.
#[must_use]
pub fn search(service: Service, bound_s: f64, asked: &Asked) -> (End, Vec<Probed>) {
    let mut probes: Vec<Probed> = Vec::new();
    loop {
        match next(asked, &probes) {
            Step::End(end) => return (end, probes),
            Step::Probe(probe) => {
                let number = asked.seed * 1_000 + probes.len() as u64;
                let seconds = probe.seconds.ceil() as usize;
                let seen = service.load(probe.level, bound_s, (asked.settle_s, seconds), number);
                let tally = |until: usize| Tally {
                    allowed: 0.01,
                    seconds: seen.counted[..until].to_vec(),
                };
                let is_over = |until: &usize| match probe.why {
                    Why::Near => tally(*until).fails_plainly(),
                    _ => tally(*until).standing() != Standing::Open,
                };
                let until = (3..seconds).find(is_over).unwrap_or(seconds);
                probes.push(Probed {
                    level: probe.level,
                    why: probe.why,
                    spent_s: until as f64 + asked.settle_s,
                    tallies: vec![tally(until)],
                    grows: seen.grows(probe.level, until),
                    spoilt: None,
                });
            }
        }
    }
}

/// Of searches with the seeds from 0: how many have the truth in their interval, and the errors of their answers.
#[derive(Debug, Clone)]
pub struct Came {
    /// Those with the truth in their interval.
    pub covered: usize,
    /// How far each answer is from the truth, in logarithms, the nearest first; a search without an answer, or over its budget, is
    /// infinitely far off.
    pub errors: Vec<f64>,
}

impl Came {
    /// So many searches for a truth that is known, each as it is asked for with its seed.
    #[must_use]
    pub fn of(
        service: Service,
        (bound_s, truth): (f64, f64),
        searches: u64,
        asked: impl Fn(u64) -> Asked,
    ) -> Came {
        let mut came = Came {
            covered: 0,
            errors: Vec::new(),
        };
        for seed in 0..searches {
            let asked = asked(seed);
            let (end, probes) = search(service, bound_s, &asked);
            let spent: f64 = probes.iter().map(|probe| probe.spent_s).sum();
            let End::Found(found) = end else {
                came.errors.push(f64::INFINITY);
                continue;
            };
            if spent > asked.budget_s {
                came.errors.push(f64::INFINITY);
                continue;
            }
            let (low, high) = found.interval();
            came.covered += usize::from((low..=high).contains(&truth.ln()));
            came.errors.push((found.estimate() - truth.ln()).abs());
        }
        came.errors.sort_by(f64::total_cmp);
        came
    }

    /// The error that this share of the searches stays below.
    #[must_use]
    pub fn error(&self, share: f64) -> f64 {
        let last = self.errors.len().saturating_sub(1);
        let place = (last as f64 * share) as usize;
        self.errors.get(place).copied().unwrap_or(f64::INFINITY)
    }
}
