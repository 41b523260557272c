//! Parser for metrics in Prometheus and OpenMetrics text, JSON, and nginx's stub status.

use plan::server::MetricSource;
use record::server::{Descriptor, MetricReading};
use serde::{
    Deserializer,
    de::{DeserializeSeed, MapAccess, SeqAccess, Visitor},
};
use std::fmt;

use super::LONGEST_NAME;

/// Maximum number of readings in a response. More readings would take hundreds of megabytes.
const MOST_READINGS: usize = 200_000;

pub(super) fn read(text: &str) -> Result<Vec<MetricReading>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['{', '[']) {
        json(text)
    } else if text.trim_start().starts_with("Active connections:") {
        Ok(nginx(text))
    } else {
        prometheus(text)
    }
}

pub(super) fn wanted(readings: Vec<MetricReading>, source: &MetricSource) -> Vec<MetricReading> {
    let wanted = readings
        .into_iter()
        .filter(|reading| source.wants(&reading.of.metric));
    wanted
        .map(|reading| {
            let named = &reading.of;
            if !source.is_counter(&named.metric) {
                return reading;
            }
            let counter = Descriptor::counter(&named.metric, &named.unit);
            let of = match &named.instance {
                Some(instance) => counter.with_instance(instance),
                None => counter,
            };
            MetricReading { of, ..reading }
        })
        .collect()
}

/// Parses Prometheus text format 0.0.4 and OpenMetrics. Skips buckets and quantiles, because the
/// load itself measures response times.
fn prometheus(text: &str) -> Result<Vec<MetricReading>, String> {
    let mut counters = std::collections::BTreeSet::new();
    let mut gauges = std::collections::BTreeSet::new();
    let mut readings = Readings::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            match rest.split_once(' ') {
                Some((name, "counter" | "histogram" | "summary")) => counters.insert(name),
                Some((name, "gauge")) => gauges.insert(name),
                _ => false,
            };
            continue;
        }
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let ExpositionLine {
            name,
            labels,
            value,
        } = sample(line)
            .ok_or_else(|| format!("line {} is not a metric: {line:.60}", number + 1))?;
        let is_spread = labels
            .iter()
            .any(|(name, _)| name == "le" || name == "quantile");
        if is_spread || name.ends_with("_created") {
            continue;
        }
        let base = ["_total", "_sum", "_count"].into_iter();
        let base = base.filter_map(|end| name.strip_suffix(end));
        let is_counter = counters.contains(name)
            // Some metrics end in `_total` although they are declared as gauges.
            || name.ends_with("_total") && !gauges.contains(name)
            || base.into_iter().any(|base| counters.contains(base));
        let of = if is_counter {
            Descriptor::counter(name, "")
        } else {
            Descriptor::gauge(name, unit_of(name))
        };
        let of = match joined(&labels) {
            labels if labels.is_empty() => of,
            labels => of.with_instance(&labels),
        };
        if !readings.push(MetricReading { of, value }) {
            break;
        }
    }
    readings.finish()
}

fn unit_of(name: &str) -> &'static str {
    if name.ends_with("_bytes") { "B" } else { "" }
}

fn joined(labels: &[(String, String)]) -> String {
    let all: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    all.join(",")
}

/// A sample line in Prometheus' text format.
struct ExpositionLine<'l> {
    name: &'l str,
    labels: Vec<(String, String)>,
    value: f64,
}

fn sample(line: &str) -> Option<ExpositionLine<'_>> {
    let end = line.find(['{', ' ', '\t'])?;
    let (name, rest) = line.split_at(end);
    let (labels, rest) = match rest.strip_prefix('{') {
        Some(rest) => labels(rest)?,
        None => (Vec::new(), rest),
    };
    let value = rest.split_whitespace().next()?;
    let value = match value {
        "+Inf" | "Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        other => other.parse().ok()?,
    };
    (!name.is_empty()).then_some(ExpositionLine {
        name,
        labels,
        value,
    })
}

