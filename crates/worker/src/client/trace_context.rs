//! Draws the trace contexts of one worker.

use std::{
    cell::Cell,
    hash::{BuildHasher, RandomState},
};

use measure::SpanContext;
use plan::{TraceContext, TraceSampling, rng::mix};

const SECOND_NS: f64 = 1e9;

/// The trace contexts of one worker. Each id is a function of random keys and the number of the
/// request, so drawing one needs no lock, no memory and no random numbers of the test.
#[derive(Debug)]
pub(super) struct TraceContexts {
    sampling: WorkerSampling,
    /// Keys of both halves of the trace id, of the span id and of the sampling.
    keys: [u64; 4],
    number: Cell<u64>,
    /// First bits of all trace ids, and the mask of the other bits.
    prefix: (u64, u64),
    asks_to_record: bool,
}

#[derive(Debug)]
enum WorkerSampling {
    All,
    /// Requests whose hash is below this limit.
    Below(u64),
    Spaced {
        gap_ns: u64,
        next_ns: Cell<u64>,
    },
}

impl TraceContexts {
    /// Creates the contexts of a worker that has this share of the run's requests. Keys come from
    /// the operating system, because ids must differ between runs with the same seed.
    pub(super) fn new(rules: &TraceContext, share: f64) -> TraceContexts {
        let random = RandomState::new();
        let keys = std::array::from_fn(|i| random.hash_one(i));
        TraceContexts {
            prefix: prefix(&rules.id_prefix),
            asks_to_record: rules.asks_to_record,
            ..TraceContexts::with_keys(rules.sampling, share, keys)
        }
    }

    fn with_keys(sampling: TraceSampling, share: f64, keys: [u64; 4]) -> TraceContexts {
        let sampling = match sampling {
            TraceSampling::Share(share) if share < 1.0 => {
                WorkerSampling::Below((share * u64::MAX as f64) as u64)
            }
            TraceSampling::All | TraceSampling::Share(_) => WorkerSampling::All,
            TraceSampling::PerSecond(rate) => WorkerSampling::Spaced {
                gap_ns: (SECOND_NS / (rate * share)) as u64,
                next_ns: Cell::new(0),
            },
        };
        TraceContexts {
            sampling,
            keys,
            number: Cell::new(0),
            prefix: prefix(""),
            asks_to_record: true,
        }
    }

    /// Returns the context of the next request. `None` if the request is not sampled.
    pub(super) fn next(&self, now_ns: u64) -> Option<SpanContext> {
        let number = self.number.get() + 1;
        self.number.set(number);
        let id = |key: u64| mix(key.wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15)));
        let is_sampled = match &self.sampling {
            WorkerSampling::All => true,
            WorkerSampling::Below(limit) => id(self.keys[3]) < *limit,
            WorkerSampling::Spaced { gap_ns, next_ns } => {
                let due_ns = next_ns.get();
                let is_due = now_ns >= due_ns;
                if is_due {
                    // After a pause, unused turns are not made up.
                    let next = due_ns.saturating_add(*gap_ns);
                    next_ns.set(if next > now_ns {
                        next
                    } else {
                        now_ns.saturating_add(*gap_ns)
                    });
                }
                is_due
            }
        };
        let (prefix, mask) = self.prefix;
        is_sampled.then(|| {
            let trace = [prefix | id(self.keys[0]) & mask, id(self.keys[1])];
            SpanContext::new(trace, id(self.keys[2])).sampled(self.asks_to_record)
        })
    }
}

/// Returns the bits of the first hexadecimal digits of trace ids, and the mask of the other bits.
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
        let contexts = TraceContexts::with_keys(TraceSampling::All, 1.0, KEYS);
        let ids: BTreeSet<_> = (0..10_000)
            .map(|n| contexts.next(n).unwrap().trace_id())
            .collect();
        assert_eq!(ids.len(), 10_000);
        let first = || {
            TraceContexts::new(&TraceContext::default(), 1.0)
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
            let contexts = TraceContexts::new(&rules, 1.0);
            for _ in 0..100 {
                let context = contexts.next(0).unwrap().to_string();
                assert!(context.starts_with(&format!("00-{digits}")), "{context}");
                assert!(context.ends_with("-00"), "{context}");
            }
        }
    }

    #[test]
    fn share_of_the_requests_is_sampled() {
        let contexts = TraceContexts::with_keys(TraceSampling::Share(0.25), 1.0, KEYS);
        let sampled = (0..100_000).filter(|n| contexts.next(*n).is_some()).count();
        // Six standard deviations of the binomial distribution.
        assert!(sampled.abs_diff(25_000) < 830, "{sampled}");
    }

    #[test]
    fn requests_of_a_rate_are_spread_over_time() {
        let contexts = TraceContexts::with_keys(TraceSampling::PerSecond(10.0), 0.5, KEYS);
        let sampled = |from_ms: u64, to_ms: u64| -> Vec<u64> {
            let all = from_ms..to_ms;
            all.filter(|ms| contexts.next(ms * MS).is_some()).collect()
        };
        assert_eq!(sampled(0, 1000), [0, 200, 400, 600, 800]);
        // A second without requests is not made up.
        assert_eq!(sampled(2050, 2500), [2050, 2250, 2450]);
    }
}
