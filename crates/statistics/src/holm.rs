//! Holm's correction for multiple tests. It limits the probability of any false positive to the
//! level of a single test.

#[must_use]
pub fn adjusted(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut counted = vec![1.0; p_values.len()];
    let mut least: f64 = 0.0;
    for (rank, at) in order.into_iter().enumerate() {
        let left = (p_values.len() - rank) as f64;
        least = least.max((p_values[at] * left).min(1.0));
        counted[at] = least;
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::adjusted;

    #[test]
    fn p_values_are_adjusted_by_remaining_tests() {
        let counted = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        let expected = [0.03, 0.06, 0.06, 0.02];
        for (counted, expected) in counted.iter().zip(expected) {
            assert!((counted - expected).abs() < 1e-12, "{counted} {expected}");
        }
        assert!(adjusted(&[]).is_empty());
        assert_eq!(adjusted(&[0.7, 0.8]), [1.0, 1.0]);
    }
}