fn labels(mut rest: &str) -> Option<(Vec<(String, String)>, &str)> {
    let mut labels = Vec::new();
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        if let Some(after) = rest.strip_prefix('}') {
            return Some((labels, after));
        }
        let (name, value) = rest.split_once("=\"")?;
        let mut text = String::new();
        let mut characters = value.char_indices();
        let end = loop {
            match characters.next()? {
                (at, '"') => break at,
                (_, '\\') => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        };
        labels.push((name.trim().to_owned(), text));
        rest = &value[end + 1..];
    }
}

/// Returns all numbers in a JSON response by path. List elements become instances. Booleans are 0
/// and 1.
fn json(text: &str) -> Result<Vec<MetricReading>, String> {
    let mut readings = Readings::default();
    let node = JsonNode {
        path: "",
        instance: None,
        readings: &mut readings,
    };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let parsed = node.deserialize(&mut deserializer);
    parsed.and_then(|()| deserializer.end()).map_err(|why| {
        readings
            .error
            .clone()
            .unwrap_or(format!("it is not JSON: {why}"))
    })?;
    readings.finish()
}

/// The readings of a response, within the limits.
#[derive(Default)]
struct Readings {
    all: Vec<MetricReading>,
    has_long_names: bool,
    error: Option<String>,
}

impl Readings {
    /// Adds a reading. Returns `false` if there are too many.
    fn push(&mut self, reading: MetricReading) -> bool {
        if !has_short_name(&reading.of) {
            self.has_long_names = true;
            return true;
        }
        if self.all.len() == MOST_READINGS {
            let most = record::units::count(MOST_READINGS as u64);
            self.error = Some(format!("it has more than {most} metrics"));
            return false;
        }
        self.all.push(reading);
        true
    }

    fn finish(self) -> Result<Vec<MetricReading>, String> {
        match self.error {
            Some(error) => Err(error),
            None if self.all.is_empty() && self.has_long_names => {
                Err("the names of the metrics are too long".to_owned())
            }
            None => Ok(self.all),
        }
    }
}

/// Returns whether a name is short enough. Names stay in memory, so a source that invents names
/// would otherwise use memory and disk without limit.
pub(super) fn has_short_name(of: &Descriptor) -> bool {
    of.metric.len() + of.instance.as_ref().map_or(0, String::len) <= LONGEST_NAME
}

struct JsonNode<'a> {
    path: &'a str,
    instance: Option<&'a str>,
    readings: &'a mut Readings,
}

impl JsonNode<'_> {
    fn number<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        let of = Descriptor::gauge(
            if self.path.is_empty() {
                "value"
            } else {
                self.path
            },
            "",
        );
        let of = match self.instance {
            Some(instance) => of.with_instance(instance),
            None => of,
        };
        if self.readings.push(MetricReading { of, value }) {
            Ok(())
        } else {
            Err(E::custom("too many metrics"))
        }
    }

    /// Returns the node of a path. Truncates a path that is too long, so that its readings are
    /// dropped.
    fn at<'b>(&'b mut self, path: &'b str, instance: Option<&'b str>) -> JsonNode<'b> {
        let cut = path.char_indices().nth(LONGEST_NAME + 1);
        JsonNode {
            path: cut.map_or(path, |(end, _)| &path[..end]),
            instance,
            readings: self.readings,
        }
    }
}

impl<'de> DeserializeSeed<'de> for JsonNode<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for JsonNode<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        self.number(value)
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.number(value as f64)
    }

    fn visit_bool<E: serde::de::Error>(self, is: bool) -> Result<(), E> {
        self.number(f64::from(u8::from(is)))
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let path = if self.path.is_empty() {
                name
            } else {
                format!("{}.{name}", self.path)
            };
            let instance = self.instance;
            map.next_value_seed(self.at(&path, instance))?;
        }
        Ok(())
    }
    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        for place in 0u64.. {
            let place = match self.instance {
                Some(outer) => format!("{outer}.{place}"),
                None => place.to_string(),
            };
            let path = self.path;
            if list
                .next_element_seed(self.at(path, Some(&place)))?
                .is_none()
            {
                break;
            }
        }
        Ok(())
    }
}

