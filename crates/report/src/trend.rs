//! Report of a metric over runs: a chart with levels and shifts, and a list of all runs.

use decisions::{
    compare::{FigureUnit, amount, value},
    run_index::{ExcludedRuns, MetricTrend, Shifted, TrendPoint},
};

use crate::{
    sheet::{Block, Sheet, SheetTable, VerdictBadge, VerdictTone},
    svg::{self, Axis, Chart, ChartCurve, DASHED, LINES},
};

#[must_use]
pub fn sheet(trend: &MetricTrend) -> Sheet {
    let chart = chart(trend);
    let title = format!("{} over {} runs", trend.subject, trend.values.len());
    let mut blocks = vec![
        Block::Title(title.clone()),
        Block::Verdict(Some(badge(trend)), trend.sentence.clone()),
    ];
    if let Some(advice) = &trend.advice {
        blocks.push(Block::Text(format!(
            "{}. To see what changed: {}",
            advice.text, advice.command
        )));
    }
    blocks.extend([Block::Heading("Over time"), Block::Chart(&chart)]);
    if !trend.shifts.is_empty() {
        blocks.push(Block::Heading("Shifts"));
        blocks.push(Block::Table(shifts(trend)));
    }
    blocks.push(Block::Text(trend.method.clone()));
    blocks.push(Block::Heading("Runs"));
    blocks.push(Block::Table(runs(trend.unit, trend.values.iter().rev())));
    if !trend.excluded.is_empty() {
        blocks.push(Block::Heading("Not counted"));
        blocks.push(Block::Text(
            "These runs are invalid, or cannot be compared with the newest valid run.".into(),
        ));
    }
    for apart in &trend.excluded {
        blocks.push(Block::Text(because(apart)));
        blocks.push(Block::Table(runs(trend.unit, apart.runs.iter().rev())));
    }
    Sheet::new(&title, &blocks, vec![chart.clone()])
}

fn badge(trend: &MetricTrend) -> VerdictBadge {
    let (word, tone) = match trend.shifts.last() {
        Some(last) if last.worse => ("WORSE", VerdictTone::Bad),
        Some(_) => ("BETTER", VerdictTone::Good),
        None if trend.can_show_shifts() => ("NO SHIFT", VerdictTone::Good),
        None => ("INCONCLUSIVE", VerdictTone::Unsure),
    };
    VerdictBadge { word, tone }
}

fn because(apart: &ExcludedRuns) -> String {
    let mut letters = apart.reason.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}:", first.unwrap_or_default(), letters.as_str())
}

fn shifts(trend: &MetricTrend) -> SheetTable {
    let mut table = SheetTable::new(&[
        "From run",
        "<After run",
        "Before",
        "After",
        "Change",
        "<",
        "p",
    ]);
    for changed in &trend.shifts {
        let cells = [
            changed.run.clone(),
            changed.last_run_before.clone(),
            value(trend.unit, changed.before),
            value(trend.unit, changed.after),
            signed(trend.unit, changed),
            if changed.worse { "worse" } else { "better" }.to_owned(),
            format!("{:.0e}", changed.p),
        ];
        table.row(cells, None);
    }
    table
}

fn signed(unit: FigureUnit, changed: &Shifted) -> String {
    let sign = if changed.change > 0.0 { "+" } else { "-" };
    format!("{sign}{}", amount(unit, changed.change))
}

fn runs<'a>(unit: FigureUnit, runs: impl Iterator<Item = &'a TrendPoint>) -> SheetTable {
    let mut table = SheetTable::new(&["Run", "<Began", "<Name", "<Tags", "<Revision", "Value"]);
    for run in runs {
        let cells = [
            run.run.clone(),
            run.began_utc.clone(),
            run.name.clone(),
            run.tags.join(", "),
            run.revision.clone().unwrap_or_default(),
            run.value
                .map_or_else(|| "–".to_owned(), |known| value(unit, known)),
        ];
        table.row(cells, None);
    }
    table
}

fn chart(trend: &MetricTrend) -> svg::File {
    let points = trend.values.iter().filter_map(|run| run.value);
    let points: Vec<f64> = points.map(|value| render(trend.unit, value)).collect();
    let numbered = points.iter().zip(1u32..);
    let numbered = numbered.map(|(value, run)| (f64::from(run), Some(*value)));
    let low = points.iter().copied().fold(f64::INFINITY, f64::min);
    let high = points.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let air = ((high - low) * 0.1).max(high.abs() * 0.01);
    let values = ChartCurve {
        name: trend.subject.clone(),
        colour: LINES[0].0,
        dashes: LINES[0].1,
        filled: false,
        points: numbered.collect(),
    };
    let level = ChartCurve {
        name: "level".to_owned(),
        colour: LINES[1].0,
        dashes: DASHED,
        filled: false,
        points: levels(trend),
    };
    let marks = trend.shifts.iter().map(|changed| {
        let mark = signed(trend.unit, changed);
        (changed.at as f64 + 1.0, mark)
    });
    let unit = match trend.unit {
        FigureUnit::Nanoseconds => svg::AxisUnit::Time,
        FigureUnit::Share | FigureUnit::PerSecond => svg::AxisUnit::Number,
    };
    let chart = Chart {
        title: trend.subject.clone(),
        y_title: match trend.unit {
            FigureUnit::Nanoseconds => "time",
            FigureUnit::Share => "% of requests",
            FigureUnit::PerSecond => "per second",
        },
        x_title: "run, oldest first",
        x: Axis::exactly(1.0, points.len() as f64, svg::AxisUnit::Number),
        y: Axis::exactly((low - air).max(0.0), high + air, unit),
        marks: marks.collect(),
        curves: if trend.shifts.is_empty() {
            vec![values]
        } else {
            vec![values, level]
        },
        shades: Vec::new(),
    };
    svg::File {
        name: "history.svg".to_owned(),
        description: format!(
            "{} over {} runs: {}",
            trend.subject,
            points.len(),
            trend.sentence
        ),
        text: chart.draw(),
    }
}

fn levels(trend: &MetricTrend) -> Vec<(f64, Option<f64>)> {
    let mut points = Vec::new();
    let mut begin = 0;
    for (i, changed) in trend.shifts.iter().enumerate() {
        let before = Some(render(trend.unit, changed.before));
        points.extend([(begin as f64 + 1.0, before), (changed.at as f64, before)]);
        points.push((changed.at as f64 + 0.5, None));
        begin = changed.at;
        if i + 1 == trend.shifts.len() {
            let after = Some(render(trend.unit, changed.after));
            let end = trend.values.len() as f64;
            points.extend([(begin as f64 + 1.0, after), (end, after)]);
        }
    }
    points
}

fn render(unit: FigureUnit, value: f64) -> f64 {
    match unit {
        FigureUnit::Share => value * 100.0,
        FigureUnit::Nanoseconds | FigureUnit::PerSecond => value,
    }
}
