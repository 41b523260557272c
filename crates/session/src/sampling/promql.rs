//! Repeats a Prometheus query during the run. Samples keep Prometheus' timestamps. Steps are no
//! finer than the scrape interval.

use std::ops::RangeInclusive;
use std::time::Duration;

use plan::{server::MetricSource, units::SECOND};
use record::{
    server::{Descriptor, MetricReading, SourceReading},
    units,
};
use serde::de::DeserializeOwned;

use super::{
    Moment, Sampler,
    answers::{self, ApiResponse, ConfigData, QueryData, SeriesList, TargetData},
    exposition,
};
use crate::blocking_http::{Base, BlockingRequest};

const PATIENCE: Duration = Duration::from_secs(2);
const SETTLED_NS: u64 = SECOND;
/// Default scrape interval, from Prometheus' examples.
const USUAL_NS: u64 = 15 * SECOND;
/// Maximum number of steps of a query. Prometheus returns at most 11,000 points.
const MOST_STEPS: u64 = 10_000;
/// Maximum size of a response in bytes. 200 series with all steps are smaller.
const MOST_ANSWER: usize = 8 << 20;
const METRIC: &str = "value";

pub(super) struct Promql {
    source: MetricSource,
    base: Base,
    /// Part of the URL's path that precedes `/api`.
    prefix: String,
    query: String,
    step_ns: u64,
    /// Last reported step in nanoseconds since 1970. Initially the start of the run.
    reported_to_ns: Option<u64>,
    /// Wall-clock time of the run's start. It is read only once, so that steps stay evenly spaced.
    began: u64,
    known: Vec<Descriptor>,
}

enum QueryError {
    Question(String),
    Now(String),
}

impl Promql {
    /// Creates a sampler for a query to the Prometheus server at a URL.
    pub fn new(source: MetricSource, url: &str, query: &str) -> Result<Promql, String> {
        let (base, prefix) = Base::of_url(url)?;
        Ok(Promql {
            source,
            base: base.patient_for(PATIENCE).at_most(MOST_ANSWER),
            prefix: prefix.trim_end_matches('/').to_owned(),
            query: query.to_owned(),
            step_ns: USUAL_NS,
            reported_to_ns: None,
            began: 0,
            known: Vec::new(),
        })
    }

    /// Sends the query before the run and returns warnings.
    ///
    /// # Errors
    ///
    /// Fails if the query is invalid.
    pub fn probe(&mut self) -> Result<Vec<String>, String> {
        let query = format!("query={}", encoded(&self.query));
        let data = match self.ask::<QueryData>("query", &query) {
            Ok(data) => data.series()?,
            Err(QueryError::Question(reason)) => return Err(reason),
            Err(QueryError::Now(reason)) => {
                let remark = format!(
                    "it cannot be measured yet; queries use steps of {}: {reason}",
                    units::duration(self.step_ns)
                );
                return Ok(vec![remark]);
            }
        };
        let SeriesList { series, left_out } = data;
        let mut remarks = Vec::new();
        if series.is_empty() {
            remarks.push(
                "no series matches the query at the moment: check the metric name and labels"
                    .to_owned(),
            );
        }
        if left_out > 0 {
            remarks.push(format!(
                "the result has {} more series than allowed: use a query that returns fewer",
                units::count(left_out as u64)
            ));
        }
        let known = series.iter().map(|one| from_instance(&one.instance()));
        self.known = known.collect();
        match self.scrape_interval(&series) {
            Some(step_ns) => self.step_ns = step_ns,
            None => remarks.push(format!(
                "the scrape interval is unknown: queries use steps of {}",
                units::duration(self.step_ns)
            )),
        }
        remarks.extend(self.clock());
        Ok(remarks)
    }

