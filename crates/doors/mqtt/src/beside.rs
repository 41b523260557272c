//! MQTT clients beside the scenarios of a native plan: who drives them, and what is told of their messages. What they do is the plan's.

use std::sync::Arc;

use engine::run::Beside;
use plan::Plan;
use record::Run;
use session::inputs;

use crate::{print, run, told::Told};

/// Who drives the clients of a plan that has some.
#[must_use]
pub fn driven(plan: &Plan, seed: u64) -> Option<Beside> {
    let beside = plan.beside.as_ref()?;
    let own = plan.loads_beside();
    let peak = own.iter().flatten().map(plan::Load::peak_rate).sum();
    let driver = mqtt_driver::maker(mqtt_driver::Settings {
        work: Arc::new(beside.mqtt.clone()),
        flat_out: false,
        own,
        seed,
        // As good as any that no other run at this server has.
        run: (inputs::random_seed() >> 8) as u32,
        clients: None,
    });
    Some(Beside {
        driver,
        workers: run::workers(None, Some(peak), &beside.mqtt),
        door: Some(Arc::new(|| Box::new(Told::default()))),
    })
}

/// The ledger of messages for the record: its sentences, and its counts by name.
#[must_use]
pub fn found(run: &Run) -> (Vec<String>, serde_json::Value) {
    let told = print::told(run);
    let ledger = print::ledger(run);
    let sentences = ledger.lines().map(|line| format!("mqtt {line}")).collect();
    (sentences, serde_json::json!(told.counters))
}
