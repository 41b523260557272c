//! Evaluation of criteria on custom metrics, which a script reports by name.

use measure::{
    TimeKind,
    confidence::{self, Standing},
    custom::{CustomKind, CustomMetric, OTHER_NAMES, ValueHistogram},
    label,
};
use plan::{
    Criterion,
    criteria::Stat,
    units::{MILLISECOND, Quantity},
};
use record::{Run, units};

use super::bound::{Measured, bound};
use crate::figures::{Sampled, sum_per_second};

const NAMES: usize = 8;

/// Measures the value of a criterion: of a histogram if the criterion names a statistic, otherwise
/// of a sum or a rate.
pub(super) fn measure(
    run: &Run,
    name: &str,
    stat: Option<Stat>,
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    match stat {
        Some(stat) => histogram(run, name, stat, criterion),
        None => number(run, name, criterion, elapsed_ns),
    }
}

fn find<'a>(run: &'a Run, kinds: &[CustomKind], name: &str) -> Option<&'a CustomMetric> {
    let metrics = &run.totals.custom.metrics;
    let mut kinds = kinds.iter();
    kinds.find_map(|kind| metrics.get(&(*kind, name.to_owned())))
}

const DISTRIBUTIONS: [CustomKind; 2] = [CustomKind::Histogram, CustomKind::Gauge];
const SHARES: [CustomKind; 2] = [CustomKind::Share, CustomKind::Check];
const NUMBERS: [CustomKind; 4] = [
    CustomKind::Counter,
    CustomKind::Rate,
    CustomKind::Error,
    CustomKind::Sum,
];

fn number(
    run: &Run,
    name: &str,
    criterion: &Criterion,
    elapsed_ns: u64,
) -> Result<Measured, String> {
    let Some(metric) = find(run, &NUMBERS, name) else {
        return Err(if find(run, &DISTRIBUTIONS, name).is_some() {
            format!("`{name}` has values: add p95, mean or max after its name")
        } else if find(run, &SHARES, name).is_some() {
            format!("`{name}` is a share: add `mean` after its name, which is from 0 to 1")
        } else {
            missing(run, name)
        });
    };
    // Of these metrics, only sums have values.
    let (sum, total) = match metric.values.count() {
        0 => (metric.count as f64, units::count(metric.count)),
        _ => (metric.values.sum(), units::figure(metric.values.sum(), "")),
    };
    let (value, text) = match criterion.value {
        Quantity::PerSecond(_) => {
            let rate = sum_per_second(sum, elapsed_ns);
            (rate, format!("{}/s", units::rate(rate)))
        }
        _ => (sum, total),
    };
    Ok(Measured {
        value: Some(value),
        bound: bound(criterion),
        text,
        certain: true,
        reason: None,
    })
}

fn histogram(run: &Run, name: &str, stat: Stat, criterion: &Criterion) -> Result<Measured, String> {
    let shares = if stat == Stat::Mean { &SHARES[..] } else { &[] };
    let metric = find(run, &DISTRIBUTIONS, name).or_else(|| find(run, shares, name));
    let Some(metric) = metric else {
        if find(run, &SHARES, name).is_some() {
            return Err(format!("`{name}` is a share: only its mean can be judged"));
        }
        return Err(match find(run, &NUMBERS, name) {
            Some(_) => format!("`{name}` has no values: remove the statistic after its name"),
            None => missing(run, name),
        });
    };
    let values = &metric.values;
    let value = match stat {
        Stat::Mean => values.mean(),
        Stat::Max => Some(values.max()),
        Stat::Quantile(q) => values.quantile(q),
    };
    // If the bound is a time, the metric is in milliseconds, as in Artillery's scripts.
    let bound = match criterion.value {
        Quantity::Duration(ns) => ns as f64 / MILLISECOND as f64,
        _ => bound(criterion),
    };
    let is_open = match stat {
        Stat::Quantile(q) => !is_decided(run, values, q, bound),
        Stat::Mean | Stat::Max => false,
    };
    Ok(Measured {
        value,
        bound,
        text: units::figure(value.unwrap_or_default(), ""),
        certain: !is_open,
        reason: is_open.then(|| {
            format!(
                "{} values are too few for a decision with 99 % confidence",
                units::count(values.count())
            )
        }),
    })
}

/// Returns whether the values decide the criterion. Assumes that they are as correlated as response
/// times.
fn is_decided(run: &Run, values: &ValueHistogram, q: f64, bound: f64) -> bool {
    let all = run.totals.label(label::ALL);
    let times = Sampled::from_totals(&all, TimeKind::Response).into_times();
    let inflation = times.answered.quantile(q).map_or(1.0, |x| {
        let is_all = |id| id == label::ALL;
        run.totals.inflation(TimeKind::Response, q, x, None, is_all)
    });
    confidence::standing(values.count(), values.above(bound), inflation, q) != Standing::Open
}

fn missing(run: &Run, name: &str) -> String {
    let names = run.totals.custom.metrics.keys();
    let names = names.map(|(_, name)| name.as_str());
    let mut names: Vec<&str> = names.filter(|name| *name != OTHER_NAMES).collect();
    names.dedup();
    let known = match names.as_slice() {
        [] => "it reported none".to_owned(),
        names => format!("it reported {}", names[..names.len().min(NAMES)].join(", ")),
    };
    format!("the script did not report `{name}` ({known}); report a counter with 0 to count none")
}
