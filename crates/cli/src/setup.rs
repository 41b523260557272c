//! What a script does once before its load and once behind everything: sent by the same engine, without record and measurement.

use engine::{
    Line, Options, Prepared, Sink, StopHandle, Zero,
    program::hosts::Allow,
    user::{SetupDriver, SetupOutcome},
};
use measure::Interval;
use plan::{Load, Plan, Scenario};
use record::redact::Redactor;

use crate::{exit, log, memory, session};

/// Time between the decision to start and the start.
const LEAD_NS: u64 = 5_000_000;

/// What ended the steps before a load early.
pub struct Ended {
    /// One line.
    pub why: String,
    /// The signal that asked for it, if one did.
    pub signal: Option<u8>,
}

/// Carries out the steps before the load; every virtual user starts with the variables that they leave.
///
/// # Errors
/// What ended them early.
pub fn before(plan: &mut Plan, seed: u64, hosts: &Allow) -> Result<(), Ended> {
    if let Some(scenario) = plan.before.clone() {
        let stop = StopHandle::default();
        let outcome = carry_out(plan, scenario, (seed, hosts), &stop);
        if let Some(signal) = stop.signal() {
            // Whoever wants an end before the load wants no load.
            return Err(Ended {
                why: "ended during `before`: there was no load yet".into(),
                signal: Some(signal),
            });
        }
        plan.inherited = outcome.map_err(|why| Ended { why, signal: None })?;
    }
    Ok(())
}

/// Carries out the steps behind a load that ended with a code, and gives the code to exit with: what they die of is told, and has a
/// code of its own (natively none: nothing that was measured has changed).
pub fn after(plan: &Plan, seed: u64, hosts: &Allow, (code, failed): (u8, u8)) -> u8 {
    let Some(scenario) = plan.after.clone() else {
        return code;
    };
    let stop = StopHandle::default();
    let outcome = carry_out(plan, scenario, (seed, hosts), &stop);
    if let Err(why) = &outcome {
        log::error(why);
    }
    match stop.signal() {
        _ if code != exit::PASS => code,
        Some(signal) => exit::of_signal(signal),
        None if outcome.is_err() => failed,
        None => code,
    }
}

fn carry_out(
    plan: &Plan,
    scenario: Scenario,
    (seed, hosts): (u64, &Allow),
    stop: &StopHandle,
) -> SetupOutcome {
    let name = scenario.name.clone().unwrap_or_default();
    let mut alone = plan.clone();
    alone.scenarios = vec![scenario];
    alone.load = Load::Once;
    // Artillery's plugins look at the scenarios under load alone.
    alone.plugins = plan::plugins::Plugins::default();
    if let Err(error) = stop.on_signals(session::end_at_once("nothing was measured")) {
        log::warning(format_args!(
            "signals cannot be caught ({error}): `{name}` cannot be ended early"
        ));
    }
    let options = Options {
        seed,
        workers: Some(1),
        stop: stop.clone(),
        hosts: hosts.clone(),
        memory: memory::budget(None).ok(),
        ..Options::default()
    };
    let mut lines = Lines(Redactor::new(plan, &[], session::salt()));
    let prepared = Prepared::new(&alone, options).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
        lines.join("; ")
    })?;
    let driver = SetupDriver::default();
    let made = driver.clone();
    let driven = prepared.with_driver(std::sync::Arc::new(move |_, _| Box::new(made.clone())));
    driven
        .run(Zero::in_ns(LEAD_NS), &mut lines)
        .map_err(|error| error.to_string())?;
    let outcome = driver
        .take()
        .unwrap_or_else(|| Err("it never ended".into()));
    outcome.map_err(|why| format!("`{name}` failed: {why}"))
}

/// Prints lines without their secrets, and forgets figures.
struct Lines(Redactor);

impl Sink for Lines {
    fn interval(&mut self, _: Interval) {}

    fn line(&mut self, line: Line) {
        match session::without_secrets(&mut self.0, line) {
            Some(Line::Log { text, .. }) => log::out(&format!("{text}\n")),
            Some(Line::Remark(text)) => log::warning(text),
            _ => {}
        }
    }
}
