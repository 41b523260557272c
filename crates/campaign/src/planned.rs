//! Planned rates of a stage, as shown in the report.

use decisions::campaign::{Planned, PlannedCall, PresentVolume, VolumeRate};
use plan::profile::Assumed;

/// Returns the rates at the highest level of the stage. `None` if the load is closed.
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
            today: None,
        })
    };
    let scenarios = profile.scenarios.iter();
    let scenarios = scenarios.map(|row| {
        let today = row.today.clone().zip(row.today_per_second);
        Some(VolumeRate {
            today: today.map(|(text, per_second)| PresentVolume { text, per_second }),
            ..rate(&row.name, row.volume.as_ref(), &row.per_second)?
        })
    });
    let endpoints = profile.endpoints.iter();
    let endpoints = endpoints.map(|row| rate(&row.name, None, &row.per_second));
    let least = rates().min_by(f64::total_cmp)?;
    Some(Planned {
        varies: least < most,
        arrivals_per_second: most,
        requests_per_second: profile.requests_per_second.first()? * times,
        scenarios: scenarios.collect::<Option<_>>()?,
        endpoints: endpoints.collect::<Option<_>>()?,
        calls: calls(plan),
    })
}

/// Returns the requests per iteration of each scenario. Empty if the plan has a single scenario.
fn calls(plan: &plan::Plan) -> Vec<PlannedCall> {
    let scenarios = plan.scenarios();
    if scenarios.len() < 2 {
        return Vec::new();
    }
    let calls = scenarios.iter().enumerate().flat_map(|(index, scenario)| {
        let mut alone = plan.clone();
        alone.work = vec![scenario.clone()].into();
        let profile = session::profile::profile(&alone, 0, Assumed::default());
        let Ok((profile, _)) = profile else {
            return Vec::new();
        };
        let Some(column) = profile.columns.first() else {
            return Vec::new();
        };
        let endpoints = profile.endpoints.iter().map(|row| {
            let per_second = row.per_second.first().filter(|_| profile.is_known);
            PlannedCall {
                scenario: scenario.render(index),
                endpoint: row.name.clone(),
                per_iteration: per_second.map(|rate| rate / column.per_second),
            }
        });
        endpoints.collect()
    });
    calls.collect()
}
