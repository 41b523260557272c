//! Latencies of a mock: constants, percentiles, measured values, episodes, or a queue.
//!
//! The n-th latency depends only on the seed and n. Draws are stratified: in each block of 1,024
//! consecutive draws, every draw comes from a different 1,024th of the distribution. Therefore even
//! short runs have the requested percentiles.

use std::{cmp::Reverse, collections::BinaryHeap};

use super::Measured;

/// The latency of a mock's responses.
#[derive(Debug, Clone, PartialEq)]
pub enum MockLatency {
    /// A constant latency in nanoseconds.
    Constant(u64),
    /// A distribution with given percentiles.
    Curve(PercentileCurve),
    /// A distribution measured in another run.
    Measured(Measured),
    /// Episodes of slow responses that keep a given mean latency.
    Episodes {
        /// Length of the period that contains one episode in its middle.
        every_ns: u64,
        /// Duration of an episode.
        for_ns: u64,
        /// Latency during an episode.
        slow_ns: u64,
        /// Latency outside episodes.
        quick_ns: u64,
    },
    #[expect(missing_docs, reason = "the names are self-explanatory")]
    Queue { workers: u32, service_ns: u64 },
}

impl MockLatency {
    /// Creates episodes with this mean over evenly spaced requests. Returns `None` if the slow
    /// episodes alone exceed the mean.
    #[must_use]
    pub fn episodes(mean_ns: u64, every_ns: u64, for_ns: u64, slow_ns: u64) -> Option<MockLatency> {
        let share = for_ns as f64 / every_ns as f64;
        let quick = (mean_ns as f64 - share * slow_ns as f64) / (1.0 - share);
        (for_ns < every_ns && quick >= 0.0).then(|| MockLatency::Episodes {
            every_ns,
            for_ns,
            slow_ns,
            quick_ns: whole(quick),
        })
    }

    /// Returns the intended mean, or `None` if it depends on the load.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        match self {
            MockLatency::Constant(ns) => Some(*ns as f64),
            MockLatency::Curve(curve) => {
                const STEPS: u32 = 20_000;
                let middle = |step: u32| (f64::from(step) + 0.5) / f64::from(STEPS);
                let sum: f64 = (0..STEPS).map(|step| curve.at(middle(step)) as f64).sum();
                Some(sum / f64::from(STEPS))
            }
            MockLatency::Measured(measured) => Some(measured.mean_ns()),
            MockLatency::Episodes {
                every_ns,
                for_ns,
                slow_ns,
                quick_ns,
            } => {
                let share = *for_ns as f64 / *every_ns as f64;
                Some(share.mul_add(*slow_ns as f64, (1.0 - share) * *quick_ns as f64))
            }
            MockLatency::Queue { .. } => None,
        }
    }

    /// Returns an intended percentile, or `None` if it depends on the load.
    #[must_use]
    pub fn percentile_ns(&self, q: f64) -> Option<u64> {
        match self {
            MockLatency::Constant(ns) => Some(*ns),
            MockLatency::Curve(curve) => Some(curve.at(q)),
            MockLatency::Measured(measured) => Some(measured.at(q)),
            MockLatency::Episodes {
                every_ns,
                for_ns,
                slow_ns,
                quick_ns,
            } => {
                let slow = 1.0 - q < *for_ns as f64 / *every_ns as f64;
                Some(if slow { *slow_ns } else { *quick_ns })
            }
            MockLatency::Queue { .. } => None,
        }
    }
}

/// A distribution with given percentiles. It is log-normal between neighbouring percentiles and is
/// extrapolated at the ends.
#[derive(Debug, Clone, PartialEq)]
pub struct PercentileCurve {
    /// Pairs of the normal quantile and the logarithm of the nanoseconds.
    points: Vec<(f64, f64)>,
    ends: f64,
}

impl PercentileCurve {
    const CUT: f64 = 0.9999;

