//! The load profile of a plan, computed without sending requests: arrivals per scenario and
//! requests per endpoint at each level, concurrency, data rows, bandwidth and phases.
//!
//! The figures are averages over iterations without failures. Response times and sizes are the
//! user's assumptions, or unknown.

mod clients;
mod columns;
mod curve;
mod journey;
mod workloads;

use serde::Serialize;

use crate::{Load, Plan, RowOrder, Scenario, units::SECOND, volume};
pub use clients::{ClientsRow, ListenersRow};
use columns::RateColumn;
use journey::Journey;
pub use workloads::WorkloadProfile;

pub use curve::curve;

/// The user's assumptions about responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Assumed {
    /// Duration of a request, in nanoseconds.
    #[serde(rename = "latency_ns", skip_serializing_if = "Option::is_none")]
    pub latency_ns: Option<u64>,
    /// Size of a response, in bytes.
    #[serde(rename = "answer_bytes", skip_serializing_if = "Option::is_none")]
    pub answer_bytes: Option<u64>,
}

/// Size of a request on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestBytes {
    /// Method in upper case.
    pub method: String,
    /// Name of the request's label.
    pub name: String,
    /// Average number of bytes of head and body.
    pub bytes: u64,
}

/// The load profile of a plan.
#[derive(Debug, Clone, Serialize)]
pub struct Profile {
    /// Name of the plan.
    pub name: String,
    /// Arrivals per second at level 1x. `None` if the plan has no volumes.
    pub full_per_second: Option<f64>,
    /// Columns of the tables: one for each selected rate.
    pub columns: Vec<RateColumn>,
    /// Number of rates without a column.
    pub columns_omitted: usize,
    /// Rows of the scenarios.
    pub scenarios: Vec<ScenarioRow>,
    /// Rows of the endpoints.
    pub endpoints: Vec<EndpointRow>,
    /// Requests per second of all endpoints, by column.
    pub requests_per_second: Vec<f64>,
    /// Concurrency by column.
    pub in_flight: Vec<InFlightEstimate>,
    /// Bandwidth by column.
    pub bandwidth: Vec<Bandwidth>,
    /// Rows of the phases.
    pub phases: Vec<PhaseRow>,
    /// Maximum number of users of a closed load.
    pub users: Option<u32>,
    /// Whether the number of users changes during the load.
    pub users_come_and_go: bool,
    /// End of the load in nanoseconds from the start.
    pub end_ns: u64,
    /// Total arrivals. `None` if the load is closed.
    pub arrivals: Option<u64>,
    /// Total requests, on average.
    pub requests: Option<f64>,
    /// Whether every iteration has the same number of requests.
    pub requests_are_exact: bool,
    /// Whether all numbers are known before the run. Loops, conditions or pauses may depend on
    /// responses. Loops with an unknown number of rounds count once.
    pub is_known: bool,
    /// Tables, with the number of rows that the run uses.
    pub tables: Vec<TableRow>,
    /// Groups of background MQTT clients.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clients: Vec<ClientsRow>,
    /// The WebSocket listeners.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listeners: Option<ListenersRow>,
    /// Profiles of the workloads. Empty if the plan has a single load. Otherwise, this profile has
    /// no rows for endpoints or phases, and a single column with the sum of all peaks.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadProfile>,
    /// Assumptions that the figures are based on.
    pub assumed: Assumed,
}

/// A scenario in the load profile.
#[derive(Debug, Clone, Serialize)]
pub struct ScenarioRow {
    /// Name of the scenario.
    pub name: String,
    /// Volume as written in the plan.
    pub volume: Option<String>,
    /// Volume as arrivals per second.
    pub volume_per_second: Option<f64>,
    /// Present volume as written in the plan. `None` if the plan does not contain it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today: Option<String>,
    /// Present volume as arrivals per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub today_per_second: Option<f64>,
    /// Share of all arrivals.
    pub share: f64,
    /// Arrivals per second by column.
    pub per_second: Vec<f64>,
    /// Requests per iteration.
    pub requests: f64,
    /// Think time per iteration, in nanoseconds.
    pub think_ns: u64,
}

/// An endpoint in the load profile.
#[derive(Debug, Clone, Serialize)]
pub struct EndpointRow {
    /// Method and name, as in reports.
    pub name: String,
    /// Requests per second by column.
    pub per_second: Vec<f64>,
}

/// Average concurrency by Little's law: rate times duration.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct InFlightEstimate {
    /// Number of virtual users, or a lower bound if the latency is unknown.
    pub users: f64,
    /// Number of requests in flight. `None` if the latency is unknown.
    pub requests: Option<f64>,
}

