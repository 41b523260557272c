//! Two groups of runs beside each other: whether the second is worse than the first by more than a margin, better, or not told
//! apart. The run is what is counted, not the request: what differs no more than runs of the same thing do is chance.
//!
//! [`alike`] names what makes runs incomparable, [`figure`] is what is compared, [`groups`] compares several runs with several,
//! [`looks`] is when they are looked at where they are still being made, [`single`] one with one (a hint, of what [`drawn`] makes of each), [`unlike`] finds runs and stretches that are not like the others, [`quantiles`] is the whole
//! distribution, [`words`] says it. Nothing here reads a file or lays anything out.

mod bootstrap;
mod comparability;
mod figure;
mod groups;
mod interim;
mod judge;
mod outliers;
mod quantiles;
mod single_run;
mod text;

use record::Run;
use serde::Serialize;

use analysis::summary::Summary;

use single_run::Pair;

pub(crate) use comparability::fault;
pub use comparability::{Incompatibility, fingerprint, incompatibilities};
pub use figure::{FigureUnit, Subject, read, without_row};
pub use groups::one_figure;
pub use interim::{FEWEST, InterimPlan, is_a_first, is_decided};
pub use quantiles::Quantile;
pub use text::{amount, change, value};

/// Runs of each side that tell chance from change.
const ENOUGH: usize = 4;
/// So sure the intervals are.
pub const CONFIDENCE: f64 = 0.95;

/// A run among those that are compared.
pub struct ComparedRun {
    /// What it is called: its folder's name, or the file's.
    pub name: String,
    /// Its figures.
    pub summary: Summary,
    /// Its record; none of what another tool left.
    pub run: Option<Run>,
    /// What it was to do, as its record has it; null of what another tool left.
    pub plan: serde_json::Value,
}

/// One side of the comparison.
pub struct Side {
    /// As the user named it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<ComparedRun>,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct CompareConfig {
    /// What is judged; empty: the figures of [`figure::usual`].
    pub subjects: Vec<Subject>,
    /// So much worse, as a share, is still no regression.
    pub margin: f64,
    /// The same of shares of errors, in themselves: 0.001 is a tenth of a percentage point.
    pub error_margin: f64,
    /// So sure the intervals between groups are, and what is said of them; [`CONFIDENCE`] where they are looked at once.
    pub confidence: f64,
    /// What was found by [`hindrances`] and is let pass.
    pub anyway: Vec<String>,
    /// Whether a hint may decide.
    pub hint_decides: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Version of this format.
    pub schema: u32,
    /// The first group, which the second is measured against.
    pub baseline: SideSummary,
    /// The second.
    pub candidate: SideSummary,
    /// How it was compared.
    pub method: Method,
    /// So much worse is still no regression.
    pub margin: f64,
    /// The same of shares of errors.
    pub error_margin: f64,
    /// The margins of what is judged, in words.
    pub margins: String,
    /// All of it in one word.
    pub verdict: FigureOutcome,
    /// And in a sentence.
    pub sentence: String,
    /// 0, 1 or 5.
    pub exit_code: u8,
    /// What is judged, in the order in which it was asked.
    pub judged: Vec<Compared>,
    /// Endpoint by endpoint, for looking at: nothing of it is judged.
    pub endpoints: Vec<Compared>,
    /// The whole distribution of the headline time.
    pub quantiles: Vec<Quantile>,
    /// Which time that is, and of what.
    pub quantiles_of: String,
    /// What should be known before anything is believed.
    pub notes: Vec<String>,
}

/// A side, as it was compared.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideSummary {
    /// As the user named it.
    pub name: String,
    /// Its runs.
    pub runs: Vec<RunFacts>,
}

/// A run of a side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    /// What it is called.
    pub name: String,
    /// When it began.
    pub started_utc: String,
    /// Requests that ended.
    pub requests: u64,
    /// Where its report is; none of what another tool left.
    pub record: Option<String>,
}

/// How groups were compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// Several runs with several: exact intervals over runs.
    Groups,
    /// Too few runs for intervals of 95 %: a hint.
    FewRuns,
    /// One run with one, each resampled from its own seconds: a hint.
    SingleRuns,
    /// One figure with one, and nothing to tell chance by: a hint.
    SingleFigures,
}

impl Method {
    /// Whether it may decide by itself.
    #[must_use]
    pub fn is_hint(self) -> bool {
        self != Method::Groups
    }
}

/// What is said of a figure, and of all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureOutcome {
    /// Better, and not by chance.
    Improved,
    /// Not worse by more than the margin.
    NoRegression,
    /// Neither shown.
    Inconclusive,
    /// Worse by more than the margin.
    Regressed,
}

