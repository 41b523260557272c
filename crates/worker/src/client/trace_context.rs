//! Creation of the trace contexts of a worker.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
};

use measure::SpanContext;
use plan::{TraceContext, TraceSampling, rng::mix};

const SECOND_NS: f64 = 1e9;

/// Creates the trace contexts of one worker. Each ID is a function of random keys and the request's
/// number, so it needs no lock, no memory and none of the test's random numbers.
#[derive(Debug)]
pub(super) struct TraceContexts {
    sampling: WorkerSampling,
    /// Keys for both halves of the trace ID, for the span ID and for sampling.
    keys: [u64; 4],
    number: Cell<u64>,
    /// First bits of all trace IDs, and the mask of the other bits.
    prefix: (u64, u64),
    asks_to_record: bool,
}

#[derive(Debug)]
enum WorkerSampling {
    All,
    /// Requests whose hash is below this value.
    Below(u64),
    Rate(RateSampling),
}

/// Samples at most a given number of requests per period. The probability is based on the number of
/// requests in the previous period, so it depends neither on the outcome of a request nor on its
/// position in an iteration.
#[derive(Debug)]
struct RateSampling {
    period_ns: u64,
    /// Number of requests to sample in a period, at least 1.
    wanted: f64,
    state: Cell<RateState>,
}

#[derive(Debug, Clone, Copy, Default)]
struct RateState {
    /// End of the current period. Until then, nothing is sampled if `before` is `None`.
    end_ns: u64,
    /// Number of requests in the previous period. `None` in the first period.
    before: Option<u64>,
    requests: u64,
    sampled: u64,
}

impl RateSampling {
    /// Creates the sampling with a maximum rate per second. `offset` is a fraction of a period: the
    /// periods of the workers start one after another.
    fn new(rate: f64, offset: f64) -> RateSampling {
        let period_s = (1.0 / rate).max(1.0);
        let period_ns = (period_s * SECOND_NS) as u64;
        RateSampling {
            period_ns,
            wanted: rate * period_s,
            state: Cell::new(RateState {
                end_ns: (offset * period_ns as f64) as u64,
                ..RateState::default()
            }),
        }
    }

    /// Returns whether to sample a request with this hash.
    fn takes(&self, now_ns: u64, hash: u64) -> bool {
        let mut state = self.state.get();
        if now_ns >= state.end_ns {
            let periods = (now_ns - state.end_ns) / self.period_ns + 1;
            state = RateState {
                end_ns: state
                    .end_ns
                    .saturating_add(periods.saturating_mul(self.period_ns)),
                // After a period without requests, sample the next request immediately.
                before: Some(if periods > 1 { 0 } else { state.requests }),
                requests: 0,
                sampled: 0,
            };
        }
        let is_taken = state.before.is_some_and(|before| {
            let share = self.wanted / before.max(1) as f64;
            let is_below = share >= 1.0 || hash < (share * u64::MAX as f64) as u64;
            // Round down, because the limits of all workers together must not exceed the rate.
            is_below && (state.sampled as f64) < self.wanted.floor().max(1.0)
        });
        state.requests += 1;
        state.sampled += u64::from(is_taken);
        self.state.set(state);
        is_taken
    }
}

impl TraceContexts {
    /// Creates the trace contexts of worker `index` of `workers`. The keys come from the operating
    /// system, because IDs must differ between runs with the same seed.
    pub(super) fn new(rules: &TraceContext, index: usize, workers: usize) -> TraceContexts {
        let random = RandomState::new();
        let keys = std::array::from_fn(|i| random.hash_one(i));
        TraceContexts {
            prefix: prefix(&rules.id_prefix),
            asks_to_record: rules.asks_to_record,
            ..TraceContexts::with_keys(rules.sampling, (index, workers), keys)
        }
    }

    fn with_keys(
        sampling: TraceSampling,
        (index, workers): (usize, usize),
        keys: [u64; 4],
    ) -> TraceContexts {
        let share = 1.0 / workers.max(1) as f64;
        let offset = index as f64 * share;
        let sampling = match sampling {
            TraceSampling::Share(share) if share < 1.0 => {
                WorkerSampling::Below((share * u64::MAX as f64) as u64)
            }
            TraceSampling::All | TraceSampling::Share(_) => WorkerSampling::All,
            TraceSampling::PerSecond(rate) => {
                let offset = if rate * share < 1.0 { offset } else { 0.0 };
                WorkerSampling::Rate(RateSampling::new(rate * share, offset))
            }
        };
        TraceContexts {
            sampling,
            keys,
            number: Cell::new(0),
            prefix: prefix(""),
            asks_to_record: true,
        }
    }

