//! Renders a report file of Artillery 2 or 1 in the layout of the console.

use serde_json::{Map, Value};

use super::{
    Zone,
    layout::{Layout, ShownMetric},
    number::{decimal, rounded},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RerenderError {
    NotJson(usize, usize, String),
    NotAReport(&'static str),
}

impl std::fmt::Display for RerenderError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RerenderError::NotJson(line, column, reason) => {
                write!(f, ":{line}:{column}: this is not JSON: {reason}")
            }
            RerenderError::NotAReport(reason) => write!(
                f,
                ": this is not an Artillery report: {reason} (`artillery run -o FILE` writes one)"
            ),
        }
    }
}

impl std::error::Error for RerenderError {}

pub fn rerendered(text: &str, zone: &Zone, width: usize) -> Result<String, RerenderError> {
    let report: Value = serde_json::from_str(text).map_err(|error| {
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        RerenderError::NotJson(error.line(), error.column(), reason.to_owned())
    })?;
    let Value::Object(report) = report else {
        return Err(RerenderError::NotAReport("the file is not a JSON object"));
    };
    let aggregate = match report.get("aggregate") {
        Some(Value::Object(aggregate)) => aggregate,
        Some(_) => {
            return Err(RerenderError::NotAReport(
                "`aggregate` is not a JSON object",
            ));
        }
        None => return Err(RerenderError::NotAReport("`aggregate` is missing")),
    };
    let number = |key: &str| aggregate.get(key).and_then(Value::as_f64);
    let (figures, at_ms) = if aggregate.contains_key("scenariosCreated") {
        (older(aggregate), at_of_older(aggregate))
    } else if aggregate.contains_key("counters") {
        (newer(aggregate)?, number("lastMetricAt"))
    } else {
        return Err(RerenderError::NotAReport(
            "`aggregate` has neither `counters` nor `scenariosCreated`",
        ));
    };
    let layout = Layout {
        width: width.clamp(50, 79),
        hidden: &[],
    };
    let time = at_ms.filter(|ms| (0.0..1e13).contains(ms));
    let time = time.map_or_else(
        || "unknown time".to_owned(),
        |ms| zone.time(ms as u64 * 1_000_000),
    );
    Ok(layout.summary_of(&time, &sorted(figures)))
}

type RenderedFigures = Vec<(String, ShownMetric)>;

fn sorted(mut figures: RenderedFigures) -> RenderedFigures {
    figures.sort_by(|(a, _), (b, _)| a.encode_utf16().cmp(b.encode_utf16()));
    figures
}

fn newer(aggregate: &Map<String, Value>) -> Result<RenderedFigures, RerenderError> {
    let mut figures = RenderedFigures::new();
    for (name, value) in section(aggregate, "counters")? {
        figures.push((name.clone(), ShownMetric::Value(text(value))));
    }
    for (name, value) in section(aggregate, "rates")? {
        figures.push((
            name.clone(),
            ShownMetric::Value(format!("{}/sec", text(value))),
        ));
    }
    // Both keys contain the same data, and older files contain only one of them.
    let summaries = if aggregate.contains_key("summaries") {
        section(aggregate, "summaries")?
    } else {
        section(aggregate, "histograms")?
    };
    for (name, value) in summaries {
        let Value::Object(statistics) = value else {
            return Err(RerenderError::NotAReport(
                "an item of `summaries` is not a JSON object",
            ));
        };
        figures.push((name.clone(), summary(statistics)));
    }
    Ok(figures)
}

fn section<'a>(
    aggregate: &'a Map<String, Value>,
    key: &str,
) -> Result<Vec<(&'a String, &'a Value)>, RerenderError> {
    match aggregate.get(key) {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Object(entries)) => Ok(entries.iter().collect()),
        Some(_) => Err(RerenderError::NotAReport(
            "`counters`, `rates` or `summaries` is not a JSON object",
        )),
    }
}

fn summary(statistics: &Map<String, Value>) -> ShownMetric {
    let render = |name: &str| Some((name.to_owned(), text(statistics.get(name)?)));
    ShownMetric::Statistics(
        ["min", "max", "mean", "median", "p95", "p99"]
            .into_iter()
            .filter_map(render)
            .collect(),
    )
}

