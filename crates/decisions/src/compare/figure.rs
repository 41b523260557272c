//! Figures to compare, named as in criteria.

use measure::TimeKind;
use plan::{
    criteria::{Metric, SpanFilter, Stat, fits, parse_subject},
    units::GrammarError,
};
use record::Model;
use serde::Serialize;

use super::{ComparedRun, Side};
use analysis::{
    figures::{Figure, Sampled, Stats},
    summary::Row,
};

#[derive(Debug, Clone, PartialEq)]
pub struct Subject {
    pub text: String,
    pub metric: Metric,
    pub of: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    Nanoseconds,
    Share,
    PerSecond,
}

/// Parses a figure, such as `p99`, `iteration p95 of "checkout"`, `errors of "*/orders"` (which
/// must match one row) or `rate`.
pub fn read(text: &str) -> Result<Subject, GrammarError> {
    let (metric, of) = parse_subject(text)?;
    let fault = match &metric {
        Metric::Time(..) | Metric::Errors | Metric::Rate | Metric::TokenRate => None,
        Metric::InFlight
        | Metric::Unsent
        | Metric::LatenessP99
        | Metric::Messages(_)
        | Metric::Server(..)
        | Metric::Goodput(_)
        | Metric::Custom(..) => {
            Some("only times, errors, rate and tokens rate of runs can be compared")
        }
    };
    if let Some(message) = fault {
        return Err(GrammarError {
            offset: 0,
            message: message.to_owned(),
        });
    }
    Ok(Subject {
        text: text.split_whitespace().collect::<Vec<_>>().join(" "),
        metric,
        of,
    })
}

const TOO_FEW: &str = "has too few requests beyond it";

/// Quantiles that rows contain. All other quantiles are computed from the record.
const QUANTILES: [f64; 5] = [0.5, 0.9, 0.95, 0.99, 0.999];

fn is_kept(q: f64) -> bool {
    QUANTILES.iter().any(|known| is(*known, q))
}

fn is(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

/// Returns the default figures. There are few of them, because each figure makes the others less
/// certain.
pub(super) fn usual(baseline: &Side, candidate: &Side) -> Vec<Subject> {
    let mut subjects = [0.5, 0.99]
        .map(|q| of_time(SpanFilter::Response, q, None))
        .to_vec();
    let model = baseline.runs.first().map(|first| first.summary.run.model);
    // In a closed loop, the throughput is a result instead of a part of the plan.
    if matches!(model, Some(Model::Closed | Model::Mixed)) {
        subjects.insert(0, plain("rate", Metric::Rate, None));
    }
    subjects.push(plain("errors", Metric::Errors, None));
    // Keep a percentile with too few samples, so that the result is inconclusive. Otherwise, a
    // worse tail would pass.
    let runs = || baseline.runs.iter().chain(&candidate.runs);
    subjects.retain(|subject| {
        runs().any(|run| subject.value(run).is_some() || subject.missing(run) == TOO_FEW)
    });
    subjects
}

#[must_use]
pub fn without_row(subject: &Subject, baseline: &Side, candidate: &Side) -> Option<String> {
    let mut runs = baseline.runs.iter().chain(&candidate.runs);
    let run = runs.find(|run| subject.row(run).is_none())?;
    let rows = subject.rows(run);
    let what = match &subject.of {
        Some(of) if subject.fitting(of, rows).count() > 1 => {
            "has several rows that match: choose one of"
        }
        Some(_) => "has no such row; available:",
        None => "has several of them: choose one with `of`, from",
    };
    let known: Vec<String> = rows.iter().map(|row| quoted(&row.text)).collect();
    Some(if known.is_empty() {
        format!("{} has no rows of this kind", run.name)
    } else {
        format!("{} {what} {}", run.name, known.join(", "))
    })
}

pub(super) fn of_endpoints(baseline: &Side, candidate: &Side) -> Vec<Subject> {
    let (Some(first), Some(second)) = (baseline.runs.first(), candidate.runs.first()) else {
        return Vec::new();
    };
    let rows = &first.summary.labels;
    if rows.len() < 2 {
        return Vec::new();
    }
    let is_known = |row: &&Row| {
        second
            .summary
            .labels
            .iter()
            .any(|other| other.text == row.text)
    };
    let subjects = rows.iter().filter(is_known).flat_map(|row| {
        let span = if row.response.is_some() {
            SpanFilter::Response
        } else {
            SpanFilter::Service
        };
        [0.5, 0.99].map(|q| of_time(span, q, Some(row.text.clone())))
    });
    subjects.collect()
}

pub(super) fn of_time(span: SpanFilter, q: f64, of: Option<String>) -> Subject {
    let name = format!("p{}", record::units::decimal(q * 100.0));
    let before = match span {
        SpanFilter::Response => "",
        SpanFilter::Service => "service ",
        SpanFilter::FirstByte => "first-byte ",
        SpanFilter::Iteration => "iteration ",
        SpanFilter::Transaction => "transaction ",
        SpanFilter::FirstEvent => "first-event ",
        SpanFilter::Ttft => "ttft ",
        SpanFilter::Gap => "gap ",
        SpanFilter::PerToken => "per-token ",
    };
    plain(
        &format!("{before}{name}"),
        Metric::Time(span, Stat::Quantile(q)),
        of,
    )
}

fn plain(name: &str, metric: Metric, of: Option<String>) -> Subject {
    let text = match &of {
        Some(of) => format!("{name} of {}", quoted(of)),
        None => name.to_owned(),
    };
    Subject { text, metric, of }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('\\', "\\\\").replace('"', "\\\""))
}

