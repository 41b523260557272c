//! Measures how many requests/s this machine can send to an embedded target.

use engine::{EngineOptions, Prepared, Sink};
use formats::UrlOptions;
use measure::{Interval, label};
use plan::{
    Plan, Raw,
    units::{MILLISECOND, SECOND},
};
use session::LabProcess;
use worker::{
    OutputLine,
    client::hosts::Allow,
    clock::{self, Zero},
    stop::{Cause, StopHandle},
};

const LENGTH_NS: u64 = 2 * SECOND;
const LEAST_NS: u64 = 250 * MILLISECOND;
const CONNECTIONS: u32 = 32;
const PLENTY: f64 = 2.0;

struct Count {
    requests: u64,
    until_ns: u64,
    zero: Zero,
    enough: f64,
    stop: StopHandle,
}

impl Count {
    fn per_second(&self) -> f64 {
        self.requests as f64 * SECOND as f64 / self.until_ns.max(1) as f64
    }
}

impl Sink for Count {
    fn interval(&mut self, interval: Interval) {
        self.requests += interval.label(label::ALL).counters.ended();
        let now_ns = clock::monotonic_ns().saturating_sub(self.zero.monotonic_ns);
        self.until_ns = interval
            .span
            .to_ns
            .min(now_ns)
            .min(LENGTH_NS)
            .max(self.until_ns);
        if self.until_ns >= LEAST_NS && self.per_second() >= PLENTY * self.enough {
            self.stop.stop(Cause::Limit("enough was shown".into()));
        }
    }

    fn line(&mut self, _: Raw<OutputLine>) {}
}

pub fn per_second(enough: f64) -> Result<f64, String> {
    let lab = LabProcess::start("truth?mode=constant").map_err(|reason| reason.line)?;
    let options = UrlOptions {
        connections: Some(CONNECTIONS),
        duration_ns: Some(LENGTH_NS),
        ..UrlOptions::default()
    };
    let plan: Plan = formats::url_plan(lab.url(), &options).map_err(|errors| {
        let lines: Vec<String> = errors.problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    })?;
    let stop = StopHandle::default();
    let options = EngineOptions {
        workers: Some(1),
        stop: stop.clone(),
        drain_ns: Some(SECOND),
        hosts: Allow {
            others_too: true,
            ..Allow::default()
        },
        ..EngineOptions::default()
    };
    let prepared = Prepared::new(&plan, options).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    })?;
    let zero = Zero::in_ns(20 * MILLISECOND);
    let mut count = Count {
        requests: 0,
        until_ns: 0,
        zero,
        enough,
        stop,
    };
    let ran = prepared.run(zero, &mut count);
    ran.map_err(|error| error.to_string())?;
    Ok(count.per_second())
}