    /// Creates a curve through at least two increasing percentiles, given as (share, nanoseconds).
    /// `is_cut` disables the extrapolation beyond the first and the last percentile.
    #[must_use]
    pub fn through(percentiles: &[(f64, u64)], is_cut: bool) -> Option<PercentileCurve> {
        let grows = |pair: &[(f64, u64)]| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1;
        let is_one = percentiles.len() >= 2 && percentiles.windows(2).all(grows);
        let is_inside = percentiles
            .iter()
            .all(|&(q, ns)| q > 0.0 && q < 1.0 && ns > 0);
        let last = percentiles.last()?.0;
        let ends = if is_cut {
            PercentileCurve::CUT.max(last)
        } else {
            1.0 - 1e-9
        };
        (is_one && is_inside).then(|| PercentileCurve {
            points: percentiles
                .iter()
                .map(|&(q, ns)| (normal_quantile(q), (ns as f64).ln()))
                .collect(),
            ends: normal_quantile(ends),
        })
    }

    /// Returns the latency at the given share of the distribution, from 0 to 1.
    #[must_use]
    pub fn at(&self, share: f64) -> u64 {
        let z = normal_quantile(share.clamp(1e-12, 1.0 - 1e-12)).clamp(-self.ends, self.ends);
        let piece = self.points.iter().skip(1).position(|point| z < point.0);
        let piece = piece.unwrap_or(self.points.len() - 2);
        let ((z0, y0), (z1, y1)) = (self.points[piece], self.points[piece + 1]);
        whole(((y1 - y0) / (z1 - z0)).mul_add(z - z0, y0).exp())
    }
}

/// Draws the latency of each request. Requests must be passed in order of arrival.
#[derive(Debug, Clone)]
pub struct LatencySampler {
    latency: MockLatency,
    seed: u64,
    drawn: u64,
    free: BinaryHeap<Reverse<u64>>,
    busy_ns: u128,
}

/// Utilisation of the workers behind a queue.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Busy {
    /// Number of workers.
    pub workers: u32,
    /// Capacity of all workers, in requests per second.
    pub per_second: f64,
    /// Share of time in which the workers were busy, from the start of the timeline until the last
    /// worker is idle.
    pub utilisation: f64,
}

impl LatencySampler {
    /// Creates a sampler that starts at the beginning of the timeline.
    #[must_use]
    pub fn new(latency: MockLatency, seed: u64) -> LatencySampler {
        let workers = match latency {
            MockLatency::Queue { workers, .. } => workers as usize,
            _ => 0,
        };
        LatencySampler {
            latency,
            seed,
            drawn: 0,
            free: vec![Reverse(0); workers].into(),
            busy_ns: 0,
        }
    }

    /// Returns the utilisation so far. `None` if the latency is not a queue.
    #[must_use]
    pub fn busy(&self) -> Option<Busy> {
        let MockLatency::Queue {
            workers,
            service_ns,
        } = self.latency
        else {
            return None;
        };
        let last = self.free.iter().map(|free| free.0).max().unwrap_or(0);
        let all = f64::from(workers) * last as f64;
        Some(Busy {
            workers,
            per_second: f64::from(workers) * 1e9 / service_ns.max(1) as f64,
            utilisation: if last == 0 {
                0.0
            } else {
                self.busy_ns as f64 / all
            },
        })
    }

    /// Draws the latency of a request that arrives at `at_ns`, multiplied by `times`.
    pub fn next(&mut self, at_ns: u64, times: f64) -> u64 {
        let n = self.drawn;
        self.drawn += 1;
        let usual = match &self.latency {
            MockLatency::Constant(ns) => *ns,
            MockLatency::Curve(curve) => curve.at(stratum(self.seed, n)),
            MockLatency::Measured(measured) => measured.at(stratum(self.seed, n)),
            MockLatency::Episodes {
                every_ns,
                for_ns,
                slow_ns,
                quick_ns,
            } => {
                let from = (every_ns - for_ns) / 2;
                let into = at_ns % every_ns;
                let slow = into >= from && into - from < *for_ns;
                if slow { *slow_ns } else { *quick_ns }
            }
            MockLatency::Queue { service_ns, .. } => {
                let service = whole(*service_ns as f64 * times);
                self.busy_ns += u128::from(service);
                return match self.free.peek_mut() {
                    Some(mut earliest) => {
                        earliest.0 = at_ns.max(earliest.0).saturating_add(service);
                        earliest.0 - at_ns
                    }
                    None => service,
                };
            }
        };
        whole(usual as f64 * times)
    }
}

