//! A metric over runs in the terminal: a dot chart, shifts, and excluded runs.

use decisions::{
    compare::value,
    run_index::{ExcludedRuns, MetricTrend, Shifted},
};

use super::text::{Columns, cut, wrap};

const HEIGHT: usize = 10;
const WIDEST: usize = 3;
const MOST_NAMED: usize = 3;

#[must_use]
pub fn trend_in(trend: &MetricTrend, columns: Columns) -> String {
    let mut text = format!("\n{}\n\n{}\n\n", trend.subject, chart(trend, columns));
    for (number, changed) in trend.shifts.iter().enumerate() {
        text += &wrap(&describe(trend, number + 1, changed), 2, columns);
        text.push('\n');
    }
    for apart in &trend.excluded {
        text += &wrap(&apart_in(apart), 2, columns);
        text.push('\n');
    }
    if !(trend.shifts.is_empty() && trend.excluded.is_empty()) {
        text.push('\n');
    }
    text += &wrap(&trend.sentence, 0, columns);
    text.push('\n');
    if let Some(advice) = &trend.advice {
        text += &wrap(
            &format!("{}. To see what changed:", advice.text),
            0,
            columns,
        );
        // Do not wrap this line, so that the command can be copied.
        text += &format!("\n  {}\n", advice.command);
    }
    text
}

/// Draws one dot per run, from the oldest on the left. Several runs may share a column. Numbers
/// below the dots mark changes.
fn chart(trend: &MetricTrend, columns: Columns) -> String {
    let values: Vec<f64> = trend.values.iter().filter_map(|run| run.value).collect();
    let (low, high) = range(&values);
    let [top, bottom] = [high, low].map(|end| value(trend.unit, end));
    let margin = top.chars().count().max(bottom.chars().count());
    let room = columns.count().saturating_sub(margin + 2);
    let runs = values.len().max(1);
    let apart = (room / runs).clamp(1, WIDEST);
    let width = room.min(runs * apart);
    let column = |run: usize| run * width / runs;
    let row = |value: f64| {
        let share = if high > low {
            (value - low) / (high - low)
        } else {
            0.5
        };
        (share * (HEIGHT - 1) as f64).round() as usize
    };
    let mut cells = vec![vec![' '; width]; HEIGHT];
    for changed in &trend.shifts {
        for line in &mut cells {
            line[column(changed.at)] = '┊';
        }
    }
    for (run, value) in values.iter().enumerate() {
        cells[row(*value).min(HEIGHT - 1)][column(run)] = '•';
    }
    let mut lines: Vec<String> = Vec::new();
    for (at, line) in cells.iter().enumerate().rev() {
        let axis = match at {
            0 => bottom.as_str(),
            at if at + 1 == HEIGHT => top.as_str(),
            _ => "",
        };
        let line: String = line.iter().collect();
        lines.push(format!("{axis:>margin$} │{}", line.trim_end()));
    }
    lines.push(format!("{:margin$} └{}", "", "─".repeat(width)));
    if !trend.shifts.is_empty() {
        let mut marks = vec![' '; width];
        for (number, changed) in trend.shifts.iter().enumerate() {
            marks[column(changed.at)] = u32::try_from(number + 1)
                .ok()
                .and_then(|number| char::from_digit(number, 10))
                .unwrap_or('+');
        }
        let marks: String = marks.into_iter().collect();
        lines.push(format!("{:margin$}  {}", "", marks.trim_end()));
    }
    lines.join("\n")
}

fn range(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (low.min(high), high)
}

fn describe(trend: &MetricTrend, number: usize, changed: &Shifted) -> String {
    let sign = if changed.change > 0.0 { "+" } else { "-" };
    let by = decisions::compare::amount(trend.unit, changed.change);
    let sense = if changed.worse { "worse" } else { "better" };
    let of = |run: &str| {
        let mut runs = trend.values.iter();
        let reported = runs.find(|value| value.run == run);
        let revision = reported.and_then(|reported| reported.revision.as_deref());
        revision.map_or_else(
            || run.to_owned(),
            |revision| {
                let short: String = revision.chars().take(7).collect();
                format!("{run} (git {short})")
            },
        )
    };
    format!(
        "{number}  {sign}{by}, {sense}: {} → {} from {} on, after {}",
        value(trend.unit, changed.before),
        value(trend.unit, changed.after),
        of(&changed.run),
        of(&changed.last_run_before)
    )
}

fn apart_in(apart: &ExcludedRuns) -> String {
    let named = apart.runs.iter().rev().take(MOST_NAMED);
    let named: Vec<&str> = named.map(|run| run.run.as_str()).collect();
    let more = apart.runs.len().saturating_sub(MOST_NAMED);
    let more = match more {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let runs = match apart.runs.len() {
        1 => "1 run".to_owned(),
        n => format!("{n} runs"),
    };
    format!(
        "not counted: {runs}, {}: {}{more}",
        cut(&apart.reason, 200),
        named.join(", ")
    )
}
