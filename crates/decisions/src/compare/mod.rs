//! Compares two groups of runs and decides whether one is worse by more than a margin, better, or
//! undecided. The unit of comparison is the run.
//!
//! [`comparability`] finds runs that cannot be compared, [`figure`] defines figures, [`groups`]
//! compares several runs, [`interim`] plans interim analyses, [`single_run`] compares two runs (as
//! a hint, by [`bootstrap`]), [`outliers`] finds outliers, [`quantiles`] compares distributions,
//! and [`text`] formats results.

mod bootstrap;
mod comparability;
mod custom;
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
pub use custom::CustomDifference;
pub use figure::{FigureUnit, Subject, read, without_row};
pub use groups::one_figure;
pub use interim::{FEWEST, InterimPlan, is_a_first, is_decided};
pub use quantiles::Quantile;
pub use text::{amount, change, value};

const ENOUGH: usize = 4;
pub const CONFIDENCE: f64 = 0.95;

pub struct ComparedRun {
    pub name: String,
    pub summary: Summary,
    pub run: Option<Run>,
    pub plan: serde_json::Value,
}

pub struct Side {
    pub name: String,
    pub runs: Vec<ComparedRun>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CompareConfig {
    /// Figures to compare. If empty, [`figure::usual`] selects them.
    pub subjects: Vec<Subject>,
    pub margin: f64,
    /// Absolute margin for shares of errors. 0.001 means 0.1 percentage points.
    pub error_margin: f64,
    /// Confidence of the intervals. It is [`CONFIDENCE`] unless there are interim analyses.
    pub confidence: f64,
    /// Incompatibilities (see [`incompatibilities`]) that the user has accepted.
    pub anyway: Vec<String>,
    pub hint_decides: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    pub schema: u32,
    pub baseline: SideSummary,
    pub candidate: SideSummary,
    pub method: Method,
    pub margin: f64,
    pub error_margin: f64,
    pub margins: String,
    pub verdict: FigureOutcome,
    pub sentence: String,
    pub exit_code: u8,
    pub judged: Vec<Compared>,
    pub endpoints: Vec<Compared>,
    /// Custom metrics that the runs report. They are not judged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<CustomDifference>,
    pub quantiles: Vec<Quantile>,
    pub quantiles_of: String,
    pub notes: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SideSummary {
    pub name: String,
    pub runs: Vec<RunFacts>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RunFacts {
    pub name: String,
    pub started_utc: String,
    pub requests: u64,
    pub record: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    Groups,
    /// There are too few runs for 95 % intervals, so the result is only a hint.
    FewRuns,
    SingleRuns,
    SingleFigures,
}

impl Method {
    #[must_use]
    pub fn is_hint(self) -> bool {
        self != Method::Groups
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureOutcome {
    Improved,
    NoRegression,
    Inconclusive,
    Regressed,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
    pub subject: String,
    pub unit: FigureUnit,
    pub baseline: Vec<Option<f64>>,
    pub candidate: Vec<Option<f64>>,
    pub change: Option<Change>,
    pub outcome: FigureOutcome,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    pub estimate: f64,
    pub interval: Option<(f64, f64)>,
    pub confidence: f64,
    /// p-value, adjusted for the number of figures. `None` if unknown.
    pub p: Option<f64>,
    pub p_beyond_margin: Option<f64>,
}

#[must_use]
pub fn compare(baseline: &Side, candidate: &Side, config: &CompareConfig) -> Comparison {
    let method = method(baseline, candidate);
    let subjects = if config.subjects.is_empty() {
        figure::usual(baseline, candidate)
    } else {
        config.subjects.clone()
    };
    let subjects: Vec<Subject> = subjects
        .into_iter()
        .map(|subject| subject.alike(baseline, candidate))
        .collect();
    let pair = Pair::new(baseline, candidate);
    let compare = &|subjects: &[Subject]| match method {
        Method::Groups | Method::FewRuns => {
            groups::compare_groups(baseline, candidate, subjects, config)
        }
        Method::SingleRuns | Method::SingleFigures => pair.compare(subjects, config),
    };
    let judged = compare(&subjects);
    let endpoints = figure::of_endpoints(baseline, candidate);
    let endpoints: Vec<Compared> = endpoints
        .iter()
        .flat_map(|subject| compare(std::slice::from_ref(subject)))
        .map(|compared| text::looked_at(compared, config))
        .collect();
    let verdict = verdict(&judged);
    let decides = !method.is_hint() || config.hint_decides;
    let mut notes = config.anyway.clone();
    notes.extend(comparability::remarks(baseline, candidate));
    notes.extend(text::method(
        baseline,
        candidate,
        method,
        judged.len(),
        config.confidence,
    ));
    notes.extend(outliers::find(baseline, candidate));
    let (quantiles, quantiles_of) = quantiles::compare_quantiles(baseline, candidate, compare);
    Comparison {
        schema: 1,
        baseline: summarize(baseline),
        candidate: summarize(candidate),
        method,
        margin: config.margin,
        error_margin: config.error_margin,
        margins: text::margins(&judged, config),
        verdict,
        sentence: text::sentence(&judged, verdict, method, config),
        exit_code: exit_code(verdict, decides),
        judged,
        endpoints,
        custom: custom::differences(baseline, candidate),
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
    // By ranks, one run against forty has a 95 % interval. It is still a single run.
    if first.min(second) >= ENOUGH {
        Method::Groups
    } else {
        Method::FewRuns
    }
}

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
