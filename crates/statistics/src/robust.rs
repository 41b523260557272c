//! What does not mind a few values that are far off: the median, and which those values are.

/// So many times the usual distance from the median, a value is no longer of the same kind.
const FAR: f64 = 5.0;
/// Below this share of the median a distance is nothing, however alike the others are.
const LEAST: f64 = 0.05;
/// With fewer values nobody can say which is the odd one.
const ENOUGH: usize = 4;

/// The median; none of nothing.
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

/// The places of values that lie far from the others: more than five times their median distance from the median (as deviations
/// count it), and more than a twentieth in what is given as logarithms.
#[must_use]
pub fn outliers(logarithms: &[f64]) -> Vec<usize> {
    if logarithms.len() < ENOUGH {
        return Vec::new();
    }
    let Some(middle) = median(logarithms) else {
        return Vec::new();
    };
    let distances: Vec<f64> = logarithms.iter().map(|x| (x - middle).abs()).collect();
    // 1.4826 makes a standard deviation of it where values are spread normally.
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
    fn the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(&[]), None);
    }

    #[test]
    fn the_odd_one_is_named_and_the_usual_spread_is_not() {
        let logs = |values: &[f64]| values.iter().map(|x| x.ln()).collect::<Vec<_>>();
        assert_eq!(outliers(&logs(&[100.0, 102.0, 99.0, 30_000.0, 101.0])), [3]);
        assert!(outliers(&logs(&[100.0, 102.0, 99.0, 103.0, 101.0])).is_empty());
        // Alike to the last digit but for one that is a hair off: no odd one.
        assert!(outliers(&logs(&[100.0, 100.0, 100.0, 100.0, 101.0])).is_empty());
        assert!(outliers(&logs(&[1.0, 1.0, 900.0])).is_empty());
    }
}
