//! The report of a gate: for the console, as a page, and as a short Markdown comment.

use analysis::verdict::Judgement;
use decisions::{
    compare::{Comparison, change, middle, value},
    gate::{Criterion, Gate, GateRun, GateVerdict},
};
use record::units;

use crate::{
    compare,
    markdown::table::{MarkdownTable, escaped},
    sheet::{Block, Brief, Sheet, SheetTable, VerdictBadge, VerdictTone},
};

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

/// Renders the page and the full Markdown report.
#[must_use]
pub fn sheet(gate: &Gate) -> Sheet {
    let charts = gate.comparison.as_ref().map(compare::draw);
    let charts = charts.unwrap_or_default();
    let title = format!("Gate: {}", gate.test);
    let mut blocks = vec![Block::Title(title.clone()), Block::Brief(brief(gate))];
    let comparison = gate.comparison.iter();
    let notes: Vec<String> = comparison
        .flat_map(|one| one.notes.iter().cloned())
        .collect();
    if !notes.is_empty() {
        blocks.push(Block::List(notes));
    }
    blocks.push(Block::Heading("Runs of the gate"));
    blocks.push(Block::Table(runs(gate)));
    if !gate.criteria.is_empty() {
        blocks.push(Block::Heading("Criteria"));
        blocks.push(Block::Table(criteria(gate)));
    }
    if let Some(comparison) = &gate.comparison {
        blocks.extend(compare::details(comparison, &charts));
    }
    Sheet::new(&title, &blocks, charts.clone())
}

fn brief(gate: &Gate) -> Brief {
    let criteria = match gate.criteria.len() {
        0 => None,
        1 => Some("does its criterion hold".to_owned()),
        _ => Some("do its criteria hold".to_owned()),
    };
    let worse = gate.baseline.as_ref();
    let worse = worse.map(|baseline| format!("is it no worse than the baseline `{baseline}`"));
    let asked: Vec<String> = criteria.into_iter().chain(worse).collect();
    let question = match asked.as_slice() {
        [] => "Can these runs be a baseline?".to_owned(),
        asked => format!("Of `{}`: {}?", gate.test, asked.join(", and ")),
    };
    let advice = gate.saved.as_ref();
    let advice = advice.map(|name| {
        format!(
            "Compare later runs with `--baseline {name}`: these runs are stored under that name."
        )
    });
    Brief {
        verdict: Some(badge(gate.verdict)),
        question,
        sentence: format!("{}.", upper(&gate.sentence)),
        cause: None,
        advice: advice
            .into_iter()
            .chain(advice_for(gate.verdict).map(ToOwned::to_owned))
            .collect(),
        certainty: match gate.verdict {
            GateVerdict::Invalid => {
                "None: the load generator disturbed the measurement.".to_owned()
            }
            _ => format!("Judged from {}", compared(gate)),
        },
    }
}

fn badge(verdict: GateVerdict) -> VerdictBadge {
    VerdictBadge {
        word: verdict.word(),
        tone: match verdict {
            GateVerdict::Passed => VerdictTone::Good,
            GateVerdict::Failed | GateVerdict::Invalid | GateVerdict::Unanswered => {
                VerdictTone::Bad
            }
            GateVerdict::Inconclusive | GateVerdict::Incomparable => VerdictTone::Unsure,
        },
    }
}

/// Returns the next steps after a gate. `None` if it passed.
fn advice_for(verdict: GateVerdict) -> Option<&'static str> {
    match verdict {
        GateVerdict::Passed => None,
        GateVerdict::Failed => Some(
            "Find the change that caused it, or save a new baseline if the change is intended.",
        ),
        GateVerdict::Inconclusive => Some("Make more or longer runs (`--runs-each`)."),
        GateVerdict::Invalid => Some("Repeat the gate with a load generator that keeps up."),
        GateVerdict::Incomparable => {
            Some("Save a new baseline of runs with this plan, load and machine.")
        }
        GateVerdict::Unanswered => Some("Check the address and whether the service runs."),
    }
}

fn upper(text: &str) -> String {
    let mut letters = text.trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| {
        format!("{}{}", first.to_uppercase(), letters.as_str())
    })
}

fn runs(gate: &Gate) -> SheetTable {
    let heads = ["Run", "<Measurement", "<Criteria", "Lasted", "<Note"];
    let mut table = SheetTable::new(&heads);
    for run in &gate.runs {
        let note = run.ended_by.as_ref().map(|by| format!("ended early: {by}"));
        let notes: Vec<String> = run.reason.iter().cloned().chain(note).collect();
        let cells = [
            run.run.clone(),
            run.measurement.clone().unwrap_or_else(|| "–".into()),
            run.criteria.map_or("–", crate::sheet::judgement).to_owned(),
            units::time(run.elapsed_ns),
            notes.join("; "),
        ];
        table.row(cells, None);
    }
    table
}

fn criteria(gate: &Gate) -> SheetTable {
    let heads = [
        "Criterion",
        "<Verdict",
        "Runs with this verdict",
        "<Measured",
    ];
    let mut table = SheetTable::new(&heads);
    for criterion in &gate.criteria {
        let cells = [
            format!("`{}`", criterion.text),
            word(criterion).to_owned(),
            format!("{} of {}", criterion.runs, gate.runs.len()),
            criterion.measured.clone().unwrap_or_else(|| "–".into()),
        ];
        table.row(cells, None);
    }
    table
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
    crate::sheet::judgement(criterion.judgement)
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