    /// Returns the context of the next request. `None` if it is not sampled.
    pub(super) fn next(&self, now_ns: u64) -> Option<SpanContext> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let id = |key: u64| mix(key.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let is_sampled = match &self.sampling {
            WorkerSampling::All => true,
            WorkerSampling::Below(limit) => id(self.keys[3]) < *limit,
            WorkerSampling::Rate(rate) => rate.takes(now_ns, id(self.keys[3])),
        };
        let (prefix, mask) = self.prefix;
        is_sampled.then(|| {
            let trace = [prefix | id(self.keys[0]) & mask, id(self.keys[1])];
            SpanContext::new(trace, id(self.keys[2])).sampled(self.asks_to_record)
        })
    }
}

/// Returns the bits of the first hexadecimal digits of trace IDs, and the mask of the other bits.
fn prefix(digits: &str) -> (u64, u64) {
    let digits = digits.get(..16).unwrap_or(digits);
    let bits = 4 * digits.len() as u32;
    let value = u64::from_str_radix(digits, 16).unwrap_or(0);
    let first = value.checked_shl(64 - bits).unwrap_or(0);
    (first, u64::MAX.checked_shr(bits).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const KEYS: [u64; 4] = [1, 2, 3, 4];
    const MS: u64 = 1_000_000;

    #[test]
    fn ids_differ_between_requests_and_runs() {
        let contexts = TraceContexts::with_keys(TraceSampling::All, (0, 1), KEYS);
        let ids: BTreeSet<_> = (0..10_000)
            .map(|n| contexts.next(n).unwrap().trace_id())
            .collect();
        assert_eq!(ids.len(), 10_000);
        let first = || {
            TraceContexts::new(&TraceContext::default(), 0, 1)
                .next(0)
                .unwrap()
        };
        assert_ne!(first(), first());
    }

    #[test]
    fn ids_begin_with_the_prefix() {
        for digits in ["", "a", "a9", "0123456789abcdef"] {
            let rules = TraceContext {
                id_prefix: digits.to_owned(),
                asks_to_record: false,
                ..TraceContext::default()
            };
            let contexts = TraceContexts::new(&rules, 0, 1);
            for _ in 0..100 {
                let context = contexts.next(0).unwrap().to_string();
                assert!(context.starts_with(&format!("00-{digits}")), "{context}");
                assert!(context.ends_with("-00"), "{context}");
            }
        }
    }

    #[test]
    fn share_of_the_requests_is_sampled() {
        let contexts = TraceContexts::with_keys(TraceSampling::Share(0.25), (0, 1), KEYS);
        let sampled = (0..100_000).filter(|n| contexts.next(*n).is_some()).count();
        // Six standard deviations of the binomial distribution.
        assert!(sampled.abs_diff(25_000) < 830, "{sampled}");
    }

    fn of_rate(rate: f64, worker: usize, workers: usize) -> TraceContexts {
        TraceContexts::with_keys(TraceSampling::PerSecond(rate), (worker, workers), KEYS)
    }

    #[test]
    fn rate_is_an_upper_limit_and_nearly_reached() {
        let contexts = of_rate(10.0, 0, 1);
        let second = |second: u64| {
            let times = (0..1000).map(|ms| (second * 1000 + ms) * MS);
            times.filter(|ns| contexts.next(*ns).is_some()).count()
        };
        let all: Vec<usize> = (0..100).map(second).collect();
        assert!(all.iter().all(|sampled| *sampled <= 10), "{all:?}");
        // The limit cuts off about one request in ten.
        assert!(all.iter().sum::<usize>() > 800, "{all:?}");
    }

    #[test]
    fn workers_together_stay_below_the_rate() {
        let workers: Vec<_> = (0..3).map(|worker| of_rate(10.0, worker, 3)).collect();
        for second in 0..100 {
            let times = (0..1000).map(|ms| (second * 1000 + ms) * MS);
            let sampled = times.flat_map(|ns| workers.iter().filter_map(move |one| one.next(ns)));
            assert!(sampled.count() <= 10, "{second}");
        }
    }

    #[test]
    fn every_step_of_an_iteration_is_sampled_alike() {
        let contexts = of_rate(2.0, 0, 1);
        let mut sampled = [0; 3];
        for iteration in 0..4000 {
            for (step, count) in sampled.iter_mut().enumerate() {
                let now_ns = (iteration * 500 + step as u64) * MS;
                *count += i32::from(contexts.next(now_ns).is_some());
            }
        }
        let [a, b, c] = sampled;
        assert!(a.abs_diff(b).max(b.abs_diff(c)) < 300, "{sampled:?}");
    }

    #[test]
    fn workers_of_a_low_rate_begin_one_after_the_other() {
        let workers: Vec<_> = (0..4)
            .map(|worker| of_rate(1.0 / 60.0, worker, 4))
            .collect();
        let mut sampled = 0;
        for ms in 0..59_000 {
            sampled += workers
                .iter()
                .filter(|one| one.next(ms * MS).is_some())
                .count();
        }
        assert_eq!(sampled, 1);
    }
}
