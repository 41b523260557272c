//! Parser for Prometheus responses: series and scrape intervals. It reads the text as a stream,
//! because a generic JSON value of many small series takes a hundred times as much memory as the
//! text.

use std::{borrow::Cow, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor, value::MapAccessDeserializer},
};

/// Maximum number of series to keep from a query.
pub(super) const MOST: usize = 200;

/// A response of the Prometheus API: the requested data or an error.
#[derive(Deserialize)]
pub(super) struct ApiResponse<D> {
    pub data: Option<D>,
    pub error: Option<String>,
}

/// The data of a query.
#[derive(Deserialize)]
pub(super) struct QueryData {
    #[serde(rename = "resultType")]
    kind: String,
    result: QueryResult,
}

/// The data of `targets`.
#[derive(Deserialize)]
pub(super) struct TargetData {
    #[serde(rename = "activeTargets")]
    active: Vec<ScrapeTarget>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ScrapeTarget {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    scrape_interval: Option<String>,
}

/// The data of `status/config`.
#[derive(Deserialize)]
pub(super) struct ConfigData {
    pub yaml: String,
}

#[derive(Default)]
struct QueryResult {
    series: Vec<AnsweredSeries>,
    left_out: usize,
    /// Time of a scalar result. `None` if the result is not a scalar.
    moment: Option<f64>,
    text: Option<String>,
}

/// A series: labels, and values by milliseconds since 1970.
#[derive(Deserialize)]
pub(super) struct AnsweredSeries {
    #[serde(default, rename = "metric")]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    values: Vec<Point>,
    value: Option<Point>,
}

struct Point {
    at_ms: u64,
    /// Value of the point. `None` if it is not a number.
    value: Option<f64>,
}

/// The series of a response, at most [`MOST`].
pub(super) struct SeriesList {
    pub series: Vec<AnsweredSeries>,
    pub left_out: usize,
}

/// Value of each instance, by milliseconds since 1970.
pub(super) type Steps = BTreeMap<u64, Vec<(String, f64)>>;

impl AnsweredSeries {
    /// Returns the labels as the name of an instance. Empty if there are no labels.
    pub fn instance(&self) -> String {
        let pairs = self.labels.iter().filter(|(name, _)| *name != "__name__");
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(",")
    }

    fn points(&self) -> impl Iterator<Item = (u64, f64)> + '_ {
        let points = self.values.iter().chain(&self.value);
        points.filter_map(|point| Some((point.at_ms, point.value?)))
    }

    /// Returns whether the series may belong to a target. Returns `false` if their `job` or
    /// `instance` labels differ.
    fn may_be_of(&self, target: &ScrapeTarget) -> bool {
        ["job", "instance"].into_iter().all(|name| {
            let own = self.labels.get(name);
            own.is_none() || own == target.labels.get(name)
        })
    }
}

impl QueryData {
    /// Returns the series of the response.
    ///
    /// # Errors
    ///
    /// Fails if the response contains no numbers.
    pub fn series(self) -> Result<SeriesList, String> {
        let QueryResult {
            mut series,
            left_out,
            moment,
            text,
        } = self.result;
        match self.kind.as_str() {
            "scalar" => {
                let point = moment.zip(text).map(|(at, text)| Point::new(at, &text));
                series = vec![AnsweredSeries {
                    labels: BTreeMap::new(),
                    values: Vec::new(),
                    value: point,
                }];
            }
            "vector" | "matrix" => {}
            "string" => {
                return Err("the result is text: use a query that returns numbers".to_owned());
            }
            _ => return Err("the response is not from a Prometheus server".to_owned()),
        }
        Ok(SeriesList { series, left_out })
    }

    /// Returns the first value.
    pub fn scalar(self) -> Option<f64> {
        let all = self.series().ok()?.series;
        all.first()?.points().next().map(|(_, value)| value)
    }
}

