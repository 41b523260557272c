//! Comparison of a stage with the earlier stage that had the same load. The difference is not
//! judged, because single runs prove nothing.

use record::units;
use serde::Serialize;

use super::{FinishedStage, StageOutcome, StageRow};
use analysis::{
    figures::Figure,
    summary::{Stats, Summary},
};

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub before: String,
    pub before_target: Option<String>,
    pub after: String,
    pub after_target: Option<String>,
    pub figures: Vec<Compared>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    pub name: &'static str,
    pub before: Option<String>,
    pub after: Option<String>,
    pub change: Option<String>,
}

type ShownFigure = (String, Option<f64>);
type NamedFigure = (&'static str, fn(&Summary, &StageRow) -> Option<ShownFigure>);

pub(super) fn compare_stages(stages: &[FinishedStage<'_>], rows: &[StageRow]) -> Vec<Comparison> {
    let ran = |number: usize| match &stages.get(number)?.outcome {
        StageOutcome::Ran { page, .. } => Some(MeasuredStage {
            summary: &page.summary,
            row: &rows[number],
        }),
        _ => None,
    };
    let pairs = rows.iter().enumerate().filter_map(|(number, row)| {
        let (before, after) = (ran(row.against?)?, ran(number)?);
        Some(Comparison {
            before: before.row.name.clone(),
            before_target: before.row.target.clone(),
            after: after.row.name.clone(),
            after_target: after.row.target.clone(),
            figures: figures(before, after),
        })
    });
    pairs.collect()
}

#[derive(Clone, Copy)]
struct MeasuredStage<'a> {
    summary: &'a Summary,
    row: &'a StageRow,
}

fn figures(before: MeasuredStage<'_>, after: MeasuredStage<'_>) -> Vec<Compared> {
    let rows: [NamedFigure; 9] = [
        ("Verdict", |_, row| {
            Some((row.verdict.word().to_owned(), None))
        }),
        ("Requests", |summary, _| {
            Some((
                units::count(summary.all.count),
                Some(summary.all.count as f64),
            ))
        }),
        ("Requests/s", |_, row| {
            let rate = row.requests_per_second?;
            Some((units::rate(rate), Some(rate)))
        }),
        ("Errors", |summary, _| {
            Some((units::share(summary.all.error_share?), None))
        }),
        ("p50", |summary, _| time(summary, |stats| &stats.p50)),
        ("p95", |summary, _| time(summary, |stats| &stats.p95)),
        ("p99", |summary, _| time(summary, |stats| &stats.p99)),
        ("Slowest", |summary, _| time(summary, |stats| &stats.max)),
        ("Saturated first", |_, row| {
            let saturation = row.saturation.as_ref()?;
            Some((
                match saturation
                    .first
                    .and_then(|first| saturation.reached.get(first))
                {
                    Some(first) => format!("{} ({})", first.resource, first.source),
                    None if saturation.reached.is_empty() => "nothing".to_owned(),
                    None => "unknown".to_owned(),
                },
                None,
            ))
        }),
    ];
    let compared = rows.into_iter().filter_map(|(name, of)| {
        let of = |stage: MeasuredStage<'_>| of(stage.summary, stage.row);
        let (before, after) = (of(before), of(after));
        if before.is_none() && after.is_none() {
            return None;
        }
        let numbers = before.as_ref().zip(after.as_ref());
        let change = numbers.and_then(|(before, after)| change(before.1?, after.1?));
        let text = |figure: Option<ShownFigure>| figure.map(|(text, _)| text);
        Some(Compared {
            name,
            before: text(before),
            after: text(after),
            change,
        })
    });
    compared.collect()
}

fn time(summary: &Summary, of: fn(&Stats) -> &Figure) -> Option<ShownFigure> {
    let figure = of(summary.headline_stats()?);
    let known = figure.ns.filter(|_| !figure.too_few);
    Some((figure.to_string(), known.map(|ns| ns as f64)))
}

/// Formats a change: `-92 %`, or `× 3.4` if it is at least a factor of two.
fn change(before: f64, after: f64) -> Option<String> {
    if before <= 0.0 {
        return None;
    }
    let times = after / before;
    let percent = (times - 1.0) * 100.0;
    Some(if times >= 2.0 {
        format!("× {times:.1}")
    } else if percent.abs() < 0.05 {
        "±0 %".to_owned()
    } else if percent.abs() < 10.0 || percent < -98.95 {
        format!("{percent:+.1} %").replace('-', "−")
    } else {
        format!("{percent:+.0} %").replace('-', "−")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_printed_as_percentage_or_factor() {
        assert_eq!(change(100.0, 8.0).as_deref(), Some("−92 %"));
        assert_eq!(change(1_560.0, 5.93).as_deref(), Some("−99.6 %"));
        assert_eq!(change(100.0, 104.0).as_deref(), Some("+4.0 %"));
        assert_eq!(change(100.0, 150.0).as_deref(), Some("+50 %"));
        assert_eq!(change(100.0, 340.0).as_deref(), Some("× 3.4"));
        assert_eq!(change(100.0, 100.01).as_deref(), Some("±0 %"));
        assert_eq!(change(0.0, 1.0), None);
    }
}
