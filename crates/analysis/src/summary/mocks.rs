//! Accuracy of mocks by route: the requested latency, and the actual latency that the mocks
//! measured.

use std::collections::BTreeMap;

use record::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reported statistics, each with the minimum number of responses that it requires.
const TOLD: [(&str, u64); 4] = [("mean", 1), ("p50", 20), ("p95", 200), ("p99", 1_000)];

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MockRow {
    pub mock: String,
    pub route: String,
    pub received: u64,
    pub codes: BTreeMap<u16, u64>,
    /// Requests for which the mock reset the connection.
    pub resets: u64,
    pub silent: u64,
    /// Recorded requests on which the response times are based, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    pub times: Vec<MockTime>,
    /// Largest relative difference between served and computed response times.
    pub difference: Option<f64>,
    /// 99th percentile of the lateness of the mock's responses, in nanoseconds.
    pub late_p99_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<MockCapacity>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MockTime {
    pub statistic: String,
    /// Response time in the plan. `None` if it depends on the load.
    pub planned_ns: Option<u64>,
    /// Response time computed for the received requests, with faults and queues.
    pub due_ns: u64,
    /// Response time that the mock actually served.
    pub served_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MockCapacity {
    pub workers: u32,
    pub per_second: f64,
    /// Share of time in which the workers were busy.
    pub utilisation: f64,
}

pub(super) fn rows(run: &Run) -> Vec<MockRow> {
    let reported = run.found.as_ref();
    let reported = reported.and_then(|found| found["mocks"].as_array());
    reported.map_or_else(Vec::new, |reported| mock_rows(reported))
}

#[must_use]
pub fn mock_rows(reported: &[Value]) -> Vec<MockRow> {
    reported
        .iter()
        .flat_map(|mock| {
            let routes = mock["routes"].as_array().into_iter().flatten();
            routes
                .filter(|route| route["received"] != 0)
                .map(|route| row(mock, route))
        })
        .collect()
}

fn row(mock: &Value, route: &Value) -> MockRow {
    let text = |value: &Value| value.as_str().map(ToOwned::to_owned);
    let number = |value: &Value| value.as_u64().unwrap_or(0);
    let codes = route["answered"].as_object().into_iter().flatten();
    let codes = codes.filter_map(|(code, n)| Some((code.parse().ok()?, n.as_u64()?)));
    let codes: BTreeMap<u16, u64> = codes.collect();
    let answered = codes.values().sum::<u64>() + number(&route["resets"]);
    let times: Vec<MockTime> = TOLD
        .iter()
        .filter(|(_, least)| answered >= *least)
        .filter_map(|(what, _)| time(what, route))
        .collect();
    let off = times.iter().filter(|time| time.due_ns > 0);
    let off = off.map(|time| time.served_ns as f64 / time.due_ns as f64 - 1.0);
    MockRow {
        mock: text(&mock["mock"]).unwrap_or_default(),
        route: text(&route["route"]).unwrap_or_default(),
        received: number(&route["received"]),
        codes,
        resets: number(&route["resets"]),
        silent: number(&route["silent"]),
        from: text(&route["from"]),
        difference: off.max_by(|one, other| one.abs().total_cmp(&other.abs())),
        times,
        late_p99_ns: ns(&mock["late"]["p99_ms"]),
        capacity: serde_json::from_value(route["capacity"].clone()).ok(),
    }
}

fn time(what: &str, route: &Value) -> Option<MockTime> {
    let of = |side: &str| ns(&route[side][format!("{what}_ms")]);
    Some(MockTime {
        statistic: what.to_owned(),
        planned_ns: of("asked"),
        due_ns: of("due")?,
        served_ns: of("served")?,
    })
}

fn ns(ms: &Value) -> Option<u64> {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "never negative, and the cast saturates"
    )]
    let whole = |ms: f64| (ms * 1e6).round() as u64;
    ms.as_f64().map(whole)
}

impl MockRow {
    #[must_use]
    pub fn time(&self, what: &str) -> Option<&MockTime> {
        self.times.iter().find(|time| time.statistic == what)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_has_what_was_asked_and_what_was_served() {
        let mock = json!({ "mock": "lorota", "late": { "p99_ms": 0.25 } });
        let route = json!({
            "route": "GET /a", "received": 230, "resets": 2, "silent": 1, "answered": { "200": 220, "503": 7 },
            "asked": { "p50_ms": 120.0, "p95_ms": null },
            "due": { "mean_ms": 200.0, "p50_ms": 120.0, "p95_ms": 400.0, "p99_ms": 900.0 },
            "served": { "mean_ms": 200.2, "p50_ms": 120.3, "p95_ms": 398.0, "p99_ms": 900.0 },
            "capacity": { "workers": 8, "per_second": 1000.0, "utilisation": 0.5 },
        });
        let row = row(&mock, &route);
        let reported: Vec<&str> = row
            .times
            .iter()
            .map(|time| time.statistic.as_str())
            .collect();
        // A p99 needs more than 229 responses.
        assert_eq!(reported, ["mean", "p50", "p95"]);
        let p95 = row.time("p95").unwrap();
        assert_eq!((p95.planned_ns, p95.due_ns), (None, 400_000_000));
        assert!(
            (row.difference.unwrap() + 0.005).abs() < 1e-9,
            "{:?}",
            row.difference
        );
        assert_eq!((row.codes[&503], row.late_p99_ns), (7, Some(250_000)));
        assert!((row.capacity.unwrap().utilisation - 0.5).abs() < 1e-9);
    }
}