/// Bytes per second in each direction.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Bandwidth {
    /// Bytes per second sent to the service. `None` if some requests cannot be built before the
    /// run.
    pub sent: Option<f64>,
    /// Bytes per second received from the service. `None` if the size of responses is unknown.
    pub received: Option<f64>,
}

/// A phase in the load profile.
#[derive(Debug, Clone, Serialize)]
pub struct PhaseRow {
    /// Name of the phase, or its number from 1.
    pub name: String,
    /// Start of the phase, in nanoseconds from the start of the load.
    pub start_ns: u64,
    /// End of the phase, in nanoseconds from the start of the load.
    pub end_ns: u64,
    /// Arrivals per second at the start of the phase.
    pub from_per_second: f64,
    /// Arrivals per second at the end of the phase.
    pub to_per_second: f64,
    /// Number of arrivals in the phase. Random arrivals are counted for this run's seed.
    pub arrivals: u64,
    /// Average number of requests in the phase.
    pub requests: f64,
}

/// A data table in the load profile.
#[derive(Debug, Clone, Serialize)]
pub struct TableRow {
    /// File of the table.
    pub source: String,
    /// Number of rows in the table.
    pub rows: u64,
    /// Number of rows that arrivals use. `None` if each arrival uses the whole table, or if the
    /// number is unknown.
    pub needed: Option<u64>,
    /// Whether rows are drawn at random and may repeat.
    pub at_random: bool,
}

impl Profile {
    /// Computes the load profile of a plan, including its workloads. `sent` contains the known
    /// request sizes.
    #[must_use]
    pub fn new(plan: &Plan, seed: u64, assumed: Assumed, sent: &[RequestBytes]) -> Profile {
        if !plan.workloads().is_empty() {
            return workloads::profile(plan, seed, assumed, sent);
        }
        let full = volume::full(plan.scenarios()).map(|rate| rate.as_f64());
        let (columns, columns_omitted) = columns::build(&plan.load, full);
        let journeys: Vec<Journey> = plan
            .scenarios()
            .iter()
            .map(|scenario| Journey::new(plan, scenario))
            .collect();
        let shares = shares(plan);
        let endpoints = endpoints(&journeys, &shares, &columns);
        let requests_of_one = mean(&journeys, &shares, Journey::requests);
        let think_ns = mean(&journeys, &shares, |journey| journey.think_ns);
        let rates = || columns.iter().map(|column| column.per_second);
        let latency = assumed.latency_ns.map(|ns| ns as f64 / SECOND as f64);
        let schedule = plan.schedule(seed);
        let arrivals =
            matches!(plan.load, Load::Open { .. } | Load::Once).then(|| schedule.total());
        let takes_part = |share: &f64| *share > 0.0;
        let first = journeys
            .iter()
            .zip(&shares)
            .find(|(_, share)| takes_part(share));
        let same = first.is_some_and(|(first, _)| {
            let taking_part = journeys
                .iter()
                .zip(&shares)
                .filter(|(_, share)| takes_part(share));
            taking_part
                .into_iter()
                .all(|(journey, _)| journey.is_exact() && journey.requests() == first.requests())
        });
        let bytes =
            |per_second: f64| bytes_sent(&journeys, &shares, sent).map(|bytes| bytes * per_second);
        Profile {
            name: plan.name.clone(),
            full_per_second: full,
            scenarios: scenarios(plan, &journeys, &shares, &columns),
            requests_per_second: rates().map(|rate| rate * requests_of_one).collect(),
            in_flight: rates()
                .map(|rate| InFlightEstimate {
                    users: rate
                        * (think_ns / SECOND as f64 + requests_of_one * latency.unwrap_or(0.0)),
                    requests: latency.map(|latency| rate * requests_of_one * latency),
                })
                .collect(),
            bandwidth: rates()
                .map(|rate| Bandwidth {
                    sent: bytes(rate),
                    received: assumed
                        .answer_bytes
                        .map(|answer| rate * requests_of_one * answer as f64),
                })
                .collect(),
            phases: phases(plan, &schedule, requests_of_one),
            users: match plan.load {
                Load::Closed { users, .. } => Some(users),
                _ => None,
            },
            users_come_and_go: matches!(&plan.load, Load::Closed { phases, .. } if !phases.is_empty()),
            end_ns: plan.end_ns(),
            arrivals,
            requests: arrivals.map(|arrivals| arrivals as f64 * requests_of_one),
            requests_are_exact: same,
            is_known: journeys.iter().all(|journey| journey.is_known),
            tables: tables(plan, arrivals),
            clients: clients::rows(plan, seed),
            listeners: clients::listeners(plan),
            columns,
            columns_omitted,
            endpoints,
            workloads: Vec::new(),
            assumed,
        }
    }

