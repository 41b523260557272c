//! Planned rates of a stage, shown in the report.

use decisions::campaign::{Planned, VolumeRate};
use plan::profile::Assumed;

/// Returns the rates at the stage's highest level. `None` if the load is closed.
pub fn from_plan(plan: &plan::Plan) -> Option<Planned> {
    let (profile, _) = session::profile::profile(plan, 0, Assumed::default()).ok()?;
    let rates = || {
        let phases = profile.phases.iter();
        phases.flat_map(|phase| [phase.from_per_second, phase.to_per_second])
    };
    let most = rates().max_by(f64::total_cmp)?;
    let times = most / profile.columns.first()?.per_second;
    let rate = |name: &String, volume: Option<&String>, per_second: &[f64]| {
        Some(VolumeRate {
            name: name.clone(),
            volume: volume.cloned(),
            per_second: per_second.first()? * times,
        })
    };
    let scenarios = profile.scenarios.iter();
    let scenarios = scenarios.map(|row| rate(&row.name, row.volume.as_ref(), &row.per_second));
    let endpoints = profile.endpoints.iter();
    let endpoints = endpoints.map(|row| rate(&row.name, None, &row.per_second));
    let least = rates().min_by(f64::total_cmp)?;
    Some(Planned {
        varies: least < most,
        arrivals_per_second: most,
        requests_per_second: profile.requests_per_second.first()? * times,
        scenarios: scenarios.collect::<Option<_>>()?,
        endpoints: endpoints.collect::<Option<_>>()?,
    })
}