    /// Returns the scrape interval of the series, or the longest interval of all targets if the
    /// series has no labels.
    fn scrape_interval(&self, series: &[answers::AnsweredSeries]) -> Option<u64> {
        let targets = self.ask::<TargetData>("targets", "state=active").ok();
        let of_targets = targets.and_then(|data| answers::interval_of_targets(&data, series));
        of_targets.or_else(|| {
            let data: ConfigData = self.ask("status/config", "").ok()?;
            answers::interval_of_config(&data.yaml)
        })
    }

    fn clock(&self) -> Option<String> {
        let before = worker::clock::wall_ns();
        let data: QueryData = self.ask("query", "query=time()").ok()?;
        let here = before.midpoint(worker::clock::wall_ns());
        let there = data.scalar()? * 1e9;
        let apart = there - here as f64;
        (apart.abs() > self.step_ns as f64).then(|| {
let how = if apart > 0.0 { "ahead of" } else { "behind" };
let apart = units::duration(apart.abs() as u64);
format!("its clock is {apart} {how} this machine's clock, so its samples are shifted by this time against the load")
})
    }

    fn ask<D: DeserializeOwned>(&self, what: &str, query: &str) -> Result<D, QueryError> {
        let path = format!("{}/api/v1/{what}?{query}", self.prefix);
        let request = BlockingRequest {
            method: "GET",
            path: &path,
            headers: &[],
            body: None,
        };
        let answer = self.base.send(&request).map_err(QueryError::Now)?;
        let parsed = serde_json::from_slice(&answer.body);
        let (data, why) = parsed.map_or((None, None), |response: ApiResponse<D>| {
            (response.data, response.error)
        });
        if answer.status == 200
            && let Some(data) = data
        {
            return Ok(data);
        }

        match (answer.status, why) {
            (400 | 422, Some(why)) => Err(QueryError::Question(format!(
                "Prometheus returned an error: {why}"
            ))),
            (200, _) => Err(QueryError::Now(
                "the response is not from a Prometheus server".to_owned(),
            )),
            (status, _) => Err(QueryError::Now(format!("the response has status {status}"))),
        }
    }

    /// Returns the first and last complete step that has not been reported yet.
    fn due(&self, now: &Moment, reported_to_ns: u64) -> Option<RangeInclusive<u64>> {
        let settled = if now.is_last { 0 } else { SETTLED_NS };
        let to = now.wall_ns.saturating_sub(settled) / self.step_ns * self.step_ns;
        let from = (reported_to_ns / self.step_ns + 1) * self.step_ns;
        let earliest = to.saturating_sub(MOST_STEPS * self.step_ns);
        (from <= to).then_some(from.max(earliest)..=to)
    }

    fn steps(&self, wall_ns: &RangeInclusive<u64>) -> Result<answers::Steps, String> {
        let query = format!(
            "query={}&start={}&end={}&step={}",
            encoded(&self.query),
            seconds(*wall_ns.start()),
            seconds(*wall_ns.end()),
            seconds(self.step_ns)
        );
        match self.ask("query_range", &query) {
            Ok(data) => answers::steps(&QueryData::series(data)?.series),
            Err(QueryError::Question(why) | QueryError::Now(why)) => Err(why),
        }
    }
}

impl Sampler for Promql {
    fn source(&self) -> &str {
        &self.source.name
    }

    fn metrics(&self) -> Vec<Descriptor> {
        self.known.clone()
    }

    fn is_all_known(&self) -> bool {
        false
    }

    fn look(&mut self) -> Result<Vec<MetricReading>, String> {
        Ok(Vec::new())
    }

