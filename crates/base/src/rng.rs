//! Random numbers computed from a seed and a key, independent of the worker and the order of calls.
//!
//! SplitMix64 over a mixed key is good enough to generate a load, but not for cryptography.

#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

#[derive(Debug, Clone, Copy)]
pub enum Purpose {
    Slot = 1,
    Scenario = 2,
    Row = 3,
    Variable = 4,
    User = 5,
    Sampling = 6,
    Resampling = 7,
}

impl Rng {
    #[must_use]
    pub fn keyed(seed: u64, purpose: Purpose, a: u64, b: u64) -> Rng {
        let mut state = mix(seed ^ 0x6c6f_6164_6c69_6e65);
        for part in [purpose as u64, a, b] {
            state = mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15)
                ^ part.wrapping_mul(0xd1b5_4a32_d192_ed03));
        }
        Rng { state }
    }

    #[must_use]
    pub fn fork(&self, branch: u64) -> Rng {
        Rng {
            state: mix(self.state ^ mix(branch.wrapping_add(1))),
        }
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.state)
    }

    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a uniformly distributed number in 0..n, or 0 for n = 0. The bias of the
    /// multiplication is below n / 2^64.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next_u64()) * u128::from(n)) >> 64) as u64
    }

    pub fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }
}

/// Applies the finalizer of SplitMix64. It is a bijection, and each output bit depends on all input
/// bits.
#[must_use]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stream_depends_on_its_key() {
        let draw = |a| Rng::keyed(7, Purpose::Row, a, 0).next_u64();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        assert_ne!(
            Rng::keyed(7, Purpose::Row, 1, 0).next_u64(),
            Rng::keyed(7, Purpose::User, 1, 0).next_u64()
        );
    }

    #[test]
    fn distributions_have_expected_means() {
        let mut rng = Rng::keyed(1, Purpose::Slot, 0, 0);
        let n = 100_000;
        let uniform: f64 = (0..n).map(|_| rng.unit()).sum::<f64>() / f64::from(n);
        let exponential: f64 = (0..n).map(|_| rng.exponential()).sum::<f64>() / f64::from(n);
        let below: u64 = (0..n).map(|_| rng.below(10)).sum();
        assert!((uniform - 0.5).abs() < 0.005, "{uniform}");
        assert!((exponential - 1.0).abs() < 0.02, "{exponential}");
        assert!((below as f64 / f64::from(n) - 4.5).abs() < 0.05);
    }
}
