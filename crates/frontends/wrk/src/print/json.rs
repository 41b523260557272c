//! Writes the figures as JSON, both exact and as wrk prints them.

use serde_json::{Value, json};

use super::{PrintedLatency, Spectrum, Statistics, WrkReport};

const PERCENTILES: [(&str, f64); 6] = [
    ("p50", 50.0),
    ("p75", 75.0),
    ("p90", 90.0),
    ("p99", 99.0),
    ("p99_9", 99.9),
    ("p99_99", 99.99),
];

impl WrkReport {
    #[must_use]
    pub fn json(&self) -> Value {
        let latency = match &self.latency {
            PrintedLatency::Wrk {
                measured,
                corrected,
            } => json!({
                "measured": of_statistics(measured),
                "corrected_by_wrk": of_statistics(corrected),
            }),
            PrintedLatency::Wrk2 {
                corrected,
                uncorrected,
            } => json!({
                "from_planned_start": of_spectrum(corrected),
                "from_first_byte_written": of_spectrum(uncorrected),
            }),
        };
        let errors = &self.errors;
        json!({
            "requests": self.requests,
            "bytes": self.bytes,
            "runtime_us": self.runtime_us,
            "errors": {
                "connect": errors.connect, "read": errors.read, "write": errors.write,
                "status": errors.status, "timeout": errors.timeout,
            },
            "latency_us": latency,
            "requests_per_second_of_a_thread": of_statistics(&self.rate),
        })
    }
}

fn of_statistics(s: &Statistics) -> Value {
    let some = (s.count() > 0).then_some(());
    figures(
        s.count(),
        some.map(|()| (s.min(), s.max())),
        s.mean(),
        s.stdev(),
        |p| s.percentile(p),
    )
}

fn of_spectrum(s: &Spectrum) -> Value {
    let some = (s.count() > 0).then_some(());
    figures(
        s.count(),
        some.map(|()| (s.min(), s.max())),
        s.mean(),
        s.stdev(),
        |p| s.percentile(p),
    )
}

fn figures(
    count: u64,
    range: Option<(u64, u64)>,
    mean: f64,
    stdev: f64,
    percentile: impl Fn(f64) -> u64,
) -> Value {
    let Some((min, max)) = range else {
        return json!({ "count": 0 });
    };
    let mut value = json!({ "count": count, "min": min, "max": max, "mean": mean, "stdev": stdev });
    for (name, p) in PERCENTILES {
        value[name] = percentile(p).into();
    }
    value
}
