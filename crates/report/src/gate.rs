//! Output of a gate for the console, and as a short Markdown comment.

use analysis::verdict::Judgement;
use decisions::{
    compare::{Comparison, change, middle, value},
    gate::{Criterion, Gate, GateRun},
};

use crate::markdown::table::{MarkdownTable, escaped};

const REVISION: usize = 7;
const MOST_NOTES: usize = 5;

#[must_use]
pub fn console(gate: &Gate) -> String {
    let mut lines: Vec<String> = Vec::new();
    for criterion in &gate.criteria {
        lines.push(format!(
            "{}  {}",
            word(criterion),
            of_criterion(criterion, gate)
        ));
    }
    lines.extend(
        gate.incompatibilities
            .iter()
            .map(|reason| format!("not compared: {reason}")),
    );
    if let Some(saved) = &gate.saved {
        lines.push(format!("these runs are the new baseline `{saved}`"));
    }
    let blank = if lines.is_empty() { "" } else { "\n" };
    lines.push(format!(
        "{blank}gate: {}  {}",
        gate.verdict.word(),
        gate.sentence
    ));
    lines.join("\n") + "\n"
}

#[must_use]
pub fn made(run: &GateRun) -> String {
    let measurement = run.measurement.as_deref().unwrap_or("nothing measured");
    let criteria = run.criteria.map_or("", |criteria| match criteria {
        Judgement::Pass => ", criteria PASS",
        Judgement::Fail => ", criteria FAIL",
        Judgement::Inconclusive => ", criteria INCONCLUSIVE",
    });
    let ended = run.ended_by.as_ref();
    let ended = ended.map_or_else(String::new, |by| format!(", ended early: {by}"));
    format!("{}: {measurement}{criteria}{ended}", run.run)
}

#[must_use]
pub fn markdown(gate: &Gate) -> String {
    let mut blocks = vec![format!(
        "### {} – {}",
        gate.verdict.word(),
        escaped(&gate.sentence)
    )];
    if let Some(comparison) = &gate.comparison {
        blocks.push(table(comparison));
    }
    if !gate.criteria.is_empty() {
        let criteria = gate.criteria.iter().map(|criterion| {
            let what = escaped(&of_criterion(criterion, gate));
            format!("- {} {what}", word(criterion))
        });
        blocks.push(criteria.collect::<Vec<_>>().join("\n"));
    }
    blocks.push(compared(gate));
    let notes = gate
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.notes);
    let notes: Vec<String> = notes
        .take(MOST_NOTES)
        .map(|note| format!("- {}", escaped(note)))
        .collect();
    if !notes.is_empty() {
        blocks.push(notes.join("\n"));
    }
    blocks.join("\n\n") + "\n"
}

fn table(comparison: &Comparison) -> String {
    let mut table = MarkdownTable::new(&["Figure", "Baseline", "Now", "Change", "<"]);
    for compared in &comparison.judged {
        let of = |values: &[Option<f64>]| {
            middle(values).map_or_else(|| "–".to_owned(), |known| value(compared.unit, known))
        };
        table.row([
            compared.subject.clone(),
            of(&compared.baseline),
            of(&compared.candidate),
            compared
                .change
                .as_ref()
                .map_or_else(|| "–".to_owned(), |known| change(compared.unit, known)),
            compared.text.clone(),
        ]);
    }
    table.to_string().trim_end().to_owned()
}

fn compared(gate: &Gate) -> String {
    let revisions = |mut all: Vec<String>| {
        all.dedup();
        match all.as_slice() {
            [] => String::new(),
            all => format!(" ({})", all.join(", ")),
        }
    };
    let short = |revision: &String| -> String { revision.chars().take(REVISION).collect() };
    let now = gate.runs.iter().filter_map(|run| run.revision.as_ref());
    let now = revisions(now.map(short).collect());
    let load = gate.runs.first();
    let load = load.map_or_else(String::new, |run| format!(" ({})", run.load));
    let count = |n: usize| {
        if n == 1 {
            "1 run".to_owned()
        } else {
            format!("{n} runs")
        }
    };
    let against = gate.comparison.as_ref().map(|comparison| {
        format!(
            " against {} of `{}`. Changes below {} do not count as a regression",
            comparison.baseline.runs.len(),
            comparison.baseline.name,
            comparison.margins
        )
    });
    format!(
        "{} of `{}`{now}{load}{}.",
        count(gate.runs.len()),
        gate.test,
        against.unwrap_or_default()
    )
}

fn word(criterion: &Criterion) -> &'static str {
    match criterion.judgement {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    }
}

fn of_criterion(criterion: &Criterion, gate: &Gate) -> String {
    let measured = criterion.measured.as_ref();
    let measured = measured.map_or_else(String::new, |value| format!(", measured {value}"));
    let runs = gate.runs.len();
    match criterion.runs {
        all if all == runs => format!("{}{measured}", criterion.text),
        some => format!("{} in {some} of {runs} runs{measured}", criterion.text),
    }
}
