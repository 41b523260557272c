//! Index of finished runs, including deleted ones: properties, results and key figures. `history`
//! stores the index.

mod metric_trend;
mod of_run;

use plan::criteria::{Metric, SpanFilter, Stat, fits};
use record::{Model, RunState};
use serde::{Deserialize, Serialize};

use crate::compare::Subject;
use analysis::verdict::Judgement;

pub use metric_trend::{
    ExcludedRuns, MARGIN, MetricTrend, NoTrend, Shifted, TrendConfig, TrendPoint, trend,
};
pub use of_run::index;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexedRun {
    pub run: String,
    pub began_ns: u64,
    pub began_utc: String,
    pub name: String,
    pub tags: Vec<String>,
    pub target: String,
    pub revision: Option<String>,
    pub load: String,
    pub model: Model,
    pub state: RunState,
    pub elapsed_ns: u64,
    pub measurement: Option<String>,
    pub criteria: Option<Judgement>,
    pub exit_code: u8,
    pub fault: Option<String>,
    pub fingerprint: Vec<(String, String)>,
    /// Headline time and its label. A label of `None` means all requests.
    pub headline: (SpanFilter, Option<String>),
    pub rows: Vec<IndexedRow>,
    pub recorded: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowSubject {
    All,
    Endpoint,
    Iteration,
    Transaction,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct IndexedRow {
    pub subject: RowSubject,
    pub label: String,
    pub count: u64,
    pub error_share: Option<f64>,
    pub per_second: Option<f64>,
    pub times: Vec<RowTimes>,
}

/// Times in nanoseconds. A percentile is `None` if it falls on an unanswered request or has too few
/// samples.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RowTimes {
    pub span: SpanFilter,
    pub mean: Option<f64>,
    pub percentiles: [Option<f64>; 5],
    pub max: Option<f64>,
}

pub const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

impl IndexedRun {
    #[must_use]
    pub fn all(&self) -> Option<&IndexedRow> {
        self.rows.iter().find(|row| row.subject == RowSubject::All)
    }

    #[must_use]
    pub fn headline_times(&self) -> Option<&RowTimes> {
        let (span, label) = &self.headline;
        let is_it = |row: &&IndexedRow| match span {
            SpanFilter::Iteration => {
                row.subject == RowSubject::Iteration && Some(&row.label) == label.as_ref()
            }
            _ => row.subject == RowSubject::All,
        };
        let row = self.rows.iter().find(is_it)?;
        row.times.iter().find(|times| times.span == *span)
    }

    fn row(&self, subject: &Subject) -> Option<&IndexedRow> {
        let of = match subject.metric {
            Metric::Time(SpanFilter::Iteration, _) => RowSubject::Iteration,
            Metric::Time(SpanFilter::Transaction, _) => RowSubject::Transaction,
            _ if subject.of.is_none() => RowSubject::All,
            _ => RowSubject::Endpoint,
        };
        let rows = || self.rows.iter().filter(move |row| row.subject == of);
        let Some(label) = &subject.of else {
            return one_of(rows());
        };
        let mut exact = rows().filter(|row| row.label == *label).peekable();
        if exact.peek().is_some() {
            return one_of(exact);
        }
        one_of(rows().filter(|row| fits(label, &row.label)))
    }

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

fn one_of<'a>(mut rows: impl Iterator<Item = &'a IndexedRow>) -> Option<&'a IndexedRow> {
    let row = rows.next()?;
    rows.next().is_none().then_some(row)
}

impl IndexedRow {
    /// Returns the times of a row. In a closed loop, the service time replaces the response time.
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
                let mut percentiles = QUANTILES.iter().zip(self.percentiles);
                percentiles
                    .find(|(percentiles, _)| (**percentiles - q).abs() < 1e-9)?
                    .1
            }
        }
    }
}
