//! Student's t-test for two samples with equal variance.

/// Returns the two-sided p-value of the difference between two means.
///
/// `correlation` is the correlation of neighbouring values (0 means independent), which makes means
/// less certain. Returns `None` if there are too few values for a variance.
#[must_use]
pub(crate) fn t_test(first: &[f64], second: &[f64], correlation: f64) -> Option<f64> {
    if first.is_empty() || second.is_empty() || first.len() + second.len() < 3 {
        return None;
    }
    let (n, m) = (first.len() as f64, second.len() as f64);
    let [vn, vm] = [first, second].map(|values| mean_inflation(values.len(), correlation));
    let (a, b) = (mean(first), mean(second));
    let spread = |values: &[f64], mean: f64| -> f64 {
        values.iter().map(|value| (value - mean).powi(2)).sum()
    };
    // Correct the variance, because correlated values are closer to their own mean than to the mean
    // of their level.
    let within = n + m - vn - vm;
    if within <= 0.0 {
        return Some(1.0);
    }
    let variance = (spread(first, a) + spread(second, b)) / within;
    let distance = (a - b).abs();
    if variance <= f64::MIN_POSITIVE {
        // Any difference is significant, because the values within each sample are equal.
        return Some(if distance > 0.0 { 0.0 } else { 1.0 });
    }
    let t = distance / (variance * (vn / n + vm / m)).sqrt();
    let squares = correlation * correlation;
    let freedom = (n + m) * (1.0 - squares) / (1.0 + squares) - 2.0;
    Some(two_sided(t, freedom.max(1.0)))
}

/// Returns the variance of the mean of `n` values relative to that of independent values, for an
/// AR(1) process with this correlation.
fn mean_inflation(n: usize, correlation: f64) -> f64 {
    let (n, phi) = (n as f64, correlation);
    if phi <= 0.0 {
        return 1.0;
    }
    let far = 2.0 * phi * (1.0 - phi.powf(n)) / (n * (1.0 - phi).powi(2));
    (1.0 + phi) / (1.0 - phi) - far
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        return 0.0;
    }
    values.iter().sum::<f64>() / values.len() as f64
}

pub(crate) fn two_sided(t: f64, freedom: f64) -> f64 {
    beta(freedom / 2.0, 0.5, freedom / (freedom + t * t))
}

/// Computes the regularised incomplete beta function by a continued fraction (Lentz).
fn beta(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges quickly only on one side, so compute the other side as its complement.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(b, a, 1.0 - x);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (1.0 - x).ln();
    let not_zero = |value: f64| if value.abs() < 1e-300 { 1e-300 } else { value };
    let mut c = 1.0;
    let mut d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut fraction = d;
    for i in 1..300 {
        let m = f64::from(i);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut step = 1.0;
        for part in [even, odd] {
            d = 1.0 / not_zero(1.0 + part * d);
            c = not_zero(1.0 + part / c);
            step = d * c;
            fraction *= step;
        }
        if (step - 1.0).abs() < 1e-14 {
            break;
        }
    }
    (front.exp() * fraction / a).clamp(0.0, 1.0)
}

fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut less) = (x, 0.0);
    while x < 12.0 {
        less += x.ln();
        x += 1.0;
    }
    let inverse = 1.0 / (x * x);
    let series =
        (1.0 / 12.0 - inverse * (1.0 / 360.0 - inverse * (1.0 / 1260.0 - inverse / 1680.0))) / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - less
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_match_tables() {
        for (freedom, t, p) in [
            (1.0, 12.706, 0.05),
            (5.0, 2.571, 0.05),
            (8.0, 5.041, 0.001),
            (28.0, 3.674, 0.001),
            (58.0, 2.002, 0.05),
        ] {
            let found = two_sided(t, freedom);
            assert!((found / p - 1.0).abs() < 2e-3, "{freedom} {t}: {found}");
        }
        assert!((two_sided(0.0, 7.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn gamma_equals_factorial() {
        assert!((ln_gamma(6.0) - 120f64.ln()).abs() < 1e-12);
        assert!((ln_gamma(0.5) - std::f64::consts::PI.sqrt().ln()).abs() < 1e-12);
    }

    #[test]
    fn samples_are_compared_by_pooled_variance() {
        let p = t_test(&[1.0, 2.0, 3.0, 4.0, 5.0], &[6.0, 7.0, 8.0, 9.0, 10.0], 0.0).unwrap();
        // The samples give t = 5 with 8 degrees of freedom.
        assert!((p - 0.00105).abs() < 1e-5, "{p}");
        assert_eq!(t_test(&[1.0, 1.0], &[1.0, 1.0], 0.0), Some(1.0));
        assert_eq!(t_test(&[1.0, 1.0], &[2.0, 2.0], 0.0), Some(0.0));
        assert_eq!(t_test(&[1.0], &[2.0], 0.0), None);
    }
}
