//! Terminal output of a comparison.

use decisions::compare::{Comparison, FigureOutcome, Method, change, middle, value};

use super::text::{Columns, cut, wrap};
use crate::printable;

const LONGEST: usize = 40;
const MOST_CUSTOM: usize = 8;

#[must_use]
pub fn comparison_in(comparison: &Comparison, columns: Columns) -> String {
    let rows = comparison.judged.iter().map(|compared| {
        let name = format!("{} ", cut(&compared.subject, LONGEST));
        let change = compared
            .change
            .as_ref()
            .map_or_else(String::new, |known| change(compared.unit, known));
        (name, change, &compared.text)
    });
    let rows: Vec<(String, String, &String)> = rows.collect();
    let widest =
        |of: fn(&(String, String, &String)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let names = widest(|(name, _, _)| name.chars().count());
    let changes = widest(|(_, change, _)| change.chars().count());
    let mut text = String::from("\n");
    for (name, change, what) in &rows {
        let begin = format!("{name:<names$} {change:<changes$}   ");
        let one = format!("{begin}{what}");
        if one.chars().count() <= columns.count() {
            text += one.trim_end();
        } else {
            text += begin.trim_end();
            text.push('\n');
            text += &format!("  {}", wrap(what, 2, columns));
        }
        text.push('\n');
    }
    text += &wrap(&sides(comparison), 2, columns);
    text.push('\n');
    if !comparison.custom.is_empty() {
        text += &wrap(&custom(comparison), 2, columns);
        text.push('\n');
    }
    for note in &comparison.notes {
        text += &wrap(&format!("Note: {note}"), 6, columns);
        text.push('\n');
    }
    text.push('\n');
    text += &wrap(
        &format!("{}{}", word(comparison), comparison.sentence),
        0,
        columns,
    );
    text.push('\n');
    text
}

fn custom(comparison: &Comparison) -> String {
    let all = &comparison.custom;
    let shown = all.iter().take(MOST_CUSTOM);
    let shown = shown.map(|one| format!("{} {}", printable::name(&one.figure), one.text()));
    let more = all.len().saturating_sub(MOST_CUSTOM);
    let more = (more > 0).then(|| format!("{more} more in the report"));
    let texts: Vec<String> = shown.chain(more).collect();
    format!("Custom metrics (not judged): {}", texts.join(", "))
}

fn sides(comparison: &Comparison) -> String {
    let of = |values: &[Option<f64>], unit| {
        middle(values).map_or_else(|| "–".to_owned(), |middle| value(unit, middle))
    };
    let figures = comparison.judged.iter().map(|compared| {
        format!(
            "{} {} → {}",
            compared.subject,
            of(&compared.baseline, compared.unit),
            of(&compared.candidate, compared.unit)
        )
    });
    let figures: Vec<String> = figures.collect();
    let (baseline, candidate) = (&comparison.baseline, &comparison.candidate);
    format!(
        "{} ({}) → {} ({}): {}",
        baseline.name,
        baseline.runs.len(),
        candidate.name,
        candidate.runs.len(),
        figures.join(", ")
    )
}

fn word(comparison: &Comparison) -> &'static str {
    if comparison.method != Method::Groups {
        return "";
    }
    match comparison.verdict {
        FigureOutcome::Regressed => "REGRESSED  ",
        FigureOutcome::Inconclusive => "INCONCLUSIVE  ",
        FigureOutcome::NoRegression | FigureOutcome::Improved => "PASS  ",
    }
}