impl Subject {
    /// Returns the subject with the same time on both sides: the service time if any run has no
    /// response time.
    pub(super) fn alike(self, baseline: &Side, candidate: &Side) -> Subject {
        let Metric::Time(SpanFilter::Response, stat) = self.metric else {
            return self;
        };
        let rows = baseline.runs.iter().chain(&candidate.runs);
        let rows: Vec<&Row> = rows.filter_map(|run| self.row(run)).collect();
        let with = rows.iter().filter(|row| row.response.is_some()).count();
        if with == 0 || with == rows.len() {
            return self;
        }
        Subject {
            text: format!("service {}", self.text),
            metric: Metric::Time(SpanFilter::Service, stat),
            of: self.of,
        }
    }

    #[must_use]
    pub fn unit(&self) -> FigureUnit {
        match self.metric {
            Metric::Errors => FigureUnit::Share,
            Metric::Rate | Metric::TokenRate => FigureUnit::PerSecond,
            _ => FigureUnit::Nanoseconds,
        }
    }

    pub(super) fn kind_in(&self, row: &Row) -> Option<TimeKind> {
        match self.metric {
            Metric::Time(SpanFilter::Response, _) if row.response.is_none() => {
                Some(TimeKind::Service)
            }
            Metric::Time(span, _) => Some(analysis::verdict::kind_of(span)),
            _ => None,
        }
    }

