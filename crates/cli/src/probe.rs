//! The flag `loadline run … --probe`, which turns a run into a probe of `find`. These flags are
//! internal.

use plan::{Load, Phase, Plan, Probing, Shape, UserPhase, units};

use crate::error::{CommandError, flag_error};

pub const PHASE: &str = find::PHASE;
const SETTLING: &str = "settling";

/// Adds time to settle and removes the file's criteria, because the search sets others.
pub fn make(plan: &mut Plan, settle: &str, until: Option<&str>) -> Result<(), CommandError> {
    // Listeners connect before the time to settle begins.
    plan.remove_connect_phase();
    make_load(plan, settle, until)?;
    plan.add_connect_phase();
    Ok(())
}

fn make_load(plan: &mut Plan, settle: &str, until: Option<&str>) -> Result<(), CommandError> {
    let settle_ns = match settle {
        "0" | "0s" => 0,
        text => units::parse_duration(text).map_err(|e| flag_error("--probe", text, &e))?,
    };
    plan.policy.criteria.clear();
    plan.max_duration_ns = None;
    plan.policy.probing = Some(match until {
        None => Probing::AtItsEnd,
        Some("plain") => Probing::UntilPlain,
        Some(_) => Probing::UntilDecided,
    });
    match &mut plan.load {
        Load::Open { phases, .. } => {
            let Some(last) = phases.last_mut() else {
                return Ok(());
            };
            last.name = Some(PHASE.to_owned());
            if let (Shape::Rate(rate), true) = (last.shape, settle_ns > 0) {
                let mut settling = Phase::new(settle_ns, Shape::Rate(rate));
                settling.arrivals = last.arrivals;
                settling.name = Some(SETTLING.to_owned());
                phases.insert(0, settling);
            }
        }
        Load::Closed {
            users,
            duration_ns,
            phases,
        } => {
            let phase = |name: &str, duration_ns: u64| UserPhase {
                name: Some(name.to_owned()),
                from: *users,
                to: *users,
                duration_ns,
                duration_text: String::new(),
            };
            *phases = vec![phase(PHASE, *duration_ns)];
            if settle_ns > 0 {
                phases.insert(0, phase(SETTLING, settle_ns));
            }
            *duration_ns += settle_ns;
        }
        Load::Several { .. } => {
            return Err(CommandError::bad_input(
                "--probe: a search needs one rate or one number of users, and this test has several loads",
            ));
        }
        Load::Once => {}
    }
    Ok(())
}
