//! A row of a search's result: one probe with its figures.

use analysis::{saturation::Reached, summary::Summary};
use record::units;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::search::ProbeReason;

/// A probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeRow {
    /// The level.
    pub level: f64,
    /// Why the level was tried.
    #[schemars(with = "String")]
    pub reason: ProbeReason,
    /// Whether all criteria held.
    pub holds: bool,
    /// Why the probe does not count: what the generator could not do.
    pub invalid: Option<String>,
    /// Length of the part that counted, in seconds.
    pub counted_s: f64,
    /// Requests that ended.
    pub requests: u64,
    /// Requests answered as expected, per second.
    pub goodput: f64,
    /// Share of errors.
    pub errors: Option<f64>,
    /// p50, p95 and p99 of the response time, or of the service time if there is no response time.
    /// `None` if the rank is among unanswered requests, or if there are too few samples.
    pub ns: [Option<u64>; 3],
    /// What was measured for each of `slos`, in words.
    pub measured: Vec<Option<String>>,
    /// For each of `slos`, the share of counted samples that violate it.
    pub beyond: Vec<Option<f64>>,
    /// Requests that arrived per second, in the part that counted. `None` if users are varied, or
    /// if it is unknown.
    #[serde(default)]
    pub arrived: Option<f64>,
    /// Requests answered (ok or failed) per second, in the part that counted.
    #[serde(default)]
    pub answered: Option<f64>,
    /// Median time that requests waited for one of the test's own connections, in nanoseconds.
    #[serde(default)]
    pub wait: Option<u64>,
    /// Median service time of the requests, in nanoseconds.
    #[serde(default)]
    pub service: Option<u64>,
    /// Growth of the backlog, in requests per second, if it grew. The level then does not hold,
    /// whatever was measured.
    #[serde(default)]
    pub backlog_growth: Option<f64>,
    /// The most frequent cause of errors.
    #[serde(default)]
    pub cause: Option<Cause>,
    /// The resource of the service that reached its limit first, if resources were measured.
    #[serde(default)]
    pub saturated: Option<Reached>,
    /// The run's folder, relative to that of `find.json`.
    pub run: String,
}

/// A cause of errors.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The cause in words.
    pub reason: String,
    /// `failed` if there was a response, otherwise the class of the missing response.
    pub class: String,
    /// Share of all requests that ended.
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
