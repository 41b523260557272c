//! Median and outliers.

const FAR: f64 = 5.0;
const LEAST: f64 = 0.05;
const ENOUGH: usize = 4;

#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    Some(if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(*sorted.get(middle.checked_sub(1)?)?, sorted[middle])
    })
}

/// Returns the indices of outliers among logarithms. An outlier differs from the median by more
/// than five robust standard deviations (based on the median absolute deviation), and by more than
/// 0.05.
#[must_use]
pub fn outliers(logarithms: &[f64]) -> Vec<usize> {
    if logarithms.len() < ENOUGH {
        return Vec::new();
    }
    let Some(middle) = median(logarithms) else {
        return Vec::new();
    };
    let distances: Vec<f64> = logarithms.iter().map(|x| (x - middle).abs()).collect();
    // A factor of 1.4826 scales the median absolute deviation of a normal distribution to the
    // standard deviation.
    let usual = 1.4826 * median(&distances).unwrap_or(0.0);
    let is_far = |distance: f64| distance > (FAR * usual).max(LEAST);
    let places = distances.iter().enumerate();
    places
        .filter(|(_, distance)| is_far(**distance))
        .map(|(at, _)| at)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn median_of_odd_even_and_no_values() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn outlier_is_reported_and_usual_spread_is_not() {
        let logs = |values: &[f64]| values.iter().map(|x| x.ln()).collect::<Vec<_>>();
        assert_eq!(outliers(&logs(&[100.0, 102.0, 99.0, 30_000.0, 101.0])), [3]);
        assert!(outliers(&logs(&[100.0, 102.0, 99.0, 103.0, 101.0])).is_empty());
        assert!(outliers(&logs(&[100.0, 100.0, 100.0, 100.0, 101.0])).is_empty());
        assert!(outliers(&logs(&[1.0, 1.0, 900.0])).is_empty());
    }
}