/// Reads the figures of Artillery 1, which has fields instead of counters.
fn older(aggregate: &Map<String, Value>) -> RenderedFigures {
    let mut figures = RenderedFigures::new();
    for (key, name) in [
        ("scenariosCreated", "vusers.created"),
        ("scenariosCompleted", "vusers.completed"),
        ("scenariosAvoided", "vusers.skipped"),
        ("requestsCompleted", "http.responses"),
    ] {
        let value = aggregate.get(key).filter(|value| value.is_number());
        if let Some(value) = value.filter(|n| key != "scenariosAvoided" || n.as_f64() != Some(0.0))
        {
            figures.push((name.to_owned(), ShownMetric::Value(text(value))));
        }
    }
    for (key, prefix) in [
        ("codes", "http.codes."),
        ("errors", "errors."),
        ("scenarioCounts", "vusers.created_by_name."),
        ("counters", ""),
    ] {
        for (name, value) in members(aggregate, key).filter(|(_, value)| value.is_number()) {
            figures.push((format!("{prefix}{name}"), ShownMetric::Value(text(value))));
        }
    }
    for (key, name) in [
        ("latency", "http.response_time"),
        ("scenarioDuration", "vusers.session_length"),
    ] {
        if let Some(Value::Object(statistics)) = aggregate.get(key)
            && statistics.values().any(Value::is_number)
        {
            figures.push((name.to_owned(), summary(statistics)));
        }
    }
    for (name, value) in members(aggregate, "customStats") {
        if let Value::Object(statistics) = value {
            figures.push((name.clone(), summary(statistics)));
        }
    }
    if let Some(mean) = aggregate.get("rps").and_then(|rps| rps.get("mean")) {
        figures.push((
            "http.request_rate".to_owned(),
            ShownMetric::Value(format!("{}/sec", text(mean))),
        ));
    }
    figures
}

fn members<'a>(
    aggregate: &'a Map<String, Value>,
    key: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    aggregate
        .get(key)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
}

fn at_of_older(aggregate: &Map<String, Value>) -> Option<f64> {
    match aggregate.get("timestamp")? {
        Value::Number(ms) => ms.as_f64(),
        Value::String(date) => date
            .parse::<jiff::Timestamp>()
            .ok()
            .map(|moment| moment.as_millisecond() as f64),
        _ => None,
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Number(n) => n
            .as_f64()
            .map_or_else(|| n.to_string(), |n| decimal(rounded(n))),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn render(report: &Value) -> String {
        match rerendered(&report.to_string(), &Zone::fixed(0), 50) {
            Ok(text) => text,
            Err(error) => format!("{error}"),
        }
    }

    #[test]
    fn both_shapes() {
        let newer = json!({"aggregate": {
            "counters": {"vusers.created": 20, "http.codes.200": 199},
            "rates": {"http.request_rate": 20},
            "lastMetricAt": 1_790_000_014_877_u64,
            "summaries": {"http.response_time": {"min": 1, "max": 48, "median": 5.04, "p95": 13.9, "p99": 37.7}},
        }});
        let lines = "--------------------------------\nSummary report @ 14:13:34(+0000)\n--------------------------------\n\n\
            http.codes.200: ................................... 199\n\
            http.request_rate: ................................ 20/sec\n\
            http.response_time:\n  min: ............................................ 1\n  max: ............................................ 48\n\
            \x20 median: ......................................... 5\n  p95: ............................................ 13.9\n\
            \x20 p99: ............................................ 37.7\n\
            vusers.created: ................................... 20\n";
        assert_eq!(render(&newer), lines);
        let older = json!({"aggregate": {
            "timestamp": "2020-01-01T10:00:00.000Z", "scenariosCreated": 20, "scenariosAvoided": 0, "codes": {"200": 199},
            "latency": {"min": 1, "max": 48, "median": 5, "p95": 13.9, "p99": 37.7}, "rps": {"count": 199, "mean": 19.98},
            "scenarioDuration": {"min": null, "max": null},
        }});
        let wanted = lines.replace("14:13:34", "10:00:00");
        assert_eq!(render(&older), wanted);
    }

    #[test]
    fn other_files_are_not_reports() {
        let odd = |text: &str| rerendered(text, &Zone::fixed(0), 79).map_err(|e| e.to_string());
        for (text, reason) in [
            ("", ":1:0: this is not JSON: EOF while parsing a value"),
            ("{\n  \"a\": }", ":2:8: this is not JSON: expected value"),
            (
                "[]",
                ": this is not an Artillery report: the file is not a JSON object",
            ),
            (
                "{}",
                ": this is not an Artillery report: `aggregate` is missing",
            ),
            (
                "{\"aggregate\": 5}",
                ": this is not an Artillery report: `aggregate` is not a JSON object",
            ),
            (
                "{\"aggregate\": {}}",
                "neither `counters` nor `scenariosCreated`",
            ),
            (
                "{\"aggregate\": {\"counters\": 5}}",
                "`counters`, `rates` or `summaries` is not a JSON object",
            ),
        ] {
            let error = odd(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(
            odd("{\"aggregate\": {\"counters\": {}}}")
                .unwrap()
                .contains("Summary report @ unknown time")
        );
    }

    #[test]
    fn impossible_times_are_unknown() {
        for ms in [-1.0, 1e13, 9e13, 999_999_999_999_999.0, 1e300] {
            let text = render(&json!({"aggregate": {"counters": {}, "lastMetricAt": ms}}));
            assert!(text.contains("@ unknown time\n"), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_json_is_rendered_or_refused(name in "[a-z.]{0,9}", n in any::<f64>(), at in any::<i64>()) {
            let report = json!({"aggregate": {
                "counters": {name.clone(): n}, "rates": {name.clone(): "x"}, "summaries": {name: {"min": n, "p95": [], "max": null}},
                "lastMetricAt": at,
            }});
            let _ = rerendered(&report.to_string(), &Zone::fixed(0), 79);
        }
    }
}
