//! Finds runs and periods that are outliers. Outliers are reported but not excluded.

use measure::{TimeKind, TimeSpan};
use plan::criteria::SpanFilter;
use record::units;
use statistics::{median, outliers};

use super::{ComparedRun, Side, figure};
use analysis::figures::Sampled;

const MOST: f64 = 1.0 / 3.0;
const MUCH: f64 = 2.0;

pub(super) fn find(baseline: &Side, candidate: &Side) -> Vec<String> {
    let mut reported = Vec::new();
    for side in [baseline, candidate] {
        if side.runs.len() == 1 {
            let alone = side.runs.iter();
            reported.extend(
                alone.filter_map(|run| {
                    stretch(run).map(|stretch| format!("{}: {stretch}", run.name))
                }),
            );
            continue;
        }
        let subject = figure::of_time(SpanFilter::Response, 0.99, None);
        let values = side.runs.iter().map(|run| subject.value(run));
        let Some(values) = values.collect::<Option<Vec<f64>>>() else {
            continue;
        };
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let odd = outliers(&logarithms);
        let others: Vec<f64> = values
            .iter()
            .enumerate()
            .filter(|(at, _)| !odd.contains(at))
            .map(|(_, value)| *value)
            .collect();
        for at in odd {
            let (run, value) = (&side.runs[at], values[at]);
            let Some(usual) = median(&others) else {
                continue;
            };
            let stretch = stretch(run).map_or_else(String::new, |stretch| format!("; {stretch}"));
            reported.push(format!(
"{} of {} differs from the other runs in its group: {} {}, the others about {}{stretch}",
run.name,
side.name,
subject.text,
units::time(value as u64),
units::time(usual as u64)
));
        }
    }
    reported
}

fn stretch(entrant: &ComparedRun) -> Option<String> {
    let run = entrant.run.as_ref()?;
    let kind = if entrant.summary.all.response.is_some() {
        TimeKind::Response
    } else {
        TimeKind::Service
    };
    let points = run.totals.history.all.points().filter_map(|(_, point)| {
        let ns = Sampled::from_totals(&point.part, kind).quantile(0.5)?;
        Some((point.span, ns.ns.or(ns.at_least_ns)?.max(1) as f64))
    });
    let points: Vec<(TimeSpan, f64)> = points.collect();
    let logarithms: Vec<f64> = points.iter().map(|(_, ns)| ns.ln()).collect();
    let odd = outliers(&logarithms);
    if odd.is_empty() || odd.len() as f64 > MOST * points.len() as f64 {
        return None;
    }
    let usual = median(&points.iter().map(|(_, ns)| *ns).collect::<Vec<_>>())?;
    let longest = odd
        .chunk_by(|a, b| a + 1 == *b)
        .max_by_key(|stretch| stretch.len())?;
    let (first, last) = (points[*longest.first()?], points[*longest.last()?]);
    let inside: Vec<f64> = longest.iter().map(|at| points[*at].1).collect();
    let there = median(&inside)?;
    if (there / usual).max(usual / there) < MUCH {
        return None;
    }
    Some(format!(
        "from {} to {} the run differed from its other parts: half of the requests took at most {}, otherwise {}",
        units::moment(first.0.from_ns),
        units::moment(last.0.to_ns),
        units::time(there as u64),
        units::time(usual as u64)
    ))
}