    fn looks(&mut self, now: &Moment) -> Vec<SourceReading> {
        let look = |at_ns, readings| SourceReading {
            at_ns,
            source: self.source.name.clone(),
            readings,
        };
        let Some(reported_to_ns) = self.reported_to_ns else {
            let begun = look(now.at_ns, Ok(Vec::new()));
            self.reported_to_ns = Some(now.wall_ns);
            self.began = now.wall_ns.saturating_sub(now.at_ns);
            return vec![begun];
        };
        let Some(due) = self.due(now, reported_to_ns) else {
            return Vec::new();
        };
        let began = self.began;
        let at = |wall_ns: u64| wall_ns.saturating_sub(began);
        match self.steps(&due) {
            // Report the failure just after the last reported step, because the server may still
            // return later steps.
            Err(reason) => vec![look(at(reported_to_ns) + 1, Err(reason))],
            Ok(steps) => {
                let reported = due
                    .clone()
                    .step_by(usize::try_from(self.step_ns).unwrap_or(usize::MAX));
                let reported = reported.map(|step| {
                    let values = steps.get(&(step / 1_000_000)).into_iter().flatten();
                    let readings = values.map(|(instance, value)| MetricReading {
                        of: from_instance(instance),
                        value: *value,
                    });
                    look(
                        at(step),
                        Ok(exposition::wanted(readings.collect(), &self.source)),
                    )
                });
                let reported = reported.collect();
                self.reported_to_ns = Some(*due.end());
                reported
            }
        }
    }

    fn step_ns(&self) -> Option<u64> {
        Some(self.step_ns)
    }
}

fn from_instance(instance: &str) -> Descriptor {
    let value = Descriptor::gauge(METRIC, "");
    if instance.is_empty() {
        value
    } else {
        value.with_instance(instance)
    }
}

/// Formats a time in seconds with three decimals, because Prometheus counts in milliseconds.
fn seconds(ns: u64) -> String {
    format!("{}.{:03}", ns / SECOND, ns % SECOND / 1_000_000)
}

fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                out.push(char::from(byte));
            }
            _ => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> Promql {
        let source = plan::server::parse("p=promql:http://h:9090 up").unwrap();
        Promql {
            step_ns: 5 * SECOND,
            ..Promql::new(source, "http://h:9090", "up").unwrap()
        }
    }

    #[test]
    fn steps_are_asked_for_once_they_are_over_and_settled() {
        let asked = asked();
        let now = |wall_ns, is_last| Moment {
            at_ns: 0,
            wall_ns,
            is_last,
        };
        let due = |second, reported, is_last| {
            asked.due(&now(second * SECOND, is_last), reported * SECOND)
        };
        assert_eq!(due(105, 101, false), None);
        assert_eq!(due(106, 101, false), Some(105 * SECOND..=105 * SECOND));
        assert_eq!(due(105, 101, true), Some(105 * SECOND..=105 * SECOND));
        assert_eq!(due(117, 105, false), Some(110 * SECOND..=115 * SECOND));
        assert_eq!(due(117, 115, true), None);
        let steps = due(1_000_000, 5, false).unwrap();
        assert_eq!((steps.end() - steps.start()) / asked.step_ns, MOST_STEPS);
    }

    #[test]
    fn unreachable_prometheus_is_a_gap_after_last_step() {
        let mut asked = Promql {
            base: Base::new(false, "127.0.0.1:1").unwrap(),
            ..asked()
        };
        let mut looks = |second: u64| {
            let now = Moment {
                at_ns: second * SECOND,
                wall_ns: (1_000 + second) * SECOND,
                is_last: false,
            };
            let looks = asked.looks(&now);
            let reported = |look: SourceReading| (look.at_ns, look.readings.is_err());
            looks.into_iter().map(reported).collect::<Vec<_>>()
        };
        assert_eq!(looks(2), [(2 * SECOND, false)]);
        assert_eq!(looks(4), []);
        assert_eq!(looks(6), [(2 * SECOND + 1, true)]);
        assert_eq!(looks(7), [(2 * SECOND + 1, true)]);
    }

    #[test]
    fn questions_and_moments_as_it_reads_them() {
        assert_eq!(
            encoded("rate(a{b=\"c\"}[5s])"),
            "rate%28a%7Bb%3D%22c%22%7D%5B5s%5D%29"
        );
        assert_eq!(seconds(1_700_000_000_250_000_000), "1700000000.250");
    }
}
