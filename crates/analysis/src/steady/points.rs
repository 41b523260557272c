//! Converts the points of a period to numbers: median and p99 of the headline time, and share of
//! errors. Merges points with few samples.

use measure::{TimeKind, TimeSpan};
use plan::units::{MILLISECOND, SECOND};
use record::LabelTotals;
use statistics::ENOUGH_VALUES;

use crate::{figures::Sampled, moments::Moment};

const FOR_A_MEDIAN: u64 = 10;
const FOR_A_P99: u64 = 50;
const MOST: usize = 240;
const MAY_BE_POOR: usize = 10;
const LEAST_NS: u64 = 1_000;

pub(super) struct FigureSeries {
    pub name: &'static str,
    pub values: Vec<f64>,
    pub matters: f64,
}

pub(super) struct SegmentPoints {
    pub spans: Vec<TimeSpan>,
    pub lines: Vec<FigureSeries>,
}

pub(super) fn collect(
    moments: &[&Moment],
    length_ns: u64,
    kind: TimeKind,
) -> Result<SegmentPoints, String> {
    let most = moments.len() / ENOUGH_VALUES;
    if most == 0 {
        return Err(too_short(moments, length_ns));
    }
    let least = moments.len().div_ceil(MOST);
    (least..=most)
        .find_map(|width| points(moments, kind, width))
        .ok_or_else(|| "too few requests were answered to see changes over time".into())
}

fn too_short(moments: &[&Moment], length_ns: u64) -> String {
    let width = moments.iter().map(|moment| moment.length_ns()).max();
    let needed = width.unwrap_or(SECOND).max(SECOND) * ENOUGH_VALUES as u64;
    format!(
        "the load was constant for only {}; at least {} of constant load is needed",
        record::units::duration(length_ns / MILLISECOND * MILLISECOND),
        record::units::duration(needed)
    )
}

/// Merges groups of `width` moments into points. Returns `None` if too many points have too few
/// samples.
fn points(moments: &[&Moment], kind: TimeKind, width: usize) -> Option<SegmentPoints> {
    let (mut spans, mut counts, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let mut times: [Vec<Option<u64>>; 2] = [Vec::new(), Vec::new()];
    for chunk in moments.chunks_exact(width) {
        let mut part = LabelTotals::default();
        let mut all = LabelTotals::default();
        for moment in chunk {
            part.slot.add(&moment.part(kind).slot);
            all.slot.counters.add(&moment.all.slot.counters);
        }
        let sampled = Sampled::from_totals(&part, kind);
        let counters = &all.slot.counters;
        spans.push(TimeSpan::new(
            chunk.first()?.span.from_ns,
            chunk.last()?.span.to_ns,
        ));
        counts.push(sampled.count());
        errors.push(counters.errors() as f64 / counters.ended().max(1) as f64);
        for (line, q) in times.iter_mut().zip([0.5, 0.99]) {
            let figure = sampled.quantile(q);
            line.push(figure.and_then(|figure| figure.ns.or(figure.at_least_ns)));
        }
    }
    let n = counts.len();
    let enough = |least: u64| {
        let poor = counts.iter().filter(|count| **count < least).count();
        n >= ENOUGH_VALUES && poor * 100 <= MAY_BE_POOR * n
    };
    if !enough(FOR_A_MEDIAN) {
        return None;
    }
    let [p50, p99] = times.map(|line| filled(&line));
    let mut lines = vec![FigureSeries::of_times("p50", p50?, 0.1, 50_000.0)];
    if let Some(p99) = p99.filter(|_| enough(FOR_A_P99)) {
        lines.push(FigureSeries::of_times("p99", p99, 0.25, 200_000.0));
    }
    lines.push(FigureSeries {
        name: "errors",
        values: errors,
        matters: 0.02,
    });
    Some(SegmentPoints { spans, lines })
}

/// Fills gaps with the previous value. Returns `None` if there are too many gaps.
fn filled(line: &[Option<u64>]) -> Option<Vec<u64>> {
    let unknown = line.iter().filter(|value| value.is_none()).count();
    if unknown * 100 > MAY_BE_POOR * line.len() {
        return None;
    }
    let mut last = line.iter().flatten().next().copied()?;
    let known = line.iter().map(|value| {
        last = value.unwrap_or(last);
        last
    });
    Some(known.collect())
}

impl FigureSeries {
    /// Creates the series of a time. A difference matters if it exceeds `share` and, for very short
    /// times, `least_ns`.
    fn of_times(name: &'static str, ns: Vec<u64>, share: f64, least_ns: f64) -> FigureSeries {
        let logarithm = |ns: u64| (ns.max(LEAST_NS) as f64).ln();
        let values: Vec<f64> = ns.into_iter().map(logarithm).collect();
        let usual = statistics::median(&values).map_or(1.0, f64::exp);
        FigureSeries {
            name,
            values,
            matters: (1.0 + share).ln().max((least_ns / usual).ln_1p()),
        }
    }
}