    /// Returns whether part of the load is a number of users, whose request rate is unknown before
    /// the run.
    #[must_use]
    pub fn has_users(&self) -> bool {
        let mut workloads = self.workloads.iter();
        self.users.is_some() || workloads.any(|one| one.profile.users.is_some())
    }

    /// Returns the largest of the figures.
    #[must_use]
    pub fn peak(figures: impl IntoIterator<Item = f64>) -> f64 {
        figures.into_iter().fold(0.0, f64::max)
    }
}

fn shares(plan: &Plan) -> Vec<f64> {
    let weights = plan
        .scenarios()
        .iter()
        .map(|scenario| f64::from(scenario.weight));
    let all: f64 = weights.clone().sum();
    weights
        .map(|weight| if all > 0.0 { weight / all } else { 0.0 })
        .collect()
}

fn mean(journeys: &[Journey], shares: &[f64], of: impl Fn(&Journey) -> f64) -> f64 {
    journeys
        .iter()
        .zip(shares)
        .map(|(journey, share)| of(journey) * share)
        .sum()
}

fn scenarios(
    plan: &Plan,
    journeys: &[Journey],
    shares: &[f64],
    columns: &[RateColumn],
) -> Vec<ScenarioRow> {
    let rows = plan
        .scenarios()
        .iter()
        .enumerate()
        .zip(journeys.iter().zip(shares));
    let today = |scenario: &Scenario| scenario.volume.as_ref()?.today.clone();
    rows.map(|((index, scenario), (journey, share))| ScenarioRow {
        name: scenario.render(index),
        volume: scenario.volume.as_ref().map(|volume| volume.text.clone()),
        volume_per_second: scenario.volume.as_ref().map(|volume| volume.rate.as_f64()),
        today: today(scenario).map(|today| today.text),
        today_per_second: today(scenario).map(|today| today.rate.as_f64()),
        share: *share,
        per_second: columns
            .iter()
            .map(|column| column.per_second * share)
            .collect(),
        requests: journey.requests(),
        think_ns: journey.think_ns.round() as u64,
    })
    .collect()
}

fn endpoints(journeys: &[Journey], shares: &[f64], columns: &[RateColumn]) -> Vec<EndpointRow> {
    let mut rows: Vec<(&journey::Endpoint, f64)> = Vec::new();
    for (journey, share) in journeys.iter().zip(shares) {
        for (endpoint, times) in &journey.calls {
            match rows.iter_mut().find(|(known, _)| *known == endpoint) {
                Some((_, all)) => *all += times * share,
                None => rows.push((endpoint, times * share)),
            }
        }
    }
    let rows = rows.into_iter().map(|(endpoint, times)| EndpointRow {
        name: format!("{} {}", endpoint.method, endpoint.name),
        per_second: columns
            .iter()
            .map(|column| column.per_second * times)
            .collect(),
    });
    rows.collect()
}

/// Returns the average number of bytes sent per iteration. `None` if the request size of an
/// endpoint is unknown.
fn bytes_sent(journeys: &[Journey], shares: &[f64], sent: &[RequestBytes]) -> Option<f64> {
    let mut all = 0.0;
    for (journey, share) in journeys.iter().zip(shares) {
        for (endpoint, times) in &journey.calls {
            let known =
                |sent: &&RequestBytes| sent.method == endpoint.method && sent.name == endpoint.name;
            all += sent.iter().find(known)?.bytes as f64 * times * share;
        }
    }
    Some(all)
}

fn phases(plan: &Plan, schedule: &crate::Schedule, requests_of_one: f64) -> Vec<PhaseRow> {
    let Load::Open { phases, .. } = &plan.load else {
        return Vec::new();
    };
    let mut start_ns = 0;
    // Omit phases that start after the end of the load.
    let row = |(index, (phase, end_ns)): (usize, (&crate::Phase, &u64))| {
        let (from, to) = phase.ends();
        let arrivals = schedule.phase_total(index as u32);
        let begins = std::mem::replace(&mut start_ns, *end_ns);
        PhaseRow {
            name: phase
                .name
                .clone()
                .unwrap_or_else(|| (index + 1).to_string()),
            start_ns: begins,
            end_ns: *end_ns,
            from_per_second: from,
            to_per_second: to,
            arrivals,
            requests: arrivals as f64 * requests_of_one,
        }
    };
    let phases = phases.iter().zip(schedule.phase_ends());
    phases.enumerate().map(row).collect()
}

fn tables(plan: &Plan, arrivals: Option<u64>) -> Vec<TableRow> {
    let row = |table: &crate::Payload| TableRow {
        source: table.source.clone(),
        rows: table.rows.len() as u64,
        needed: arrivals.filter(|_| table.all_as.is_none()),
        at_random: table.order == RowOrder::Random,
    };
    plan.payloads.iter().map(row).collect()
}

#[cfg(test)]
mod tests;
