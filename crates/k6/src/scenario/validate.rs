//! Validation of the values in a scenario.

use super::config::{ExecutorKind, ScenarioConfig};
use crate::{duration::DurationNs, options::value::Stage};

const MIN_DURATION: DurationNs = DurationNs::from_secs(1);
const MAX_TARGET: i64 = 100_000_000;

/// Returns k6's texts for all errors of a scenario.
pub(super) fn errors(config: &ScenarioConfig) -> Vec<String> {
    let mut errors = Vec::new();
    let mut require = |holds: bool, text: &str| {
        if !holds {
            errors.push(text.to_owned());
        }
    };
    let is_valid_name = !config.name.is_empty()
        && config
            .name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-');
    require(
        is_valid_name,
        "the scenario name should contain only numbers, latin letters, underscores, and dashes",
    );
    require(
        config.exec.as_deref() != Some(""),
        "exec value cannot be empty",
    );
    require(
        !is_negative(config.start_time),
        "the startTime can't be negative",
    );
    require(
        !is_negative(config.graceful_stop),
        "the gracefulStop timeout can't be negative",
    );
    match config.kind {
        ExecutorKind::ConstantVus => {
            check_vus(&mut errors, config);
            check_duration(&mut errors, config);
        }
        ExecutorKind::SharedIterations => check_shared(&mut errors, config),
        ExecutorKind::PerVuIterations => {
            check_vus(&mut errors, config);
            if config.iterations.unwrap_or(1) <= 0 {
                errors.push("the number of iterations must be more than 0".to_owned());
            }
            check_max_duration(&mut errors, config);
        }
        ExecutorKind::RampingVus => check_ramp(&mut errors, config),
        ExecutorKind::ConstantArrivalRate => check_constant_rate(&mut errors, config),
        ExecutorKind::RampingArrivalRate => {
            if config.start_rate.unwrap_or(0) < 0 {
                errors.push("the startRate value can't be negative".to_owned());
            }
            check_time_unit(&mut errors, config);
            check_stages(&mut errors, config.stages.as_deref());
            check_arrival_vus(&mut errors, config);
        }
    }
    errors
}

fn is_negative(duration: Option<DurationNs>) -> bool {
    duration.is_some_and(|duration| duration.0 < 0)
}

fn check_vus(errors: &mut Vec<String>, config: &ScenarioConfig) {
    if config.vus.unwrap_or(1) <= 0 {
        errors.push("the number of VUs must be more than 0".to_owned());
    }
}

fn check_duration(errors: &mut Vec<String>, config: &ScenarioConfig) {
    match config.duration {
        None => errors.push("the duration is unspecified".to_owned()),
        Some(duration) if duration < MIN_DURATION => errors.push(format!(
            "the duration must be at least {MIN_DURATION}, but is {duration}"
        )),
        Some(_) => {}
    }
}

fn check_max_duration(errors: &mut Vec<String>, config: &ScenarioConfig) {
    if let Some(duration) = config.max_duration.filter(|own| *own < MIN_DURATION) {
        errors.push(format!(
            "the maxDuration must be at least {MIN_DURATION}, but is {duration}"
        ));
    }
}

fn check_shared(errors: &mut Vec<String>, config: &ScenarioConfig) {
    check_vus(errors, config);
    let vus = config.vus.unwrap_or(1);
    let iterations = config.iterations.unwrap_or(1);
    if iterations < vus {
        errors.push(format!(
            "the number of iterations ({iterations}) can't be less than the number of VUs ({vus})"
        ));
    }
    check_max_duration(errors, config);
}

fn check_ramp(errors: &mut Vec<String>, config: &ScenarioConfig) {
    let start = config.start_vus.unwrap_or(1);
    if start < 0 {
        errors.push("the number of start VUs can't be negative".to_owned());
    }
    let stages = config.stages.as_deref();
    let targets = stages.unwrap_or_default().iter();
    let largest = targets
        .filter_map(|stage| stage.target)
        .fold(start, i64::max);
    if largest <= 0 {
        errors.push(
            "either startVUs or one of the stages' target values must be greater than 0".to_owned(),
        );
    }
    check_stages(errors, stages);
    if is_negative(config.graceful_ramp_down) {
        errors.push("the gracefulRampDown timeout can't be negative".to_owned());
    }
}

fn check_stages(errors: &mut Vec<String>, stages: Option<&[Stage]>) {
    let stages = stages.unwrap_or_default();
    if stages.is_empty() {
        errors.push("at least one stage has to be specified".to_owned());
    }
    for (number, stage) in (1..).zip(stages) {
        match stage.duration {
            None => errors.push(format!("stage {number} doesn't have a duration")),
            Some(duration) if duration.0 < 0 => {
                errors.push(format!("the duration for stage {number} can't be negative"))
            }
            Some(_) => {}
        }
        match stage.target {
            None => errors.push(format!("stage {number} doesn't have a target")),
            Some(..0) => errors.push(format!("the target for stage {number} can't be negative")),
            Some(target) if target > MAX_TARGET => errors.push(format!(
                "target for stage {number} exceeds max limit of {MAX_TARGET}"
            )),
            Some(_) => {}
        }
    }
}

fn check_constant_rate(errors: &mut Vec<String>, config: &ScenarioConfig) {
    match config.rate {
        None => errors.push("the iteration rate isn't specified".to_owned()),
        Some(..=0) => errors.push("the iteration rate must be more than 0".to_owned()),
        Some(_) => {}
    }
    check_time_unit(errors, config);
    check_duration(errors, config);
    check_arrival_vus(errors, config);
}

fn check_time_unit(errors: &mut Vec<String>, config: &ScenarioConfig) {
    if config.time_unit.is_some_and(|unit| unit.0 <= 0) {
        errors.push("the timeUnit must be more than 0".to_owned());
    }
}

fn check_arrival_vus(errors: &mut Vec<String>, config: &ScenarioConfig) {
    let Some(pre_allocated) = config.pre_allocated_vus else {
        errors.push("the number of preAllocatedVUs isn't specified".to_owned());
        return;
    };
    if pre_allocated < 0 {
        errors.push("the number of preAllocatedVUs can't be negative".to_owned());
    }
    if config.max_vus.is_some_and(|max| max < pre_allocated) {
        errors.push("maxVUs can't be less than preAllocatedVUs".to_owned());
    }
}
