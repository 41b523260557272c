//! A short line per label, for the table of endpoints.

use measure::{Kind, label, label::Group};
use serde::Serialize;

use record::Run;

use crate::figures::Sampled;

/// A label over time: at most 60 points.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spark {
    /// The label.
    pub id: u16,
    /// Where its points begin.
    pub from_ns: Vec<u64>,
    /// Where they end.
    pub to_ns: Vec<u64>,
    /// Requests or iterations that ended.
    pub count: Vec<u64>,
    /// Those that failed or had no complete answer.
    pub errors: Vec<u64>,
    /// 95th percentile of the service time, of iterations that of the iteration, in nanoseconds.
    pub p95: Vec<Option<u64>>,
}

pub fn of(run: &Run) -> Vec<Spark> {
    let labels = run.labels.iter().filter(|label| label.id != label::ALL);
    let spark = |label: &measure::Label| {
        let kind = if label.group == Group::Iteration {
            Kind::Iteration
        } else {
            Kind::Service
        };
        let mut spark = Spark {
            id: label.id,
            ..Spark::default()
        };
        for (_, point) in run.totals.history.labels.get(&label.id)?.points() {
            let counters = &point.part.slot.counters;
            spark.from_ns.push(point.span.0);
            spark.to_ns.push(point.span.1);
            spark.count.push(counters.ended());
            spark
                .errors
                .push(counters.failed + counters.without_answer());
            let p95 = Sampled::of(&point.part, kind).quantile(0.95);
            spark
                .p95
                .push(p95.and_then(|figure| figure.ns.or(figure.at_least_ns)));
        }
        Some(spark)
    };
    labels.filter_map(spark).collect()
}
