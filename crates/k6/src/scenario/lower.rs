//! Conversion of valid scenarios, as written, to scenarios that can run.

use super::{
    ConstantArrivalRate, Executor, RampingArrivalRate, RampingVus, Scenario, Stage,
    config::{ExecutorKind, ScenarioConfig},
    exec_of,
};
use crate::{duration::DurationNs, options::value::TextMap};

const DEFAULT_GRACEFUL_STOP: DurationNs = DurationNs::from_secs(30);
const DEFAULT_MAX_DURATION: DurationNs = DurationNs::from_secs(600);
const DEFAULT_TIME_UNIT: DurationNs = DurationNs::from_secs(1);

/// Fills in k6's defaults. The configuration must be valid.
pub(super) fn lower(config: &ScenarioConfig) -> Scenario {
    let needs_browser = config.options.as_ref().is_some_and(|options| {
        options
            .get("browser")
            .is_some_and(|browser| !browser.is_null())
    });
    Scenario {
        name: config.name.clone(),
        executor: executor(config),
        exec: exec_of(config).to_owned(),
        env: pairs(config.env.as_ref()),
        tags: pairs(config.tags.as_ref()),
        start_time_ns: ns(config.start_time, DurationNs(0)),
        graceful_stop_ns: ns(config.graceful_stop, DEFAULT_GRACEFUL_STOP),
        needs_browser,
    }
}

fn executor(config: &ScenarioConfig) -> Executor {
    match config.kind {
        ExecutorKind::ConstantVus => Executor::ConstantVus {
            vus: count(config.vus, 1),
            duration_ns: ns(config.duration, DurationNs(0)),
        },
        ExecutorKind::SharedIterations => Executor::SharedIterations {
            vus: count(config.vus, 1),
            iterations: count(config.iterations, 1),
            max_duration_ns: ns(config.max_duration, DEFAULT_MAX_DURATION),
        },
        ExecutorKind::PerVuIterations => Executor::PerVuIterations {
            vus: count(config.vus, 1),
            iterations: count(config.iterations, 1),
            max_duration_ns: ns(config.max_duration, DEFAULT_MAX_DURATION),
        },
        ExecutorKind::RampingVus => Executor::RampingVus(RampingVus {
            start_vus: count(config.start_vus, 1),
            stages: stages(config),
            graceful_ramp_down_ns: ns(config.graceful_ramp_down, DEFAULT_GRACEFUL_STOP),
        }),
        ExecutorKind::ConstantArrivalRate => Executor::ConstantArrivalRate(ConstantArrivalRate {
            rate: count(config.rate, 1),
            time_unit_ns: ns(config.time_unit, DEFAULT_TIME_UNIT),
            duration_ns: ns(config.duration, DurationNs(0)),
            pre_allocated_vus: count(config.pre_allocated_vus, 0),
            max_vus: count(config.max_vus.or(config.pre_allocated_vus), 0),
        }),
        ExecutorKind::RampingArrivalRate => Executor::RampingArrivalRate(RampingArrivalRate {
            start_rate: count(config.start_rate, 0),
            time_unit_ns: ns(config.time_unit, DEFAULT_TIME_UNIT),
            stages: stages(config),
            pre_allocated_vus: count(config.pre_allocated_vus, 0),
            max_vus: count(config.max_vus.or(config.pre_allocated_vus), 0),
        }),
    }
}

fn ns(duration: Option<DurationNs>, default: DurationNs) -> u64 {
    duration.unwrap_or(default).non_negative()
}

fn count(number: Option<i64>, default: u64) -> u64 {
    number.map_or(default, |number| u64::try_from(number).unwrap_or(0))
}

fn pairs(map: Option<&TextMap>) -> Vec<(String, String)> {
    map.map(|map| map.0.clone()).unwrap_or_default()
}

fn stages(config: &ScenarioConfig) -> Vec<Stage> {
    let stages = config.stages.iter().flatten();
    let stages = stages.map(|stage| Stage {
        duration_ns: ns(stage.duration, DurationNs(0)),
        target: count(stage.target, 0),
    });
    stages.collect()
}
