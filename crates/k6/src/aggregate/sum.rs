//! A sum of floats that stays precise over many values.

/// A sum of finite values that compensates the error of each addition. It stays finite.
#[derive(Debug, Clone, Copy, Default)]
pub struct Sum {
    total: f64,
    error: f64,
}

impl Sum {
    /// Adds a finite value.
    pub fn add(&mut self, value: f64) {
        let next = self.total + value;
        if !next.is_finite() {
            self.total = next.clamp(f64::MIN, f64::MAX);
            self.error = 0.0;
            return;
        }
        self.error += if self.total.abs() >= value.abs() {
            (self.total - next) + value
        } else {
            (value - next) + self.total
        };
        self.total = next;
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: &Sum) {
        self.add(other.total);
        self.add(other.error);
    }

    /// Returns the sum.
    #[must_use]
    pub fn value(&self) -> f64 {
        (self.total + self.error).clamp(f64::MIN, f64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_values_are_not_lost() {
        let mut sum = Sum::default();
        sum.add(1e16);
        for _ in 0..1000 {
            sum.add(0.5);
        }
        assert_eq!(sum.value(), 1e16 + 500.0);
        sum.add(f64::MAX);
        sum.add(f64::MAX);
        assert!(sum.value().is_finite());
    }
}