/// A figure of both sides.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    /// What it is, as it may be asked for.
    pub subject: String,
    /// How its values are to be read.
    pub unit: FigureUnit,
    /// Of each run of the first group; none where it is not known.
    pub baseline: Vec<Option<f64>>,
    /// Of each run of the second.
    pub candidate: Vec<Option<f64>>,
    /// How far the second lies from the first; none where that cannot be said.
    pub change: Option<Change>,
    /// What follows.
    pub outcome: FigureOutcome,
    /// The same in words.
    pub text: String,
}

/// A distance between the groups: as a share of the first group's value, of error shares in themselves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    /// The middle of all differences.
    pub estimate: f64,
    /// The interval's ends; none where nothing tells chance.
    pub interval: Option<(f64, f64)>,
    /// How sure the interval is.
    pub confidence: f64,
    /// How likely runs at random differ as much, counted among all that is judged; none where it is not known.
    pub p: Option<f64>,
    /// How likely runs at random that are worse by the margin would look as bad as these, counted likewise.
    pub p_beyond_margin: Option<f64>,
}

/// Compares two groups; both hold a run at least.
#[must_use]
pub fn compare(baseline: &Side, candidate: &Side, asked: &CompareConfig) -> Comparison {
    let method = method(baseline, candidate);
    let subjects = if asked.subjects.is_empty() {
        figure::usual(baseline, candidate)
    } else {
        asked.subjects.clone()
    };
    let subjects: Vec<Subject> = subjects
        .into_iter()
        .map(|subject| subject.alike(baseline, candidate))
        .collect();
    let pair = Pair::new(baseline, candidate);
    let compare = &|subjects: &[Subject]| match method {
        Method::Groups | Method::FewRuns => {
            groups::compare_groups(baseline, candidate, subjects, asked)
        }
        Method::SingleRuns | Method::SingleFigures => pair.compare(subjects, asked),
    };
    let judged = compare(&subjects);
    let endpoints = figure::of_endpoints(baseline, candidate);
    let endpoints: Vec<Compared> = endpoints
        .iter()
        .flat_map(|subject| compare(std::slice::from_ref(subject)))
        .map(|compared| text::looked_at(compared, asked))
        .collect();
    let verdict = verdict(&judged);
    let decides = !method.is_hint() || asked.hint_decides;
    let mut notes = asked.anyway.clone();
    notes.extend(comparability::remarks(baseline, candidate));
    notes.extend(text::method(
        baseline,
        candidate,
        method,
        (judged.len(), asked.confidence),
    ));
    notes.extend(outliers::find(baseline, candidate));
    let (quantiles, quantiles_of) = quantiles::compare_quantiles(baseline, candidate, compare);
    Comparison {
        schema: 1,
        baseline: summarize(baseline),
        candidate: summarize(candidate),
        method,
        margin: asked.margin,
        error_margin: asked.error_margin,
        margins: text::margins(&judged, asked),
        verdict,
        sentence: text::sentence(&judged, verdict, method, asked),
        exit_code: exit_code(verdict, decides),
        judged,
        endpoints,
        quantiles,
        quantiles_of,
        notes,
    }
}

fn method(baseline: &Side, candidate: &Side) -> Method {
    let (first, second) = (baseline.runs.len(), candidate.runs.len());
    let is_recorded = |side: &Side| side.runs.iter().all(|entrant| entrant.run.is_some());
    if (first, second) == (1, 1) {
        return if is_recorded(baseline) && is_recorded(candidate) {
            Method::SingleRuns
        } else {
            Method::SingleFigures
        };
    }
    // One run beside forty has an interval of 95 % by its rank alone, and still is one run: it may have been paused.
    if first.min(second) >= ENOUGH {
        Method::Groups
    } else {
        Method::FewRuns
    }
}

/// The worst of what is judged; where everything holds, the least of it that can be said.
fn verdict(judged: &[Compared]) -> FigureOutcome {
    let outcomes = judged.iter().map(|compared| compared.outcome);
    outcomes.max().unwrap_or(FigureOutcome::Inconclusive)
}

fn exit_code(verdict: FigureOutcome, decides: bool) -> u8 {
    match verdict {
        _ if !decides => 5,
        FigureOutcome::Improved | FigureOutcome::NoRegression => 0,
        FigureOutcome::Inconclusive => 5,
        FigureOutcome::Regressed => 1,
    }
}

/// The middle of the values of a group's runs; none where one of them is not known.
#[must_use]
pub fn middle(values: &[Option<f64>]) -> Option<f64> {
    let values: Option<Vec<f64>> = values.iter().copied().collect();
    statistics::median(&values?)
}

fn summarize(side: &Side) -> SideSummary {
    let runs = side.runs.iter().map(|entrant| RunFacts {
        name: entrant.name.clone(),
        started_utc: entrant.summary.run.started_utc.clone(),
        requests: entrant.summary.all.count,
        record: entrant.summary.record.clone(),
    });
    SideSummary {
        name: side.name.clone(),
        runs: runs.collect(),
    }
}
