//! Scenarios for options without `scenarios`: `vus`, `duration`, `iterations` and `stages`.

use super::config::{ExecutorKind, ScenarioConfig};
use crate::options::Options;

/// Scenarios as written, with warnings.
pub(super) struct Resolved {
    pub configs: Vec<ScenarioConfig>,
    pub warnings: Vec<String>,
}

/// Refuses execution segments, because virtual users and rates cannot be divided.
pub(super) fn refuse_segments(options: &Options) -> Result<(), String> {
    let segment = options.execution_segment.as_deref().unwrap_or_default();
    let is_whole = matches!(
        segment,
        "" | "0:1" | "1" | "1/1" | "0/1:1/1" | "100%" | "0%:100%"
    );
    if is_whole {
        return Ok(());
    }
    Err(format!(
        "execution segment `{segment}` is not supported: remove it, and run the whole test"
    ))
}

/// Returns the scenarios of the options.
///
/// # Errors
///
/// Returns k6's text for contradicting options.
pub(super) fn resolve(options: &Options) -> Result<Resolved, String> {
    let stages = options.stages.as_deref().unwrap_or_default();
    let scenarios = options.scenarios.as_ref();
    let configs = scenarios.map_or(&[][..], |scenarios| &scenarios.configs);
    let set = [
        ("iterations", options.iterations.is_some()),
        ("duration", options.duration.is_some()),
        ("stages", !stages.is_empty()),
        ("scenarios", !configs.is_empty()),
    ];
    refuse_conflicts(&set)?;
    let mut warnings = Vec::new();
    if let Some(iterations) = options.iterations {
        let mut config = ScenarioConfig::new("default", ExecutorKind::SharedIterations);
        config.vus = options.vus;
        config.iterations = Some(iterations);
        config.max_duration = options.duration;
        return Ok(one(config, warnings));
    }
    if let Some(duration) = options.duration {
        if duration.0 <= 0 {
            return Err(
                "`duration` option should be more than 0, for infinite duration use the \
                 externally-controlled executor"
                    .to_owned(),
            );
        }
        let mut config = ScenarioConfig::new("default", ExecutorKind::ConstantVus);
        config.vus = options.vus;
        config.duration = Some(duration);
        return Ok(one(config, warnings));
    }
    if !stages.is_empty() {
        let mut config = ScenarioConfig::new("default", ExecutorKind::RampingVus);
        config.start_vus = options.vus;
        config.stages = Some(stages.to_vec());
        return Ok(one(config, warnings));
    }
    if let Some(vus) = options.vus {
        if !configs.is_empty() {
            warnings.push(format!("`vus={vus}` overrides scenarios configuration"));
        }
        let mut config = ScenarioConfig::new("default", ExecutorKind::SharedIterations);
        config.vus = Some(vus);
        config.iterations = Some(vus);
        return Ok(one(config, warnings));
    }
    if !configs.is_empty() {
        return Ok(Resolved {
            configs: configs.to_vec(),
            warnings,
        });
    }
    let empty = [
        ("stages", options.stages.is_some()),
        ("scenarios", scenarios.is_some()),
    ];
    for (name, _) in empty.iter().filter(|(_, is_set)| *is_set) {
        warnings.push(format!(
            "`{name}` was explicitly set to an empty value, running the script with 1 iteration \
             in 1 VU"
        ));
    }
    let config = ScenarioConfig::new("default", ExecutorKind::PerVuIterations);
    Ok(one(config, warnings))
}

fn one(config: ScenarioConfig, warnings: Vec<String>) -> Resolved {
    Resolved {
        configs: vec![config],
        warnings,
    }
}

fn refuse_conflicts(set: &[(&str, bool); 4]) -> Result<(), String> {
    for (index, (first, is_first)) in set.iter().enumerate().take(3) {
        for (second, is_second) in set.iter().skip((index + 1).max(2)) {
            if *is_first && *is_second {
                return Err(format!(
                    "using `{first}` and `{second}` options simultaneously is not allowed"
                ));
            }
        }
    }
    Ok(())
}
