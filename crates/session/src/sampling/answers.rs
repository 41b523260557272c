//! Parses Prometheus responses: series and scrape intervals.

use std::collections::BTreeMap;

use serde_json::Value;

/// The labels of a series, and its values by time in milliseconds since 1970.
pub(super) struct AnsweredSeries {
    labels: BTreeMap<String, String>,
    values: Vec<(u64, f64)>,
}

/// The values of the instances, by time in milliseconds since 1970.
pub(super) type Steps = BTreeMap<u64, Vec<(String, f64)>>;

impl AnsweredSeries {
    /// The labels as the name of an instance. Empty without labels.
    pub fn instance(&self) -> String {
        let pairs = self.labels.iter().filter(|(name, _)| *name != "__name__");
        let pairs: Vec<String> = pairs
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join(",")
    }

    /// Whether the series may belong to a target: no label that both have differs.
    fn may_be_of(&self, target: &Value) -> bool {
        ["job", "instance"].into_iter().all(|name| {
            let own = self.labels.get(name);
            let of_target = target
                .get("labels")
                .and_then(|labels| labels.get(name)?.as_str());
            own.is_none() || own.map(String::as_str) == of_target
        })
    }
}

pub(super) fn series(data: &Value) -> Result<Vec<AnsweredSeries>, String> {
    let kind = data.get("resultType").and_then(Value::as_str);
    let result = data
        .get("result")
        .ok_or("its response is not that of a Prometheus server")?;
    match kind {
        Some("scalar") => Ok(vec![AnsweredSeries {
            labels: BTreeMap::new(),
            values: point(result).into_iter().collect(),
        }]),
        Some("vector" | "matrix") => {
            let all = result.as_array().map_or(&[][..], Vec::as_slice);
            Ok(all.iter().map(one).collect())
        }
        Some("string") => Err("the result is a text: write a query for numbers".to_owned()),
        _ => Err("its response is not that of a Prometheus server".to_owned()),
    }
}

fn one(series: &Value) -> AnsweredSeries {
    let labels = series.get("metric").and_then(Value::as_object);
    let labels = labels.into_iter().flatten();
    let labels =
        labels.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())));
    let many = series.get("values").and_then(Value::as_array);
    let points = many.into_iter().flatten().chain(series.get("value"));
    AnsweredSeries {
        labels: labels.collect(),
        values: points.filter_map(point).collect(),
    }
}

/// A time and a value. The value is text such as `NaN` or `+Inf`.
fn point(pair: &Value) -> Option<(u64, f64)> {
    let at = pair.get(0)?.as_f64()?;
    let value = match pair.get(1)?.as_str()? {
        "+Inf" => f64::INFINITY,
        "-Inf" => f64::NEG_INFINITY,
        text => text.parse().ok()?,
    };
    Some(((at * 1e3).round() as u64, value))
}

pub(super) fn scalar(data: &Value) -> Option<f64> {
    series(data)
        .ok()?
        .first()?
        .values
        .first()
        .map(|(_, value)| *value)
}

pub(super) fn steps(all: &[AnsweredSeries], most: usize) -> Result<Steps, String> {
    let mut steps = Steps::new();
    for one in all.iter().take(most) {
        let instance = one.instance();
        for (at, value) in &one.values {
            let here = steps.entry(*at).or_default();
            if here.iter().any(|(known, _)| *known == instance) {
                return Err(format!(
                    "the result has two series {{{instance}}}: write a query for one"
                ));
            }
            here.push((instance.clone(), *value));
        }
    }
    Ok(steps)
}

pub(super) fn interval_of_targets(data: &Value, series: &[AnsweredSeries]) -> Option<u64> {
    let targets = data.get("activeTargets")?.as_array()?;
    let is_asked =
        |target: &&Value| series.is_empty() || series.iter().any(|series| series.may_be_of(target));
    let intervals = targets.iter().filter(is_asked);
    intervals
        .filter_map(|target| duration(target.get("scrapeInterval")?.as_str()?))
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

/// Parses a duration as Prometheus writes it (`1m30s`). Returns nanoseconds.
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
    use serde_json::json;

    use super::*;

    #[test]
    fn matrices_vectors_and_scalars() {
        let data = json!({"resultType": "matrix", "result": [
            {"metric": {"__name__": "a", "job": "x", "code": "200"}, "values": [[100, "1"], [101.0, "NaN"]]},
            {"metric": {"job": "y"}, "values": [[100, "+Inf"]]},
        ]});
        let all = series(&data).unwrap();
        assert_eq!(all[0].instance(), "code=200,job=x");
        let steps = steps(&all, 9).unwrap();
        assert_eq!(
            steps[&100_000],
            [
                ("code=200,job=x".into(), 1.0),
                ("job=y".into(), f64::INFINITY)
            ]
        );
        assert!(steps[&101_000][0].1.is_nan());
        let time = json!({"resultType": "scalar", "result": [1435781451.781, "1435781451.5"]});
        assert_eq!(scalar(&time), Some(1_435_781_451.5));
        let vector = json!({"resultType": "vector", "result": [{"metric": {}, "value": [1, "2"]}]});
        assert_eq!(series(&vector).unwrap()[0].instance(), "");
        for wrong in [
            json!({}),
            json!({"resultType": "string", "result": [1, "a"]}),
            json!([1]),
        ] {
            assert!(series(&wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_interval_is_that_of_what_is_asked_for() {
        let targets = json!({"activeTargets": [
            {"labels": {"job": "app", "instance": "h:1"}, "scrapeInterval": "1s"},
            {"labels": {"job": "slow", "instance": "h:2"}, "scrapeInterval": "1m30s"},
        ]});
        let of = |labels: Value| {
            let data =
                json!({"resultType": "vector", "result": [{"metric": labels, "value": [1, "2"]}]});
            interval_of_targets(&targets, &series(&data).unwrap())
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
