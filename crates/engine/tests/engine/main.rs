//! Tests of the engine, which compare its counts with those of the embedded targets.

#![allow(clippy::expect_used, reason = "helpers of tests may")]

use std::sync::{Arc, Mutex};

use engine::{EngineOptions, Prepared, Sink};
use measure::{Failure, Interval, NoAnswer, label};
use plan::{
    ArrivalProcess, FirstArrival, Format, Load, Phase, Plan, PoolPolicy, Rate, Request, Scenario,
    Shape, Step, Template, Variable,
    scenario::{Capture, CaptureSource, Loop, LoopCount, LoopRange, ResponseCheck},
    units::{MILLISECOND, SECOND},
};
use serde_json::json;
use worker::{OutputLine, clock::Zero, stop::StopHandle};

mod batch;
mod faults;
mod flow;
mod hook;
mod peer;
mod recorded;
mod taken_over;

use recorded::RecordedRun;

fn get(path: &str) -> Request {
    let url = Template::parse(&json!(path)).expect("a template");
    Request::new("GET", url, path)
}

fn plan(target: &str, load: Load, steps: Vec<Step>) -> Plan {
    let scenario = Scenario {
        name: Some("s".into()),
        weight: 1,
        volume: None,
        on_error: Vec::new(),
        steps,
    };
    Plan::new(
        "test".into(),
        Format::NATIVE,
        target.into(),
        load,
        vec![scenario],
    )
}

fn rate(per_second: u64, duration_ns: u64) -> Load {
    Load::Open {
        phases: vec![Phase::new(
            duration_ns,
            Shape::Rate(Rate::per_second(per_second)),
        )],
        first: FirstArrival::AtStart,
    }
}

fn request(request: Request) -> Step {
    Step::Request(Box::new(request))
}

fn run_with(plan: &Plan, options: EngineOptions) -> RecordedRun {
    let mut recorded = RecordedRun::default();
    let prepared = Prepared::new(plan, options).expect("a plan that compiles");
    prepared
        .run(Zero::in_ns(5 * MILLISECOND), &mut recorded)
        .expect("a run");
    recorded
}

fn run(plan: &Plan) -> RecordedRun {
    run_with(
        plan,
        EngineOptions {
            drain_ns: Some(5 * SECOND),
            ..EngineOptions::default()
        },
    )
}
