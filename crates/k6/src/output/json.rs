//! Lines of the output `--out json`.

use serde_json::{Map, Value, json};

use crate::{
    log::{TimeZone, rfc3339_nano},
    metric::{Contains, MetricId, Registry},
    summary::number::json_value,
    tags::Tags,
    threshold::evaluate::ThresholdSet,
};

/// A sample, as outputs receive it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<'a> {
    /// Time in nanoseconds since 1970.
    pub wall_ns: i64,
    /// Metric.
    pub metric: MetricId,
    /// Value.
    pub value: f64,
    /// Tags.
    pub tags: &'a Tags,
    /// Metadata, such as `iter` and `vu`.
    pub metadata: &'a [(&'a str, &'a str)],
}

/// A set of metrics.
#[derive(Debug, Clone, Default)]
pub struct Definitions(Vec<bool>);

impl Definitions {
    /// Adds a metric. Returns whether it is new.
    pub fn add(&mut self, metric: MetricId) -> bool {
        let index = metric.0 as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, false);
        }
        let known = self.0.get_mut(index);
        known.is_some_and(|known| !std::mem::replace(known, true))
    }
}

/// Makes the lines of samples. The definition of a metric must precede its first sample.
#[derive(Debug, Clone)]
pub struct JsonLines {
    seen: Definitions,
    zone: TimeZone,
}

impl JsonLines {
    /// Creates a formatter for times in a time zone.
    #[must_use]
    pub fn new(zone: TimeZone) -> JsonLines {
        JsonLines {
            seen: Definitions::default(),
            zone,
        }
    }

    /// Whether a metric was not asked for before.
    pub fn is_first(&mut self, metric: MetricId) -> bool {
        self.seen.add(metric)
    }

    /// Appends the definition of a metric. Unknown metrics are ignored.
    pub fn define(
        &self,
        lines: &mut String,
        metric: MetricId,
        registry: &Registry,
        thresholds: &ThresholdSet,
    ) {
        if registry.all().get(metric.0 as usize).is_some() {
            let definition = definition(registry, metric, thresholds);
            lines.push_str(&definition.to_string());
            lines.push('\n');
        }
    }

    /// Appends the line of a sample. Samples of unknown metrics are ignored.
    pub fn push(&self, lines: &mut String, sample: &Sample<'_>, registry: &Registry) {
        let Some(metric) = registry.all().get(sample.metric.0 as usize) else {
            return;
        };
        let pairs = |pairs: &mut dyn Iterator<Item = (&str, &str)>| {
            let object = pairs.map(|(name, value)| (name.to_owned(), json!(value)));
            object.collect::<Map<_, _>>()
        };
        let mut data = json!({
            "time": rfc3339_nano(sample.wall_ns, &self.zone),
            "value": json_value(sample.value),
            "tags": pairs(&mut sample.tags.iter()),
        });
        if !sample.metadata.is_empty() {
            data["metadata"] = Value::Object(pairs(&mut sample.metadata.iter().copied()));
        }
        let point = json!({"metric": metric.name, "type": "Point", "data": data});
        lines.push_str(&point.to_string());
        lines.push('\n');
    }
}

fn definition(registry: &Registry, id: MetricId, thresholds: &ThresholdSet) -> Value {
    let metric = registry.get(id);
    let own = thresholds.find(&metric.name);
    let own = own.map_or(&[][..], |own| &own.thresholds);
    let sources: Vec<&str> = own
        .iter()
        .map(|threshold| threshold.source.as_str())
        .collect();
    let subs = thresholds
        .metrics()
        .iter()
        .filter(|other| other.selection.metric == metric.name && !other.selection.tags.is_empty());
    let subs: Vec<Value> = subs
        .map(|sub| {
            let tags = sub.selection.tags.iter();
            let tags: Map<_, _> = tags
                .map(|(name, value)| (name.clone(), json!(value)))
                .collect();
            json!({
                "name": sub.selection.name,
                "suffix": sub.selection.suffix().unwrap_or_default(),
                "tags": tags,
            })
        })
        .collect();
    json!({
        "type": "Metric",
        "data": {
            "name": metric.name,
            "type": metric.metric_type.name(),
            "contains": match metric.contains {
                Contains::Default => "default",
                Contains::Time => "time",
                Contains::Data => "data",
            },
            "thresholds": sources,
            "submetrics": if subs.is_empty() { Value::Null } else { Value::Array(subs) },
        },
        "metric": metric.name,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        metric::{HTTP_REQ_DURATION, HTTP_REQS},
        options::value::OptionValue,
        threshold::Thresholds,
    };

    #[test]
    fn lines_of_definitions_and_samples() {
        let registry = Registry::default();
        let definitions = json!({"http_req_duration": ["p(95)<500"],
            "http_req_duration{ a:b }": ["max<1"]});
        let thresholds = Thresholds::from_json(&definitions).unwrap().unwrap();
        let thresholds = ThresholdSet::parse(&thresholds, &registry).unwrap();
        let tags = Tags::default().with("method", "GET");
        let mut sample = Sample {
            wall_ns: 1_767_323_045_123_456_789,
            metric: HTTP_REQS,
            value: 1.0,
            tags: &tags,
            metadata: &[],
        };
        let mut json = JsonLines::new(TimeZone::UTC);
        let mut lines = String::new();
        assert!(json.is_first(HTTP_REQS) && !json.is_first(HTTP_REQS));
        json.define(&mut lines, HTTP_REQS, &registry, &thresholds);
        json.push(&mut lines, &sample, &registry);
        sample.value = 0.5;
        sample.metadata = &[("vu", "1")];
        json.push(&mut lines, &sample, &registry);
        let point = |value: &str, more: &str| {
            format!(
                "{{\"metric\":\"http_reqs\",\"type\":\"Point\",\"data\":{{\"time\":\
                 \"2026-01-02T03:04:05.123456789Z\",\"value\":{value},\"tags\":{{\"method\":\
                 \"GET\"}}{more}}}}}\n"
            )
        };
        let expected = format!(
            "{{\"type\":\"Metric\",\"data\":{{\"name\":\"http_reqs\",\"type\":\"counter\",\
             \"contains\":\"default\",\"thresholds\":[],\"submetrics\":null}},\"metric\":\
             \"http_reqs\"}}\n{}{}",
            point("1", ""),
            point("0.5", ",\"metadata\":{\"vu\":\"1\"}")
        );
        assert_eq!(lines, expected);
        lines.clear();
        json.define(&mut lines, HTTP_REQ_DURATION, &registry, &thresholds);
        assert!(lines.contains(
            "\"thresholds\":[\"p(95)<500\"],\"submetrics\":[{\"name\":\"http_req_duration{ a:b }\",\
             \"suffix\":\" a:b \",\"tags\":{\"a\":\"b\"}}]"
        ));
    }
}
