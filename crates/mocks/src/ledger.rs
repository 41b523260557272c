//! Figures of a mock: counts by route and status, and requested, computed and served latencies.

use std::collections::BTreeMap;

use measure::Histogram;
use plan::mocks::{LatencySampler, MockLatency, MockRoute};
use serde_json::{Map, Value, json};

const PERCENTILES: [(&str, f64); 3] = [("p50_ms", 0.5), ("p95_ms", 0.95), ("p99_ms", 0.99)];

#[derive(Default)]
pub(crate) struct MockLedger {
    routes: Vec<RouteRow>,
    late: Histogram,
}

#[derive(Default)]
struct RouteRow {
    received: u64,
    answered: BTreeMap<u16, u64>,
    resets: u64,
    silent: u64,
    due: Histogram,
    served: Histogram,
}

impl MockLedger {
    pub(crate) fn new(routes: usize) -> Self {
        Self {
            routes: (0..=routes).map(|_| RouteRow::default()).collect(),
            late: Histogram::default(),
        }
    }

    fn row(&mut self, route: Option<usize>) -> &mut RouteRow {
        let last = self.routes.len() - 1;
        &mut self.routes[route.unwrap_or(last)]
    }

    pub(crate) fn received(&mut self, route: Option<usize>) {
        self.row(route).received += 1;
    }

    pub(crate) fn silent(&mut self, route: Option<usize>) {
        self.row(route).silent += 1;
    }

    pub(crate) fn released(&mut self, route: Option<usize>, at: [u64; 3], code: Option<u16>) {
        let [arrival_ns, due_ns, now_ns] = at;
        self.late.record(now_ns.saturating_sub(due_ns));
        let row = self.row(route);
        row.due.record(due_ns.saturating_sub(arrival_ns));
        row.served.record(now_ns.saturating_sub(arrival_ns));
        match code {
            Some(code) => *row.answered.entry(code).or_default() += 1,
            None => row.resets += 1,
        }
    }

    pub(crate) fn to_json<'a>(
        &self,
        name: &str,
        routes: impl Iterator<Item = (&'a MockRoute, &'a LatencySampler)>,
    ) -> Value {
        let mut rows: Vec<Value> = routes
            .zip(&self.routes)
            .map(|((route, sampler), row)| {
                let mut reported = row.to_json(&route.name(), Some(&route.latency));
                if let Some(busy) = sampler.busy() {
                    reported["capacity"] = json!({
                        "workers": busy.workers,
                        "per_second": busy.per_second,
                        "utilisation": busy.utilisation,
                    });
                }
                reported
            })
            .collect();
        if let Some(other) = self.routes.last().filter(|row| row.received > 0) {
            rows.push(other.to_json("(no route)", None));
        }
        let received: u64 = self.routes.iter().map(|row| row.received).sum();
        let answered: u64 = self
            .routes
            .iter()
            .flat_map(|row| row.answered.values())
            .sum();
        json!({
            "mock": name,
            "received": received,
            "answered": answered,
            "resets": self.routes.iter().map(|row| row.resets).sum::<u64>(),
            "silent": self.routes.iter().map(|row| row.silent).sum::<u64>(),
            "late": {
                "p50_ms": self.late.quantile(0.5).map(ms),
                "p99_ms": self.late.quantile(0.99).map(ms),
                "max_ms": self.late.max().map(ms),
            },
            "routes": rows,
        })
    }
}

impl RouteRow {
    fn to_json(&self, name: &str, latency: Option<&MockLatency>) -> Value {
        let codes = self.answered.iter();
        let codes: Map<String, Value> = codes
            .map(|(code, n)| (code.to_string(), Value::from(*n)))
            .collect();
        json!({
            "route": name,
            "received": self.received,
            "answered": codes,
            "resets": self.resets,
            "silent": self.silent,
            "from": latency.and_then(source),
            "asked": latency.map(asked),
            "due": times(&self.due),
            "served": times(&self.served),
        })
    }
}

fn source(latency: &MockLatency) -> Option<&str> {
    match latency {
        MockLatency::Measured(measured) => Some(&measured.source),
        _ => None,
    }
}

fn asked(latency: &MockLatency) -> Value {
    let mut reported = Map::new();
    reported.insert(
        "mean_ms".into(),
        latency.mean_ns().map(|ns| ns / 1e6).into(),
    );
    for (name, q) in PERCENTILES {
        reported.insert(name.into(), latency.percentile_ns(q).map(ms).into());
    }
    reported.into()
}

fn times(of: &Histogram) -> Value {
    let mut reported = Map::new();
    reported.insert("mean_ms".into(), of.mean().map(|ns| ns / 1e6).into());
    for (name, q) in PERCENTILES {
        reported.insert(name.into(), of.quantile(q).map(ms).into());
    }
    reported.into()
}

fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}
