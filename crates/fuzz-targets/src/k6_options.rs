//! Reads arbitrary bytes as a k6 archive, and as its options, durations and thresholds. The
//! iterations of a scenario must start in order.

use k6::{
    archive::Archive,
    duration::DurationNs,
    options::{OptionSource, Options},
    scenario::{Executor, plan},
    threshold::expression::Expression,
};

/// Maximum number of starts and steps that are checked.
const MOST: usize = 1000;

pub fn check(bytes: &[u8]) {
    let _ = Archive::read(bytes);
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = (DurationNs::parse(text), Expression::parse(text));
    let value = serde_json::from_str(text).unwrap_or_default();
    let Ok(read) = Options::from_json(&value, OptionSource::Script) else {
        return;
    };
    let Ok(plan) = plan(&read.options, &|_| true) else {
        return;
    };
    for scenario in &plan.scenarios {
        if let Some(arrivals) = scenario.executor.arrivals() {
            assert!(arrivals.iter().take(MOST).is_sorted());
        }
        if let Executor::RampingVus(ramp) = &scenario.executor {
            assert!(ramp.steps().take(MOST).is_sorted_by_key(|step| step.at_ns));
        }
    }
}
