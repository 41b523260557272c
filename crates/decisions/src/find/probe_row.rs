//! A row in the result of a search: one probe with its figures.

use analysis::{saturation::Reached, summary::Summary};
use record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::ProbeReason;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRow {
    pub level: f64,
    #[schemars(with = "String")]
    pub reason: ProbeReason,
    pub holds: bool,
    /// Fault of the load generator that makes the probe invalid. `None` if the probe counts.
    pub invalid: Option<String>,
    /// Duration of the part that counts, in seconds.
    pub counted_s: f64,
    pub requests: u64,
    /// Requests per second with the expected response.
    pub goodput: f64,
    pub errors: Option<f64>,
    /// p50, p95 and p99 of the response time, or else of the service time. `None` if the percentile
    /// falls on an unanswered request or there are too few samples.
    pub ns: [Option<u64>; 3],
    /// Measured value for each of `slos`, as text.
    pub measured: Vec<Option<String>>,
    pub beyond: Vec<Option<f64>>,
    /// Requests that arrived per second, in the part that counts. `None` if this is unknown or the
    /// search varies the number of users.
    #[serde(default)]
    pub arrived: Option<f64>,
    /// Requests answered per second in the part that counts, successful or failed.
    #[serde(default)]
    pub answered: Option<f64>,
    /// Median time that requests waited for a connection of the test, in nanoseconds.
    #[serde(default)]
    pub wait: Option<u64>,
    #[serde(default)]
    pub service: Option<u64>,
    /// Growth of the backlog, in requests per second. A growing backlog fails the level.
    #[serde(default)]
    pub backlog_growth: Option<f64>,
    #[serde(default)]
    pub cause: Option<Cause>,
    #[serde(default)]
    pub saturated: Option<Reached>,
    pub run: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    pub reason: String,
    /// `failed` if there was a response, otherwise the class of the missing response.
    pub class: String,
    pub share: f64,
}

impl ProbeRow {
    #[must_use]
    pub fn new(summary: &Summary, slos: &[String], level: f64, reason: ProbeReason) -> ProbeRow {
        let all = &summary.all;
        let stats = all.response.as_ref().or(all.service.as_ref());
        let seconds = (summary.run.elapsed_ns as f64 / 1e9).max(1e-9);
        let judged = |slo: &String| summary.criteria.iter().find(|judged| judged.text == *slo);
        ProbeRow {
            level,
            reason,
            holds: false,
            invalid: None,
            counted_s: 0.0,
            requests: all.count,
            goodput: all.count.saturating_sub(all.errors) as f64 / seconds,
            errors: all.error_share,
            ns: stats.map_or([None; 3], |stats| {
                [stats.p50.ns, stats.p95.ns, stats.p99.ns]
            }),
            measured: slos
                .iter()
                .map(|slo| judged(slo).and_then(|judged| judged.measured.clone()))
                .collect(),
            beyond: Vec::new(),
            arrived: None,
            answered: None,
            wait: summary.wait.as_ref().and_then(|wait| wait.p50.ns),
            service: all.service.as_ref().and_then(|service| service.p50.ns),
            backlog_growth: None,
            cause: summary.errors.first().and_then(|row| {
                Some(Cause {
                    reason: row.reason.clone(),
                    class: row.class.clone(),
                    share: row.share?,
                })
            }),
            saturated: summary.saturation.as_ref().and_then(|saturation| {
                let first = saturation.reached.get(saturation.first?)?;
                Some(first.clone())
            }),
            run: String::new(),
        }
    }

    #[must_use]
    pub fn overload(&self) -> Option<String> {
        let grows = self.backlog_growth?;
        Some(format!(
            "overload: the backlog grows by {}/s",
            units::rate(grows)
        ))
    }
}