pub(super) fn whole(ns: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, and the cast saturates"
    )]
    let whole = ns.round() as u64;
    whole
}

/// Returns the n-th draw in [0, 1). In each block of 1,024 consecutive draws, there is one draw in
/// each 1,024th of the range, in pseudorandom order.
#[must_use]
pub fn stratum(seed: u64, n: u64) -> f64 {
    const SIDE: u64 = 32;
    let (row, place) = (n / (SIDE * SIDE), n % (SIDE * SIDE));
    let key = crate::rng::mix(seed ^ crate::rng::mix(row));
    // Permute the 1,024 strata with four Feistel rounds.
    let (mut left, mut right) = (place / SIDE, place % SIDE);
    for round in 0..4 {
        let turned = crate::rng::mix(key ^ (round << 32) ^ right) % SIDE;
        (left, right) = (right, (left + turned) % SIDE);
    }
    let jitter = (crate::rng::mix(key.wrapping_add(n)) >> 11) as f64 / (1_u64 << 53) as f64;
    ((left * SIDE + right) as f64 + jitter) / (SIDE * SIDE) as f64
}

/// Returns a quantile of the normal distribution by Acklam's rational approximation. The relative
/// error is below 1.2e-9.
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 5] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 4] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
    ];
    let polynomial = |of: &[f64], x: f64| of.iter().fold(0.0, |sum, c| f64::mul_add(sum, x, *c));
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        polynomial(&C, q) / polynomial(&D, q).mul_add(q, 1.0)
    };
    if p < 0.02425 {
        tail(p)
    } else if p > 1.0 - 0.02425 {
        -tail(1.0 - p)
    } else {
        let q = p - 0.5;
        let r = q * q;
        polynomial(&A, r) * q / polynomial(&B, r).mul_add(r, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn sorted(latency: MockLatency, n: usize) -> Vec<u64> {
        let mut sampler = LatencySampler::new(latency, 42);
        let mut drawn: Vec<u64> = (0..n).map(|_| sampler.next(0, 1.0)).collect();
        drawn.sort_unstable();
        drawn
    }

    #[test]
    fn delays_have_requested_percentiles() {
        const N: usize = 100_000;
        for asked in [
            &[(0.5, 120 * MS), (0.99, 900 * MS)][..],
            &[(0.5, 120 * MS), (0.95, 300 * MS), (0.99, 900 * MS)],
            &[(0.1, 1), (0.5, 2), (0.9, 400 * MS), (0.999, 900 * MS)],
        ] {
            for is_cut in [true, false] {
                let curve = PercentileCurve::through(asked, is_cut).unwrap();
                let drawn = sorted(MockLatency::Curve(curve.clone()), N);
                for &(q, ns) in asked {
                    let served = drawn[(q * N as f64) as usize] as f64;
                    let off = (served / ns as f64 - 1.0).abs();
                    assert!(
                        off < 0.02 || served - (ns as f64) < 2.0,
                        "{q}: {served} {ns}"
                    );
                }
                let last = *drawn.last().unwrap();
                let end = curve.at(0.9999);
                assert!(!is_cut || last <= end, "{last} {end}");
                let mean = MockLatency::Curve(curve).mean_ns().unwrap();
                let served = drawn.iter().sum::<u64>() as f64 / N as f64;
                assert!((served / mean - 1.0).abs() < 0.02, "{served} {mean}");
            }
        }
    }

    #[test]
    fn each_thousand_delays_has_requested_percentiles() {
        let curve = PercentileCurve::through(&[(0.5, 120 * MS), (0.99, 900 * MS)], true).unwrap();
        let mut sampler = LatencySampler::new(MockLatency::Curve(curve), 7);
        for _ in 0..50 {
            let row = (0..1024).map(|_| sampler.next(0, 1.0));
            let above = row.filter(|&ns| ns > 900 * MS).count();
            assert!((10..=11).contains(&above), "{above}");
        }
    }

    #[test]
    fn decreasing_percentiles_are_rejected() {
        for wrong in [
            &[][..],
            &[(0.5, 1)],
            &[(0.5, 2), (0.9, 1)],
            &[(0.9, 1), (0.5, 2)],
            &[(0.5, 0), (0.9, 1)],
        ] {
            assert_eq!(PercentileCurve::through(wrong, true), None);
        }
    }

    #[test]
    fn episodes_keep_the_mean_and_cluster() {
        let second = 1_000 * MS;
        let latency =
            MockLatency::episodes(1_100 * MS, 60 * second, 5 * second, 3 * second).unwrap();
        assert!((latency.mean_ns().unwrap() / (1_100 * MS) as f64 - 1.0).abs() < 1e-6);
        let mut sampler = LatencySampler::new(latency.clone(), 1);
        let served: Vec<u64> = (0..6_000)
            .map(|n| sampler.next(n * second / 100, 1.0))
            .collect();
        let mean = served.iter().sum::<u64>() as f64 / 6_000.0;
        assert!((mean / (1_100 * MS) as f64 - 1.0).abs() < 0.001, "{mean}");
        let slow: Vec<usize> = (0..6_000).filter(|&n| served[n] == 3 * second).collect();
        assert_eq!((slow.len(), slow[0], slow[499]), (500, 2_750, 3_249));
        assert_eq!(latency.percentile_ns(0.99), Some(3 * second));
        assert_eq!(
            MockLatency::episodes(MS, 60 * second, 5 * second, 3 * second),
            None
        );
        assert_eq!(MockLatency::episodes(MS, second, second, 0), None);
    }

    #[test]
    fn queue_serves_in_order_of_arrival() {
        let queue = MockLatency::Queue {
            workers: 2,
            service_ns: 8 * MS,
        };
        let mut sampler = LatencySampler::new(queue, 1);
        let waits: Vec<u64> = (0..4).map(|_| sampler.next(0, 1.0) / MS).collect();
        assert_eq!(waits, [8, 8, 16, 16]);
        assert_eq!(sampler.next(100 * MS, 2.0), 16 * MS);
        // Two workers spend 4 × 8 ms + 16 ms = 48 ms of 2 × 116 ms.
        let busy = sampler.busy().unwrap();
        assert!((busy.utilisation - 48.0 / 232.0).abs() < 1e-9, "{busy:?}");
        assert!((busy.per_second - 250.0).abs() < 1e-9, "{busy:?}");
        assert_eq!(
            LatencySampler::new(MockLatency::Constant(1), 1).busy(),
            None
        );
        // 10 s of 1,400/s with a capacity of 1,000/s leave a backlog that takes another 4 s.
        let mut sampler = LatencySampler::new(
            MockLatency::Queue {
                workers: 8,
                service_ns: 8 * MS,
            },
            1,
        );
        let last = (0..14_000_u64).map(|n| {
            let at = n * 1_000 * MS / 1_400;
            at + sampler.next(at, 1.0)
        });
        let end = last.max().unwrap() as f64 / 1e9;
        assert!((end - 14.0).abs() < 0.02, "{end}");
    }

    #[test]
    fn each_stratum_is_drawn_once() {
        for row in 0..3 {
            let mut seen = [false; 1024];
            for n in 0..1024 {
                let at = (stratum(9, row * 1024 + n) * 1024.0) as usize;
                assert!(!std::mem::replace(&mut seen[at], true));
            }
        }
        assert_ne!(stratum(1, 0), stratum(2, 0));
    }
}
