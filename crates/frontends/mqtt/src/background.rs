//! MQTT clients that run alongside the scenarios of a native plan: their driver, and the message
//! ledger.

use std::sync::Arc;

use engine::run::BackgroundWork;
use measure::accumulator::NamedCounts;
use plan::Plan;
use record::Run;
use session::inputs;

use crate::{print, run};

#[must_use]
pub fn any_stamp() -> u32 {
    (inputs::random_seed() >> 8) as u32
}

#[must_use]
pub fn stamp_of_parts(seed: u64, at_ns: u64) -> u32 {
    ((seed.rotate_left(32) ^ at_ns).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Creates the driver for the plan's MQTT clients, if there are any. All processes of a run must
/// use the same stamp.
#[must_use]
pub fn driven(plan: &Plan, seed: u64, stamp: Option<u32>) -> Option<BackgroundWork> {
    let background = plan.background.as_ref()?;
    let own = plan.background_loads();
    let peak = own.iter().flatten().map(plan::Load::peak_rate).sum();
    let driver = mqtt_driver::maker(mqtt_driver::DriverConfig {
        work: Arc::new(background.mqtt.clone()),
        flat_out: false,
        own,
        seed,
        run: stamp.unwrap_or_else(any_stamp),
        limit: None,
        clients: None,
    });
    Some(BackgroundWork {
        driver,
        workers: run::workers(None, Some(peak), &background.mqtt),
        frontend: Some(Arc::new(|| Box::new(NamedCounts::default()))),
    })
}

/// Returns the message ledger as counts by name, and as sentences. Reports show deliveries in a
/// separate section, based on the counts.
#[must_use]
pub fn found(run: &Run) -> (Vec<String>, serde_json::Value) {
    let mut reported = print::tally(run);
    if !print::is_whole(run) {
        // If publishers are incomplete, the number of expected deliveries is unknown.
        reported.counters.remove("expected");
    }
    let ledger = print::ledger_without_deliveries(run);
    let sentences = ledger.lines().map(|line| format!("mqtt {line}")).collect();
    (sentences, serde_json::json!(reported.counters))
}
