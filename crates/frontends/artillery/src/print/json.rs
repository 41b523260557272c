//! The file of `-o`: the aggregate and all periods, with keys in the original order.

use measure::accumulator::Sketch;
use serde_json::{Map, Value, json};

use super::{
    metrics::{Metrics, statistics},
    number,
    periods::Periods,
};

pub(super) fn render(periods: &Periods) -> String {
    let last_ms = periods.all().last().map_or(0, |period| period.start_ms);
    let intermediate: Vec<Value> = periods
        .all()
        .map(|period| {
            Value::Object(object(
                &Metrics::from_tally(&period.part),
                Value::from(period.start_ms.to_string()),
            ))
        })
        .collect();
    let report = json!({
        "aggregate": object(&Metrics::from_tally(periods.total()), Value::from(last_ms)),
        "intermediate": intermediate,
    });
    // Artillery's file does not end with a line feed.
    serde_json::to_string_pretty(&report).unwrap_or_default()
}

fn object(metrics: &Metrics<'_>, period: Value) -> Map<String, Value> {
    let mut object = Map::new();
    let counters = metrics
        .counters()
        .into_iter()
        .map(|(name, n)| (name.to_owned(), Value::from(n)));
    let rates = metrics
        .rates()
        .into_iter()
        .map(|(name, rate)| (name.to_owned(), Value::from(rate)));
    object.insert("counters".into(), Value::Object(counters.collect()));
    object.insert("rates".into(), Value::Object(rates.collect()));
    let moments = [
        ("firstCounterAt", metrics.at(true, "counter")),
        ("firstHistogramAt", metrics.at(true, "histogram")),
        ("lastCounterAt", metrics.at(false, "counter")),
        ("lastHistogramAt", metrics.at(false, "histogram")),
        ("firstMetricAt", metrics.first_at()),
        ("lastMetricAt", metrics.last_at()),
    ];
    for (name, at) in moments {
        if let Some(at) = at {
            object.insert(name.into(), Value::from(at));
        }
    }
    object.insert("period".into(), period);
    let summaries: Map<String, Value> = metrics
        .summaries()
        .map(|(name, sketch)| (name.to_owned(), summary(sketch)))
        .collect();
    object.insert("summaries".into(), Value::Object(summaries.clone()));
    // Write the data under both names, because tools read either of them.
    object.insert("histograms".into(), Value::Object(summaries));
    object
}

fn summary(sketch: &Sketch) -> Value {
    Value::Object(
        statistics(sketch)
            .into_iter()
            .map(|(name, value)| (name.to_owned(), number::json(value)))
            .collect(),
    )
}
