//! Report of a comparison as a page and as Markdown.

mod forest;

use analysis::verdict::Judgement;
use decisions::compare::{Compared, Comparison, FigureOutcome, SideSummary, change, value};
use record::units;

use crate::{
    sheet::{Block, Brief, Sheet, SheetTable},
    svg,
};

#[must_use]
pub fn sheet(comparison: &Comparison) -> Sheet {
    let charts = forest::draw(comparison);
    let blocks = blocks(comparison, &charts);
    let title = format!(
        "{} against {}",
        comparison.candidate.name, comparison.baseline.name
    );
    Sheet::new(&title, &blocks, charts.clone())
}

fn blocks<'a>(comparison: &Comparison, charts: &'a [svg::File]) -> Vec<Block<'a>> {
    let (baseline, candidate) = (&comparison.baseline, &comparison.candidate);
    let mut blocks = vec![
        Block::Title(format!("{} against {}", candidate.name, baseline.name)),
        Block::Brief(brief(comparison)),
    ];
    if !comparison.notes.is_empty() {
        blocks.push(Block::List(comparison.notes.clone()));
    }
    blocks.extend(details(comparison, charts));
    blocks
}

pub(crate) use forest::draw;

/// Returns the blocks below the answer: judged figures, distribution, endpoints and runs.
pub(crate) fn details<'a>(comparison: &Comparison, charts: &'a [svg::File]) -> Vec<Block<'a>> {
    let (baseline, candidate) = (&comparison.baseline, &comparison.candidate);
    let mut blocks = vec![Block::Heading("What is judged")];
    blocks.push(Block::Table(table(comparison, &comparison.judged)));
    blocks.push(Block::Text(
        "The value of a group is the median of its runs. A change is the median of all differences between a run in one group and a run in the other."
            .into(),
    ));
    let (shift, forests): (Vec<_>, Vec<_>) =
        charts.iter().partition(|chart| chart.name == forest::SHIFT);
    if !forests.is_empty() {
        blocks.extend(forests.into_iter().map(Block::Chart));
        blocks.push(Block::Text(
            "Only times and rates are shown: error shares are in the table.".into(),
        ));
    }
    if !comparison.quantiles.is_empty() {
        blocks.push(Block::Heading("The whole distribution"));
        blocks.extend(shift.into_iter().map(Block::Chart));
        blocks.push(Block::Table(quantiles(comparison)));
        blocks.push(Block::Text(format!(
            "Changes by quantile: {}. These figures are not judged.",
            comparison.quantiles_of
        )));
    }
    if !comparison.endpoints.is_empty() {
        blocks.push(Block::Heading("Endpoints"));
        blocks.push(Block::Table(table(comparison, &comparison.endpoints)));
        blocks.push(Block::Text(
            "Each interval is computed separately: on average, one in twenty misses by chance. They are not judged."
                .into(),
        ));
    }
    if !comparison.custom.is_empty() {
        blocks.push(Block::Heading("Custom metrics"));
        blocks.push(Block::Table(custom(comparison)));
        blocks.push(Block::Text(
            "The values of a side are medians of its runs. They are not judged.".into(),
        ));
    }
    blocks.push(Block::Heading("Runs"));
    for group in [baseline, candidate] {
        blocks.push(Block::Table(of_group(group)));
    }
    blocks
}

fn brief(comparison: &Comparison) -> Brief {
    let (baseline, candidate) = (&comparison.baseline, &comparison.candidate);
    let is_hint = comparison.method.is_hint();
    let advice = match comparison.verdict {
        _ if is_hint => {
            Some("Make at least 4 runs of each, so that a change can be distinguished from chance.")
        }
        FigureOutcome::Regressed => Some("Find the change that made the figure worse."),
        FigureOutcome::Inconclusive => Some(
            "Make more or longer runs, or raise the margin to the smallest change that matters.",
        ),
        FigureOutcome::Improved | FigureOutcome::NoRegression => None,
    };
    let certainty = format!(
        "{} of `{}`, {} of `{}`. The margin is {}: smaller changes do not count as a regression.",
        runs(baseline.runs.len()),
        baseline.name,
        runs(candidate.runs.len()),
        candidate.name,
        comparison.margins
    );
    Brief {
        verdict: judgement(comparison).map(Into::into),
        question: format!("Is `{}` worse than `{}`?", candidate.name, baseline.name),
        sentence: comparison.sentence.clone(),
        cause: None,
        advice: advice.into_iter().map(ToOwned::to_owned).collect(),
        certainty: if is_hint {
            format!("Only a hint, judged from {certainty}")
        } else {
            format!("Judged from {certainty}")
        },
    }
}

fn judgement(comparison: &Comparison) -> Option<Judgement> {
    (!comparison.method.is_hint()).then_some(match comparison.verdict {
        FigureOutcome::Improved | FigureOutcome::NoRegression => Judgement::Pass,
        FigureOutcome::Inconclusive => Judgement::Inconclusive,
        FigureOutcome::Regressed => Judgement::Fail,
    })
}

fn runs(n: usize) -> String {
    match n {
        1 => "one run".into(),
        n => format!("{n} runs"),
    }
}

fn table(comparison: &Comparison, all: &[Compared]) -> SheetTable {
    let heads = [
        "Figure",
        &comparison.baseline.name,
        &comparison.candidate.name,
        "Change",
        "<",
    ];
    let mut table = SheetTable::new(&heads);
    for compared in all {
        let middle = |values: &[Option<f64>]| {
            decisions::compare::middle(values)
                .map_or_else(|| "–".to_owned(), |middle| value(compared.unit, middle))
        };
        let changed = compared.change.as_ref();
        let cells = [
            compared.subject.clone(),
            middle(&compared.baseline),
            middle(&compared.candidate),
            changed.map_or_else(|| "–".to_owned(), |known| change(compared.unit, known)),
            compared.text.clone(),
        ];
        table.row(cells, None);
    }
    table
}

fn quantiles(comparison: &Comparison) -> SheetTable {
    let heads = [
        "Quantile",
        &comparison.baseline.name,
        &comparison.candidate.name,
        "Change",
    ];
    let mut table = SheetTable::new(&heads);
    for quantile in &comparison.quantiles {
        let cells = [
            forest::name(quantile.share),
            units::time(quantile.baseline_ns as u64),
            units::time(quantile.candidate_ns as u64),
            change(
                decisions::compare::FigureUnit::Nanoseconds,
                &quantile.change,
            ),
        ];
        table.row(cells, None);
    }
    table
}

fn custom(comparison: &Comparison) -> SheetTable {
    let mut table = SheetTable::new(&["Figure", "<Baseline → candidate"]);
    for difference in &comparison.custom {
        table.row([difference.figure.clone(), difference.text()], None);
    }
    table
}

fn of_group(group: &SideSummary) -> SheetTable {
    let mut table = SheetTable::new(&[&group.name, "<Began", "Requests"]);
    for run in &group.runs {
        let cells = [
            run.name.clone(),
            run.started_utc.clone(),
            units::count(run.requests),
        ];
        table.row(cells, None);
    }
    table
}
