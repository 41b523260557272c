//! Random draws that depend only on the seed and the request number, so that tests can recompute
//! them from the log.

use crate::random::mix;

#[derive(Clone, Copy)]
pub enum For {
    Service,
    Share,
}

#[derive(Clone, Copy, Debug)]
pub struct Draws {
    seed: u64,
}

impl Draws {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    pub fn uniform(self, n: u64, what: For) -> f64 {
        let row = mix(self.seed ^ mix(what as u64));
        (mix(row.wrapping_add(mix(n))) >> 11) as f64 / (1_u64 << 53) as f64
    }

    pub fn is_of(self, share: f64, n: u64) -> bool {
        self.uniform(n, For::Share) < share
    }

    pub fn exponential(self, mean_ns: u64, n: u64) -> u64 {
        let drawn = -(1.0 - self.uniform(n, For::Service)).ln() * mean_ns as f64;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "never negative, and at most 37 times the mean"
        )]
        let ns = drawn.round() as u64;
        ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const N: u64 = 200_000;

    #[test]
    fn exponential_draws_have_the_right_mean_and_tail() {
        let draws = Draws::new(7);
        let mut drawn: Vec<_> = (0..N).map(|n| draws.exponential(1_000_000, n)).collect();
        let mean = drawn.iter().sum::<u64>() as f64 / N as f64;
        assert!((mean - 1e6).abs() < 3.0 * 1e6 / (N as f64).sqrt(), "{mean}");
        drawn.sort_unstable();
        let at = |q: f64| drawn[(N as f64 * q) as usize] as f64;
        for q in [0.1_f64, 0.5, 0.9, 0.99, 0.999] {
            let expected = -1e6 * (1.0 - q).ln();
            assert!(
                (at(q) / expected - 1.0).abs() < 0.06,
                "{q}: {} {expected}",
                at(q)
            );
        }
    }

    #[test]
    fn share_is_met() {
        let draws = Draws::new(1);
        let hits = (0..N).filter(|&n| draws.is_of(0.1, n)).count() as f64;
        assert!((hits / N as f64 - 0.1).abs() < 0.002, "{hits}");
        assert!((0..N).all(|n| draws.is_of(1.0, n) && !draws.is_of(0.0, n)));
    }

    #[test]
    fn draws_depend_on_seed_number_and_purpose() {
        let first = Draws::new(1);
        let draw = |of: Draws| (0..50).map(|n| of.exponential(1000, n)).collect::<Vec<_>>();
        assert_eq!(draw(first), draw(Draws::new(1)));
        assert_ne!(draw(first), draw(Draws::new(2)));
        assert!((0..50).all(|n| first.uniform(n, For::Service) != first.uniform(n, For::Share)));
    }
}