/// Parses nginx's stub status: four lines in a fixed format.
fn nginx(text: &str) -> Vec<MetricReading> {
    let numbers = |line: usize| {
        let words = text
            .lines()
            .nth(line)
            .unwrap_or_default()
            .split_whitespace();
        words
            .filter_map(|word| word.parse::<f64>().ok())
            .collect::<Vec<_>>()
    };
    let level = |name: &str, value: Option<&f64>| MetricReading {
        of: Descriptor::gauge(name, ""),
        value: value.copied().unwrap_or(f64::NAN),
    };
    let sum = |name: &str, value: Option<&f64>| MetricReading {
        of: Descriptor::counter(name, ""),
        value: value.copied().unwrap_or(f64::NAN),
    };
    let (active, sums, levels) = (numbers(0), numbers(2), numbers(3));
    vec![
        level("active", active.first()),
        sum("accepted", sums.first()),
        sum("handled", sums.get(1)),
        sum("requests", sums.get(2)),
        level("reading", levels.first()),
        level("writing", levels.get(1)),
        level("waiting", levels.get(2)),
    ]
}

const REDIS_SUMS: [&str; 12] = [
    "total_connections_received",
    "total_commands_processed",
    "total_net_input_bytes",
    "total_net_output_bytes",
    "rejected_connections",
    "expired_keys",
    "evicted_keys",
    "keyspace_hits",
    "keyspace_misses",
    "used_cpu_sys",
    "used_cpu_user",
    "total_error_replies",
];

pub(super) fn redis(text: &str) -> Vec<MetricReading> {
    let fields = text
        .lines()
        .filter_map(|line| line.trim_end().split_once(':'));
    fields
        .filter_map(|(name, value)| {
            let value = value.parse().ok()?;
            let of = if REDIS_SUMS.contains(&name) {
                Descriptor::counter(name, "")
            } else if name.starts_with("used_memory") {
                Descriptor::gauge(name, "B")
            } else {
                Descriptor::gauge(name, "")
            };
            Some(MetricReading { of, value })
        })
        .collect()
}