impl Point {
    /// Creates a point from a value in text form, which may be `NaN` or `+Inf`.
    fn new(at_s: f64, text: &str) -> Point {
        Point {
            at_ms: (at_s * 1e3).round() as u64,
            value: match text {
                "+Inf" => Some(f64::INFINITY),
                "-Inf" => Some(f64::NEG_INFINITY),
                text => text.parse().ok(),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Point {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Point, D::Error> {
        let (at_s, text) = <(f64, Cow<'de, str>)>::deserialize(deserializer)?;
        Ok(Point::new(at_s, &text))
    }
}

impl<'de> Deserialize<'de> for QueryResult {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<QueryResult, D::Error> {
        deserializer.deserialize_seq(ResultVisitor)
    }
}

struct ResultVisitor;

impl<'de> Visitor<'de> for ResultVisitor {
    type Value = QueryResult;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of series, or a time and a value")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<QueryResult, A::Error> {
        let mut result = QueryResult::default();
        while result.series.len() < MOST {
            match list.next_element()? {
                Some(Element::Series(series)) => result.series.push(series),
                Some(Element::Number(at_s)) => result.moment = Some(at_s),
                Some(Element::Text(text)) => result.text = Some(text),
                None => return Ok(result),
            }
        }
        while list.next_element::<IgnoredAny>()?.is_some() {
            result.left_out += 1;
        }
        Ok(result)
    }
}

/// An element of a result.
enum Element {
    Series(AnsweredSeries),
    Number(f64),
    Text(String),
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Element, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a series, a time or a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Element, A::Error> {
        AnsweredSeries::deserialize(MapAccessDeserializer::new(map)).map(Element::Series)
    }

    fn visit_f64<E>(self, number: f64) -> Result<Element, E> {
        Ok(Element::Number(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Element, E> {
        Ok(Element::Number(number as f64))
    }

    fn visit_str<E>(self, text: &str) -> Result<Element, E> {
        Ok(Element::Text(text.to_owned()))
    }
}

/// Returns the values by time.
pub(super) fn steps(all: &[AnsweredSeries]) -> Result<Steps, String> {
    let mut steps = Steps::new();
    for one in all {
        let instance = one.instance();
        for (at, value) in one.points() {
            let here = steps.entry(at).or_default();
            if here.iter().any(|(known, _)| *known == instance) {
                return Err(format!(
                    "the result has two series {{{instance}}}: use a query that returns one"
                ));
            }
            here.push((instance.clone(), value));
        }
    }
    Ok(steps)
}

pub(super) fn interval_of_targets(data: &TargetData, series: &[AnsweredSeries]) -> Option<u64> {
    let is_asked = |target: &&ScrapeTarget| {
        series.is_empty() || series.iter().any(|series| series.may_be_of(target))
    };
    let intervals = data.active.iter().filter(is_asked);
    intervals
        .filter_map(|target| duration(target.scrape_interval.as_deref()?))
        .max()
}

pub(super) fn interval_of_config(yaml: &str) -> Option<u64> {
    let lines = yaml.lines().filter_map(|line| {
        line.trim()
            .trim_start_matches("- ")
            .strip_prefix("scrape_interval:")
    });
    lines.filter_map(|text| duration(text.trim())).max()
}

/// Parses a duration in Prometheus' format (`1m30s`). Returns nanoseconds.
fn duration(text: &str) -> Option<u64> {
    let (mut rest, mut sum) = (text, 0u64);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit())?;
        let unit = rest[digits..].find(|c: char| c.is_ascii_digit());
        let end = unit.map_or(rest.len(), |unit| digits + unit);
        let ms: u64 = match &rest[digits..end] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            _ => return None,
        };
        let number: u64 = rest[..digits].parse().ok()?;
        sum = sum.checked_add(number.checked_mul(ms)?)?;
        rest = &rest[end..];
    }
    sum.checked_mul(1_000_000).filter(|ns| *ns > 0)
}

#[cfg(test)]
mod tests {
    use plan::units::SECOND;
    use serde_json::{Value, json};

    use super::*;

    fn series(data: &Value) -> Result<SeriesList, String> {
        let data: QueryData = serde_json::from_value(data.clone()).map_err(|e| e.to_string())?;
        data.series()
    }

    #[test]
    fn matrices_vectors_and_scalars() {
        let data = json!({"resultType": "matrix", "result": [
            {"metric": {"__name__": "a", "job": "x", "code": "200"}, "values": [[100, "1"], [101.0, "NaN"]]},
            {"metric": {"job": "y"}, "values": [[100, "+Inf"]]},
        ]});
        let all = series(&data).unwrap().series;
        assert_eq!(all[0].instance(), "code=200,job=x");
        let steps = steps(&all).unwrap();
        assert_eq!(
            steps[&100_000],
            [
                ("code=200,job=x".into(), 1.0),
                ("job=y".into(), f64::INFINITY)
            ]
        );
        assert!(steps[&101_000][0].1.is_nan());
        let time = json!({"resultType": "scalar", "result": [1435781451.781, "1435781451.5"]});
        let time: QueryData = serde_json::from_value(time).unwrap();
        assert_eq!(time.scalar(), Some(1_435_781_451.5));
        let vector = json!({"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]});
        assert_eq!(series(&vector).unwrap().series[0].instance(), "");
        for wrong in [
            json!({}),
            json!({"resultType": "string", "result": [1, "a"]}),
            json!([1]),
        ] {
            assert!(series(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn series_above_the_limit_are_counted() {
        let one = |n: usize| json!({"metric": {"n": n.to_string()}, "value": [1, "2"]});
        let all: Vec<Value> = (0..MOST + 7).map(one).collect();
        let list = series(&json!({"resultType": "vector", "result": all})).unwrap();
        assert_eq!((list.series.len(), list.left_out), (MOST, 7));
        assert_eq!(list.series[MOST - 1].instance(), format!("n={}", MOST - 1));
    }

    #[test]
    fn the_interval_is_that_of_what_is_asked_for() {
        let targets: TargetData = serde_json::from_value(json!({"activeTargets": [
            {"labels": {"job": "app", "instance": "h:1"}, "scrapeInterval": "1s"},
            {"labels": {"job": "slow", "instance": "h:2"}, "scrapeInterval": "1m30s"},
        ]}))
        .unwrap();
        let of = |labels: Value| {
            let data =
                json!({"resultType": "vector", "result": [{"metric": labels, "value": [1, "2"]}]});
            interval_of_targets(&targets, &series(&data).unwrap().series)
        };
        assert_eq!(of(json!({"job": "app"})), Some(SECOND));
        assert_eq!(of(json!({"code": "200"})), Some(90 * SECOND));
        assert_eq!(interval_of_targets(&targets, &[]), Some(90 * SECOND));
        let config = "global:\n  scrape_interval: 15s\nscrape_configs:\n- job_name: a\n  scrape_interval: 500ms\n";
        assert_eq!(interval_of_config(config), Some(15 * SECOND));
        assert_eq!(interval_of_config("global: {}\n"), None);
        for (text, ns) in [
            ("1h", Some(3600 * SECOND)),
            ("5", None),
            ("x", None),
            ("1y", None),
            ("0s", None),
            ("", None),
        ] {
            assert_eq!(duration(text), ns, "{text}");
        }
    }
}
