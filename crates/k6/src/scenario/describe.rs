//! Descriptions of scenarios on one line, for the start of a run.

use super::{Executor, Scenario};
use crate::duration::DurationNs;

fn go(ns: u64) -> DurationNs {
    DurationNs(i64::try_from(ns).unwrap_or(i64::MAX))
}

fn largest_rate(executor: &Executor) -> f64 {
    match executor {
        Executor::ConstantArrivalRate(rate) => per_second(rate.rate, rate.time_unit_ns),
        Executor::RampingArrivalRate(ramp) => {
            let targets = ramp.stages.iter().map(|stage| stage.target);
            per_second(targets.fold(ramp.start_rate, u64::max), ramp.time_unit_ns)
        }
        _ => 0.0,
    }
}

fn per_second(rate: u64, time_unit_ns: u64) -> f64 {
    rate as f64 * 1e9 / time_unit_ns as f64
}

impl Scenario {
    /// Returns k6's description: `10 looping VUs for 30s (gracefulStop: 30s)`.
    #[must_use]
    pub fn description(&self) -> String {
        let executor = &self.executor;
        let end = go(executor.end_ns());
        let max_vus = |from: u64, to: u64| match from == to {
            true => format!("maxVUs: {from}"),
            false => format!("maxVUs: {from}-{to}"),
        };
        let mut facts = Vec::new();
        let text = match executor {
            Executor::ConstantVus { vus, .. } => format!("{vus} looping VUs for {end}"),
            Executor::SharedIterations {
                vus, iterations, ..
            } => {
                facts.push(format!("maxDuration: {end}"));
                format!("{iterations} iterations shared among {vus} VUs")
            }
            Executor::PerVuIterations {
                vus, iterations, ..
            } => {
                facts.push(format!("maxDuration: {end}"));
                format!("{iterations} iterations for each of {vus} VUs")
            }
            Executor::RampingVus(ramp) => {
                facts.push(format!(
                    "gracefulRampDown: {}",
                    go(ramp.graceful_ramp_down_ns)
                ));
                let vus = executor.max_vus();
                let stages = ramp.stages.len();
                format!("Up to {vus} looping VUs for {end} over {stages} stages")
            }
            Executor::ConstantArrivalRate(rate) => {
                facts.push(max_vus(rate.pre_allocated_vus, rate.max_vus));
                format!("{:.2} iterations/s for {end}", largest_rate(executor))
            }
            Executor::RampingArrivalRate(ramp) => {
                facts.push(max_vus(ramp.pre_allocated_vus, ramp.max_vus));
                let rate = largest_rate(executor);
                let stages = ramp.stages.len();
                format!("Up to {rate:.2} iterations/s for {end} over {stages} stages")
            }
        };
        if self.exec != "default" {
            facts.push(format!("exec: {}", self.exec));
        }
        if self.start_time_ns > 0 {
            facts.push(format!("startTime: {}", go(self.start_time_ns)));
        }
        if self.graceful_stop_ns > 0 {
            facts.push(format!("gracefulStop: {}", go(self.graceful_stop_ns)));
        }
        match facts.is_empty() {
            true => text,
            false => format!("{text} ({})", facts.join(", ")),
        }
    }
}
