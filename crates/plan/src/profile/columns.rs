//! Columns of a load profile: the constant rates of the load, and the first and last rates of its
//! ramps.

use serde::Serialize;

use crate::Load;

const MOST: usize = 5;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RateColumn {
    /// Name of the column: a level such as `0.5x`, or a rate such as `20/s` in a plan without
    /// volumes.
    pub name: String,
    pub per_second: f64,
}

/// Returns the columns in ascending order, and the number of omitted columns. With volumes, 1x
/// always has a column.
pub(super) fn build(load: &Load, full: Option<f64>) -> (Vec<RateColumn>, usize) {
    let mut rates: Vec<f64> = full.into_iter().collect();
    if let Load::Open { phases, .. } = load {
        rates.extend(phases.iter().flat_map(|phase| {
            let (from, to) = phase.ends();
            [from, to]
        }));
    }
    rates.retain(|rate| *rate > 0.0);
    rates.sort_by(f64::total_cmp);
    // Equal levels may differ in their last digits if they are computed in different ways.
    rates.dedup_by(|a, b| (*a - *b).abs() <= 1e-9 * b.abs());
    let left_out = rates.len().saturating_sub(MOST);
    if left_out > 0 {
        rates = thinned(&rates, full);
    }
    let columns = rates.into_iter().map(|rate| RateColumn {
        name: match full {
            Some(full) => format!("{}x", digits(rate / full)),
            None => format!("{}/s", digits(rate)),
        },
        per_second: rate,
    });
    (columns.collect(), left_out)
}

/// Selects the lowest rate, the highest rate, 1x, and some rates in between.
fn thinned(rates: &[f64], full: Option<f64>) -> Vec<f64> {
    let last = rates.len() - 1;
    let mut chosen: Vec<usize> = (0..MOST).map(|i| i * last / (MOST - 1)).collect();
    let one = full.and_then(|full| {
        rates
            .iter()
            .position(|rate| (rate - full).abs() <= 1e-9 * full)
    });
    if let Some(one) = one.filter(|one| !chosen.contains(one)) {
        let nearest = (1..MOST - 1)
            .min_by_key(|i| chosen[*i].abs_diff(one))
            .unwrap_or(1);
        chosen[nearest] = one;
        chosen.sort_unstable();
    }
    chosen.into_iter().map(|i| rates[i]).collect()
}

fn digits(number: f64) -> f64 {
    let scale = if number.abs() < 1.0 { 1e4 } else { 1e3 };
    (number * scale).round() / scale
}
