//! Load profile of a plan with several workloads: one profile for each workload, and the sums.

use serde::Serialize;

use super::{
    Assumed, Bandwidth, InFlightEstimate, Profile, RequestBytes, ScenarioRow, TableRow,
    columns::RateColumn,
};
use crate::{Load, Plan, Scenario, Workload, seed_of_workload};

/// A workload in the load profile. Times count from the start of the run.
#[derive(Debug, Clone, Serialize)]
pub struct WorkloadProfile {
    /// Name of the workload.
    pub name: String,
    /// Start in nanoseconds.
    pub start_ns: u64,
    /// End of its load in nanoseconds.
    pub end_ns: u64,
    /// Profile of the workload alone. Times count from the start of the workload.
    pub profile: Profile,
}

/// Computes the profiles of all workloads, and their sums.
pub(super) fn profile(plan: &Plan, seed: u64, assumed: Assumed, sent: &[RequestBytes]) -> Profile {
    let one = |(index, workload): (usize, &Workload)| {
        let seed = seed_of_workload(seed, index);
        let mut profile = Profile::new(&alone(plan, workload), seed, assumed, sent);
        let end_ns = workload.end_ns().min(plan.end_ns());
        profile.end_ns = end_ns.saturating_sub(workload.starts_ns);
        if workload.starts_ns > 0 {
            without_start(&mut profile);
        }
        WorkloadProfile {
            name: workload.name.clone(),
            start_ns: workload.starts_ns,
            end_ns,
            profile,
        }
    };
    let workloads = plan.workloads().iter().enumerate().map(one).collect();
    sum(plan, workloads, assumed)
}

/// Returns a plan that contains only this workload and its scenarios.
fn alone(plan: &Plan, workload: &Workload) -> Plan {
    let scenarios = workload.scenarios.iter();
    let scenarios = scenarios.filter_map(|index| plan.scenarios().get(*index).cloned());
    let scenarios: Vec<Scenario> = scenarios.collect();
    let mut alone = plan.clone();
    // The pause before the first arrival belongs to the schedule, and affects random arrivals.
    alone.load = match workload.is_open() {
        true => workload.load_on_timeline(),
        false => workload.load.clone(),
    };
    alone.work = scenarios.into();
    alone.background = None;
    alone
}

/// Removes the row of the pause before the workload, and renumbers the other rows.
fn without_start(profile: &mut Profile) {
    if profile.phases.is_empty() {
        return;
    }
    profile.phases.remove(0);
    for (index, phase) in profile.phases.iter_mut().enumerate() {
        if phase.name == (index + 2).to_string() {
            phase.name = (index + 1).to_string();
        }
    }
}

fn sum(plan: &Plan, workloads: Vec<WorkloadProfile>, assumed: Assumed) -> Profile {
    let profiles = || workloads.iter().map(|workload| &workload.profile);
    let users = || profiles().filter_map(|profile| profile.users);
    let closed_users: u32 = users().fold(0, u32::saturating_add);
    let is_closed = users().count() == workloads.len();
    let peak = |of: fn(&Profile) -> &Vec<f64>| {
        let peaks = profiles().map(|profile| Profile::peak(of(profile).iter().copied()));
        peaks.sum::<f64>()
    };
    let in_flight = |of: fn(&InFlightEstimate) -> f64| {
        let peaks = profiles().map(|profile| Profile::peak(profile.in_flight.iter().map(of)));
        peaks.sum::<f64>()
    };
    let arrivals = profiles().filter_map(|profile| profile.arrivals);
    let requests = profiles().filter_map(|profile| profile.requests);
    let scenarios: Vec<ScenarioRow> = profiles()
        .flat_map(|profile| profile.scenarios.iter().cloned())
        .map(|row| ScenarioRow {
            per_second: Vec::new(),
            ..row
        })
        .collect();
    Profile {
        name: plan.name.clone(),
        full_per_second: None,
        columns: vec![RateColumn {
            name: "the sum of all peaks".to_owned(),
            per_second: plan.load.peak_rate(),
        }],
        columns_omitted: 0,
        scenarios,
        endpoints: Vec::new(),
        requests_per_second: vec![peak(|profile| &profile.requests_per_second)],
        in_flight: vec![InFlightEstimate {
            users: f64::from(closed_users) + in_flight(|one| one.users),
            requests: assumed.latency_ns.map(|_| {
                f64::from(closed_users) + in_flight(|one| one.requests.unwrap_or_default())
            }),
        }],
        bandwidth: vec![Bandwidth {
            sent: bandwidth(&workloads, |one| one.sent),
            received: bandwidth(&workloads, |one| one.received),
        }],
        phases: Vec::new(),
        users: is_closed.then_some(closed_users),
        users_come_and_go: is_closed,
        end_ns: plan.end_ns(),
        arrivals: arrivals.reduce(|sum, own| sum + own),
        requests: requests.reduce(|sum, own| sum + own),
        requests_are_exact: profiles().all(|profile| profile.requests_are_exact),
        is_known: profiles().all(|profile| profile.is_known),
        tables: tables(&workloads),
        clients: super::clients::rows(plan, 0),
        listeners: None,
        workloads,
        assumed,
    }
}

/// Returns the sum of the highest bandwidths. `None` if the bandwidth of an open workload is
/// unknown. Also `None` if there are users, because their request rate depends on the responses.
fn bandwidth(workloads: &[WorkloadProfile], of: fn(&Bandwidth) -> Option<f64>) -> Option<f64> {
    let mut sum = 0.0;
    for WorkloadProfile { profile, .. } in workloads {
        if profile.users.is_some() {
            return None;
        }
        let figures: Option<Vec<f64>> = profile.bandwidth.iter().map(of).collect();
        sum += Profile::peak(figures?);
    }
    Some(sum)
}

/// Returns the tables with the number of rows that the largest workload uses, because each workload
/// starts at the first row.
fn tables(workloads: &[WorkloadProfile]) -> Vec<TableRow> {
    let first = workloads.first().map(|one| one.profile.tables.as_slice());
    let row = |(index, table): (usize, &TableRow)| {
        let needed = workloads.iter().map(|one| one.profile.tables[index].needed);
        let needed: Option<Vec<u64>> = needed.collect();
        TableRow {
            needed: needed.and_then(|needed| needed.into_iter().max()),
            ..table.clone()
        }
    };
    first
        .unwrap_or_default()
        .iter()
        .enumerate()
        .map(row)
        .collect()
}

/// Returns the highest planned rate of all workloads together in each of `stretches` equal periods.
/// `None` if no workload has a rate.
pub(super) fn curve(workloads: &[Workload], end_ns: u64, stretches: usize) -> Option<Vec<f64>> {
    let curves = workloads.iter().filter(|workload| workload.is_open());
    let curves = curves.filter_map(|workload| {
        let load: Load = workload.load_on_timeline();
        super::curve(&load, end_ns, stretches)
    });
    curves.reduce(|sum, own| sum.iter().zip(own).map(|(sum, own)| sum + own).collect())
}