/// Parses lines of the form `NAME VALUE`, as printed by commands.
pub(super) fn lines(text: &str) -> Result<Vec<MetricReading>, String> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines
        .map(|line| {
            let read = line
                .split_once(char::is_whitespace)
                .and_then(|(name, value)| {
                    let value = value.trim().parse().ok()?;
                    Some(MetricReading {
                        of: Descriptor::gauge(name, ""),
                        value,
                    })
                });
            read.ok_or_else(|| format!("`{line:.60}` is not NAME VALUE"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use record::server::MetricKind;

    use super::*;

    fn source(only: &[&str], counters: &[&str]) -> MetricSource {
        let owned = |all: &[&str]| all.iter().map(|&one| one.to_owned()).collect();
        MetricSource {
            only: owned(only),
            counters: owned(counters),
            ..plan::server::parse("app=http://x").unwrap()
        }
    }

    fn readings(text: &str, source: &MetricSource) -> Vec<(String, Option<String>, bool, f64)> {
        let readings = wanted(read(text).unwrap(), source);
        let reported = |one: MetricReading| {
            let is_counter = one.of.sort == MetricKind::Counter;
            (one.of.metric, one.of.instance, is_counter, one.value)
        };
        readings.into_iter().map(reported).collect()
    }

    #[test]
    fn prometheus_text_with_all_that_it_may_hold() {
        let text = "# HELP a b\n# TYPE requests counter\nrequests{method=\"GET\",path=\"/{id}, \\\"x\\\"\"} 7 1700000000\n\
            # TYPE wait histogram\nwait_bucket{le=\"0.1\"} 3\nwait_sum 1.5e0\nwait_count 3\n\
            # TYPE heap_bytes gauge\nheap_bytes 12\nhits_total 9\n# TYPE handles_total gauge\nhandles_total 3\nwait_created 17\nup NaN\n# EOF\n";
        let reported = readings(text, &source(&[], &[]));
        let plain: Vec<_> = reported
            .iter()
            .map(|(name, _, counter, _)| (name.as_str(), *counter))
            .collect();
        assert_eq!(
            plain,
            [
                ("requests", true),
                ("wait_sum", true),
                ("wait_count", true),
                ("heap_bytes", false),
                ("hits_total", true),
                ("handles_total", false),
                ("up", false)
            ]
        );
        assert_eq!(
            reported[0].1.as_deref(),
            Some("method=GET,path=/{id}, \"x\"")
        );
        assert_eq!(reported[0].3, 7.0);
        assert!(read("<html>no</html>\n").is_err());
        assert!(read("a{b=\"c\n").is_err());
    }

    #[test]
    fn too_many_metrics_and_long_names_are_bounded() {
        let many = "a 1\n".repeat(MOST_READINGS + 1);
        assert_eq!(read(&many).unwrap_err(), "it has more than 200,000 metrics");
        let many = format!("[{}1]", "1,".repeat(MOST_READINGS));
        assert_eq!(read(&many).unwrap_err(), "it has more than 200,000 metrics");
        let long = "x".repeat(1_000_000);
        let json = format!("{{\"{long}\": [{}1], \"b\": 2}}", "1,".repeat(100_000));
        let kept = read(&json).unwrap();
        assert_eq!((kept.len(), kept[0].of.metric.as_str()), (1, "b"));
        let error = read(&format!("{long} 1\n")).unwrap_err();
        assert_eq!(error, "the names of the metrics are too long");
        assert!(
            read("{\"a\": 1} {")
                .unwrap_err()
                .starts_with("it is not JSON")
        );
    }

    #[test]
    fn json_by_its_paths_and_nginx_by_its_lines() {
        let puma = r#"{"workers":2,"booted":true,"at":"x","worker_status":[{"last":{"backlog":1}},{"last":{"backlog":3}}]}"#;
        let mut all = readings(puma, &source(&["w*"], &["workers"]));
        all.sort_by(|one, other| one.0.cmp(&other.0));
        assert_eq!(
            all,
            [
                (
                    "worker_status.last.backlog".into(),
                    Some("0".into()),
                    false,
                    1.0
                ),
                (
                    "worker_status.last.backlog".into(),
                    Some("1".into()),
                    false,
                    3.0
                ),
                ("workers".into(), None, true, 2.0),
            ]
        );
        let nginx = "Active connections: 3 \nserver accepts handled requests\n 10 10 25 \nReading: 0 Writing: 1 Waiting: 2 \n";
        let all = readings(nginx, &source(&[], &[]));
        assert_eq!(all[3], ("requests".into(), None, true, 25.0));
        assert_eq!(all[6], ("waiting".into(), None, false, 2.0));
    }

    #[test]
    fn what_a_redis_says() {
        let text = "# Memory\r\nused_memory:1024\r\nused_memory_human:1K\r\nkeyspace_hits:7\r\n";
        let reported: Vec<_> = redis(text)
            .into_iter()
            .map(|one| (one.of.sort, one.value))
            .collect();
        assert_eq!(
            reported,
            [(MetricKind::Gauge, 1024.0), (MetricKind::Counter, 7.0)]
        );
    }

    #[test]
    fn what_commands_write() {
        assert_eq!(lines("a 1\n\n b.c  2.5 \n").unwrap().len(), 2);
        assert!(lines("a one").is_err());
    }
}
