//! Tests the detection of shifts in simulated histories.

use plan::rng::{Purpose, Rng};
use statistics::change_points;

use super::super::{Assertion, Depth};

const MARGIN: f64 = decisions::run_index::MARGIN;

pub fn shifts(_: Depth) -> Result<Vec<Assertion>, String> {
    let of_step = 0..200u64;
    let (all, mut near) = (of_step.clone().count(), 0);
    for seed in of_step {
        let points = change_points(&history(seed, 60, Some(40)), MARGIN.ln_1p());
        near += usize::from(points.iter().any(|point| point.at.abs_diff(40) <= 1));
    }
    let flat = (0..20u64).map(|i| history(1_000_000 + i, 100, None));
    let of_alike = 0..200u64;
    let alike_runs = of_alike.clone().count();
    let alike = of_alike.filter(|seed| {
        let series = correlated(2_000_000 + seed, 60, 0.6);
        !change_points(&series, MARGIN.ln_1p()).is_empty()
    });
    let alike = alike.count();
    let points: usize = flat
        .map(|series| change_points(&series, MARGIN.ln_1p()).len())
        .sum();
    Ok(vec![
        Assertion {
            what: "+7 % at run 40 of 60, found at 40 ± 1".into(),
            expected: "≥ 95 %".into(),
            measured: format!("{near} of {all}"),
            holds: near * 100 >= all * 95,
        },
        Assertion {
            what: "shifts found in 20 flat histories of 100 runs".into(),
            expected: "≤ 1".into(),
            measured: points.to_string(),
            holds: points <= 1,
        },
        Assertion {
            what: "flat histories of 60 runs with a shift found, neighbours correlated at 0.6"
                .into(),
            expected: "≤ 5 %".into(),
            measured: format!("{alike} of {alike_runs}"),
            holds: alike * 100 <= alike_runs * 5,
        },
    ])
}

/// Returns logarithms that vary by 2 % and are 7 % higher from `step` on.
fn history(seed: u64, runs: usize, step: Option<usize>) -> Vec<f64> {
    let mut random = Rng::keyed(seed, Purpose::Sampling, 0, 0);
    let mut normal = || (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
    let values = (0..runs).map(|run| {
        let by = step.map_or(0.0, |at| if run >= at { 0.07 } else { 0.0 });
        ((1.0 + by) * (1.0 + 0.02 * normal())).ln()
    });
    values.collect()
}

fn correlated(seed: u64, runs: usize, memory: f64) -> Vec<f64> {
    let mut value = 0.0;
    let values = history(seed, runs + 50, None).into_iter().map(|new| {
        value = memory * value + new;
        value
    });
    values.skip(50).collect()
}