    fn rows<'a>(&self, entrant: &'a ComparedRun) -> &'a [Row] {
        let summary = &entrant.summary;
        match self.metric {
            Metric::Time(SpanFilter::Iteration, _) => &summary.iterations,
            Metric::Time(SpanFilter::Transaction, _) => &summary.transactions,
            _ => &summary.labels,
        }
    }

    fn fitting<'a>(&self, of: &str, rows: &'a [Row]) -> impl Iterator<Item = &'a Row> {
        let is_exact = rows.iter().any(|row| row.text == of);
        rows.iter().filter(move |row| {
            if is_exact {
                row.text == of
            } else {
                fits(of, &row.text)
            }
        })
    }

    pub(super) fn row<'a>(&self, entrant: &'a ComparedRun) -> Option<&'a Row> {
        let summary = &entrant.summary;
        let rows = self.rows(entrant);
        let Some(of) = &self.of else {
            // Without a label, the subject is the only scenario or group.
            return match (self.metric.over_requests(), rows) {
                (Some(_), [one]) => Some(one),
                (Some(_), _) => None,
                (None, _) => Some(&summary.all),
            };
        };
        let mut fitting = self.fitting(of, rows);
        let row = fitting.next()?;
        fitting.next().is_none().then_some(row)
    }

    pub(super) fn missing(&self, entrant: &ComparedRun) -> &'static str {
        let Some(row) = self.row(entrant) else {
            return "has no such row, or more than one";
        };
        let figure = match self.metric {
            Metric::Time(_, Stat::Quantile(q)) if !is_kept(q) && entrant.run.is_some() => {
                return "has too few requests beyond this percentile, or no responses";
            }
            Metric::Time(span, Stat::Quantile(q)) => {
                stats(row, span).and_then(|stats| percentile(stats, q))
            }
            Metric::Time(span, Stat::Max) => stats(row, span).map(|stats| &stats.max),
            _ => None,
        };
        match figure {
            Some(figure) if figure.thin.is_some() || figure.too_few => TOO_FEW,
            Some(figure) if figure.no_answer || figure.at_least_ns.is_some() => "has no responses",
            _ if self.has_few(row) => TOO_FEW,
            _ => "does not report it",
        }
    }

    fn has_few(&self, row: &Row) -> bool {
        const ENOUGH_BEYOND: f64 = 10.0;
        match self.metric {
            Metric::Time(_, Stat::Quantile(q)) => (1.0 - q) * (row.count as f64) < ENOUGH_BEYOND,
            _ => false,
        }
    }

    pub(super) fn value(&self, entrant: &ComparedRun) -> Option<f64> {
        let row = self.row(entrant)?;
        match self.metric {
            Metric::Errors => row.error_share,
            Metric::Rate => row.reports("per_second").then_some(row.per_second),
            Metric::TokenRate => row.stream.as_ref().map(|stream| stream.tokens_per_second),
            Metric::Time(_, Stat::Quantile(q)) if !is_kept(q) => {
                let kind = self.kind_in(row)?;
                let part = entrant.run.as_ref()?.totals.label(row.id);
                Sampled::from_totals(&part, kind)
                    .given_quantile(q)?
                    .ns
                    .map(|ns| ns as f64)
            }
            Metric::Time(span, stat) => stats(row, span).and_then(|stats| of_stats(stats, stat)),
            _ => None,
        }
    }
}

/// Returns the statistics of a time. In a closed loop, the service time replaces the response time.
fn stats(row: &Row, span: SpanFilter) -> Option<&Stats> {
    match span {
        SpanFilter::Response => row.response.as_ref().or(row.service.as_ref()),
        SpanFilter::Service => row.service.as_ref(),
        SpanFilter::FirstByte => row.first_byte.as_ref(),
        SpanFilter::Iteration | SpanFilter::Transaction => row.iteration.as_ref(),
        SpanFilter::FirstEvent | SpanFilter::Ttft | SpanFilter::Gap | SpanFilter::PerToken => {
            row.stream.as_ref()?.time(span)
        }
    }
}

fn of_stats(stats: &Stats, stat: Stat) -> Option<f64> {
    let known = |figure: &Figure| figure.ns.map(|ns| ns as f64);
    match stat {
        Stat::Mean => stats.mean_ns,
        Stat::Max => known(&stats.max),
        Stat::Quantile(q) => percentile(stats, q).and_then(known),
    }
}

fn percentile(stats: &Stats, q: f64) -> Option<&Figure> {
    let figures = [&stats.p50, &stats.p90, &stats.p95, &stats.p99, &stats.p999];
    let mut all = QUANTILES.into_iter().zip(figures);
    all.find(|(known, _)| is(*known, q))
        .map(|(_, figure)| figure)
}
