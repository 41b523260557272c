//! Determines a clock offset from the correlation with the load. Returns `None` if several offsets
//! fit.

use super::table::{ExternalSample, MetricTable};

const FURTHEST_S: i128 = 600;
const FOLLOWS: f64 = 0.8;
const CLEARLY: f64 = 0.1;
const LEAST: usize = 8;
const MOST: f64 = 0.8;

const SECOND: i128 = 1_000_000_000;

#[derive(Debug)]
pub(super) struct ClockOffset {
    pub ns: i64,
    pub by: String,
}

pub(super) fn find(
    table: &MetricTable,
    load: &[f64],
    start_ns: i128,
) -> Result<ClockOffset, String> {
    let mut sums = vec![0.0];
    for here in load {
        sums.push(sums[sums.len() - 1] + here);
    }
    let mut best: Option<(f64, i128, usize)> = None;
    let mut reported: Vec<Vec<(i128, f64)>> = Vec::new();
    for (number, column) in table.columns.iter().enumerate() {
        let pairs = |offset: i128| -> Vec<(f64, f64)> {
            let zero = start_ns + offset * SECOND;
            let pair = |sample: &ExternalSample| {
                let load = mean(&sums, sample.from_wall_ns - zero, sample.at_wall_ns - zero)?;
                Some((load, sample.value))
            };
            column.samples.iter().filter_map(pair).collect()
        };
        let all: Vec<(i128, Vec<(f64, f64)>)> = (-FURTHEST_S..=FURTHEST_S)
            .map(|offset| (offset, pairs(offset)))
            .collect();
        let most = all.iter().map(|(_, pairs)| pairs.len()).max().unwrap_or(0);
        let enough = LEAST.max((most as f64 * MOST) as usize);
        let here: Vec<(i128, f64)> = all
            .into_iter()
            .filter(|(_, pairs)| pairs.len() >= enough)
            .filter_map(|(offset, pairs)| Some((offset, correlation(&pairs)?)))
            .collect();
        for (offset, r) in &here {
            if best.is_none_or(|(most, ..)| *r > most) {
                best = Some((*r, *offset, number));
            }
        }
        reported.push(here);
    }
    let unclear = "no clock offset fits clearly: set it with --clock-offset 2s";
    let (most, offset, number) = best.filter(|(r, ..)| *r >= FOLLOWS).ok_or(format!(
        "no column follows the load at any offset up to 10 min, so {unclear}"
    ))?;
    let column = &table.columns[number];
    let length = column
        .samples
        .iter()
        .map(|sample| (sample.at_wall_ns - sample.from_wall_ns) / SECOND)
        .max()
        .unwrap_or(1);
    let near = (2 * length).max(3);
    let rival = reported[number]
        .iter()
        .any(|(other, r)| (other - offset).abs() > near && *r > most - CLEARLY);
    if rival {
        return Err(format!(
            "\"{}\" follows the load equally well at other offsets, so {unclear}",
            column.name
        ));
    }
    Ok(ClockOffset {
        ns: i64::try_from(offset * SECOND).unwrap_or(0),
        by: column.name.clone(),
    })
}

fn mean(sums: &[f64], from_ns: i128, to_ns: i128) -> Option<f64> {
    let second = |ns: i128| usize::try_from((ns + SECOND / 2).div_euclid(SECOND)).ok();
    let (from, to) = (second(from_ns)?, second(to_ns)?);
    let many = to.checked_sub(from).filter(|many| *many > 0)?;
    Some((sums.get(to)? - sums.get(from)?) / many as f64)
}

fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let n = pairs.len() as f64;
    let (x, y) = pairs
        .iter()
        .fold((0.0, 0.0), |(x, y), pair| (x + pair.0, y + pair.1));
    let (x, y) = (x / n, y / n);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (a, b) in pairs {
        xx += (a - x).powi(2);
        yy += (b - y).powi(2);
        xy += (a - x) * (b - y);
    }
    let r = xy / (xx * yy).sqrt();
    r.is_finite().then_some(r)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{super::table::MetricColumn, *};

    const START: i128 = 1_700_000_000 * SECOND;

    fn spike() -> Vec<f64> {
        (0..180)
            .map(|second| {
                if (60..90).contains(&second) {
                    100.0
                } else {
                    20.0
                }
            })
            .collect()
    }

    fn following(load: &[f64], ahead: i128, every: usize) -> MetricTable {
        let samples = load.chunks(every).enumerate().map(|(number, chunk)| {
            let from = START + (ahead + (number * every) as i128) * SECOND;
            let mean = chunk.iter().sum::<f64>() / chunk.len() as f64;
            ExternalSample {
                from_wall_ns: from,
                at_wall_ns: from + every as i128 * SECOND,
                value: 5.0 + mean / 2.0 + (number % 3) as f64,
            }
        });
        let name = "cpu".to_owned();
        MetricTable {
            columns: vec![MetricColumn {
                name,
                instance: None,
                unit: String::new(),
                samples: samples.collect(),
            }],
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20))]
        #[test]
        fn a_clock_that_is_off_is_found(ahead in -60i128..60) {
            let load = spike();
            for every in [1, 5, 10] {
                let found = find(&following(&load, ahead, every), &load, START).unwrap();
                let wrong = i128::from(found.ns) - ahead * SECOND;
                prop_assert!(wrong.abs() <= every as i128 * SECOND, "{ahead}: {found:?}");
            }
        }
    }

    #[test]
    fn what_is_not_clear_is_refused() {
        let flat = vec![50.0; 120];
        let reason = find(&following(&flat, 0, 5), &flat, START).unwrap_err();
        assert!(reason.contains("no column follows the load"), "{reason}");
        let ramp: Vec<f64> = (0..180).map(f64::from).collect();
        let reason = find(&following(&ramp, 0, 5), &ramp, START).unwrap_err();
        assert!(reason.contains("equally well at other offsets"), "{reason}");
        let waves: Vec<f64> = (0..180)
            .map(|second| if second / 20 % 2 == 0 { 10.0 } else { 90.0 })
            .collect();
        assert!(find(&following(&waves, 0, 5), &waves, START).is_err());
    }
}
