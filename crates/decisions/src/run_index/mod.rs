//! Runs that are over, as an index keeps them: what each was, how it was judged, and its key figures, also of those whose records are
//! gone. [`course`] is a figure over many of them. Where the index is and how it is written is `history`'s.

mod metric_trend;
mod of_run;

use plan::criteria::{Metric, SpanFilter, Stat, fits};
use record::{Model, RunState};
use serde::{Deserialize, Serialize};

use crate::compare::Subject;
use analysis::verdict::Judgement;

pub use metric_trend::{
    Apart, MARGIN, MetricTrend, NoCourse, Shifted, TrendConfig, TrendPoint, course,
};
pub use of_run::index;

/// A run, as the index has it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexedRun {
    /// Its folder's name.
    pub run: String,
    /// When it began, in nanoseconds since 1970.
    pub began_ns: u64,
    /// The same for people.
    pub began_utc: String,
    /// What it is called in titles.
    pub name: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The base URL.
    pub target: String,
    /// Revision of the git repository in which it was started.
    pub revision: Option<String>,
    /// The load in words.
    pub load: String,
    /// The model of the load.
    pub model: Model,
    /// Whether it came to its end.
    pub state: RunState,
    /// From the start to the last completion or the end of the load.
    pub elapsed_ns: u64,
    /// VALID, DEGRADED or INVALID; none where nothing was measured.
    pub measurement: Option<String>,
    /// All criteria together; none without criteria.
    pub criteria: Option<Judgement>,
    /// What it ended with, by its figures.
    pub exit_code: u8,
    /// Why it cannot be compared with any other; none where it can.
    pub fault: Option<String>,
    /// What others must have in common with it to be compared: what, and what it is.
    pub likeness: Vec<(String, String)>,
    /// The time that its report speaks of first, and of what: none of all requests.
    pub headline: (SpanFilter, Option<String>),
    /// Its rows, that of all requests first.
    pub rows: Vec<IndexedRow>,
    /// Whether its record is still there. Not kept: whoever reads the index looks.
    pub recorded: bool,
}

/// What a row is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowSubject {
    /// All requests.
    All,
    /// An endpoint.
    Endpoint,
    /// A scenario's iterations.
    Iteration,
    /// A group's transactions.
    Transaction,
}

/// The key figures of all requests, of an endpoint, of what spans requests.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexedRow {
    /// What it is of.
    pub of: RowSubject,
    /// Its name; empty of all requests.
    pub label: String,
    /// Those that ended.
    pub count: u64,
    /// Their share that failed or had no answer.
    pub error_share: Option<f64>,
    /// So many per second.
    pub per_second: Option<f64>,
    /// Its times.
    pub times: Vec<RowTimes>,
}

/// A time of a row, in nanoseconds. What lies among requests without an answer, or has too few beyond it, is none.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowTimes {
    /// Which time.
    pub span: SpanFilter,
    /// Its mean.
    pub mean: Option<f64>,
    /// Its percentiles, as [`QUANTILES`].
    pub percentiles: [Option<f64>; 5],
    /// The largest.
    pub max: Option<f64>,
}

/// The percentiles that are kept.
pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

impl IndexedRun {
    /// The row of all requests.
    #[must_use]
    pub fn all(&self) -> Option<&IndexedRow> {
        self.rows.iter().find(|row| row.of == RowSubject::All)
    }

    /// The headline time, with the row that it is of.
    #[must_use]
    pub fn headline_times(&self) -> Option<&RowTimes> {
        let (span, label) = &self.headline;
        let is_it = |row: &&IndexedRow| match span {
            SpanFilter::Iteration => {
                row.of == RowSubject::Iteration && Some(&row.label) == label.as_ref()
            }
            _ => row.of == RowSubject::All,
        };
        let row = self.rows.iter().find(is_it)?;
        row.times.iter().find(|times| times.span == *span)
    }

    /// The row that a figure is of; none where there is none, or several.
    fn row(&self, subject: &Subject) -> Option<&IndexedRow> {
        let of = match subject.metric {
            Metric::Time(SpanFilter::Iteration, _) => RowSubject::Iteration,
            Metric::Time(SpanFilter::Transaction, _) => RowSubject::Transaction,
            _ if subject.of.is_none() => RowSubject::All,
            _ => RowSubject::Endpoint,
        };
        let rows = || self.rows.iter().filter(move |row| row.of == of);
        let Some(label) = &subject.of else {
            return one_of(rows());
        };
        let mut exact = rows().filter(|row| row.label == *label).peekable();
        if exact.peek().is_some() {
            return one_of(exact);
        }
        one_of(rows().filter(|row| fits(label, &row.label)))
    }

    /// The value of a figure; none where it has none that is kept.
    #[must_use]
    pub fn value(&self, subject: &Subject) -> Option<f64> {
        let row = self.row(subject)?;
        match subject.metric {
            Metric::Errors => row.error_share,
            Metric::Rate => row.per_second,
            Metric::Time(span, stat) => row.time(span)?.value(stat),
            _ => None,
        }
    }
}

/// The only one of these.
fn one_of<'a>(mut rows: impl Iterator<Item = &'a IndexedRow>) -> Option<&'a IndexedRow> {
    let row = rows.next()?;
    rows.next().is_none().then_some(row)
}

impl IndexedRow {
    /// A time; where only service times are known, those are what was asked for as response times of a closed loop.
    fn time(&self, span: SpanFilter) -> Option<&RowTimes> {
        let of = |span: SpanFilter| self.times.iter().find(|times| times.span == span);
        match span {
            SpanFilter::Response => of(SpanFilter::Response).or_else(|| of(SpanFilter::Service)),
            span => of(span),
        }
    }
}

impl RowTimes {
    fn value(&self, stat: Stat) -> Option<f64> {
        match stat {
            Stat::Mean => self.mean,
            Stat::Max => self.max,
            Stat::Quantile(q) => {
                let mut kept = QUANTILES.iter().zip(self.percentiles);
                kept.find(|(kept, _)| (**kept - q).abs() < 1e-9)?.1
            }
        }
    }
}
