//! The load profile of a plan, with request sizes and the limits of this machine. Sends no
//! requests.

use plan::{
    Plan, PoolPolicy, Problem, Raw,
    profile::{Assumed, Profile},
    units::SECOND,
};
use record::Host;
use serde::Serialize;

use crate::{lab_process, memory, prepare};

/// Time for which the kernel reserves the port of a connection that this machine has closed.
const KEPT_NS: u64 = 60 * SECOND;

/// The result of checking one resource of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MachineCheck {
    /// Resource: `cores`, `descriptors`, `ports` or `memory`.
    pub about: &'static str,
    /// Whether the resource is sufficient. `None` if this is unknown.
    pub enough: Option<bool>,
    /// Description of what is needed and what is available.
    pub text: String,
}

/// Computes the plan's profile and checks this machine.
///
/// # Errors
///
/// Returns all problems that prevent the run.
pub fn profile(
    plan: &Plan,
    seed: u64,
    assumed: Assumed,
) -> Result<(Profile, Vec<MachineCheck>), Vec<Problem>> {
    let mut sized = plan.clone();
    if sized.target.expose().starts_with(lab_process::SCHEME) {
        // The address of an embedded target is unknown before its start, but always has about this
        // length.
        sized.target = Raw::new("http://127.0.0.1:65535");
    }
    let sent = engine::program::sizes(&sized, seed)?;
    let profile = Profile::new(plan, seed, assumed, &sent);
    let checks = checks(plan, &profile);
    Ok((profile, checks))
}

fn checks(plan: &Plan, profile: &Profile) -> Vec<MachineCheck> {
    let host = Host::read();
    let most = |figures: Vec<f64>| Profile::peak(figures);
    let requests = most(profile.requests_per_second.clone());
    let arrivals = most(
        profile
            .columns
            .iter()
            .map(|column| column.per_second)
            .collect(),
    );
    let users = match profile.users {
        Some(users) => Some(f64::from(users)),
        None => profile.assumed.latency_ns.map(|_| {
            most(
                profile
                    .in_flight
                    .iter()
                    .map(|in_flight| in_flight.users)
                    .collect(),
            )
        }),
    };
    let connections = match plan.http.pool {
        PoolPolicy::Shared(n) => Some(users.map_or(f64::from(n), |users| users.min(f64::from(n)))),
        PoolPolicy::PerUser => users,
    };
    let clients = profile.clients.iter().map(|row| f64::from(row.clients));
    let clients: f64 = clients.sum();
    let listeners = profile.listeners.as_ref();
    let listeners = listeners.map(|listeners| f64::from(listeners.clients));
    // Listeners stay connected, regardless of the number of running users.
    let connections = match (connections, listeners) {
        (None, listeners) => listeners,
        (Some(users), listeners) => Some(users + clients + listeners.unwrap_or(0.0)),
    };
    let mut checks = Vec::new();
    if !profile.has_users() {
        checks.push(cores(requests, host.cpus.unwrap_or(1)));
    }
    checks.push(descriptors(connections));
    checks.push(ports(plan, &host, arrivals, connections));
    checks.push(memory_for(users));
    checks
}

fn cores(requests: f64, cores: usize) -> MachineCheck {
    let carried = worker::load_control::PER_WORKER * cores as f64;
    let enough = requests <= carried;
    let more = if enough {
        String::new()
    } else {
        "; use `loadline doctor` to measure it".to_owned()
    };
    MachineCheck {
        about: "cores",
        enough: Some(enough),
        text: format!(
            "at most {} requests/s; {cores} {} about {} ({} per core){more}",
            rate(requests),
            if cores == 1 {
                "core handles"
            } else {
                "cores handle"
            },
            rate(carried),
            rate(worker::load_control::PER_WORKER)
        ),
    }
}

fn descriptors(connections: Option<f64>) -> MachineCheck {
    let about = "descriptors";
    let limit = worker::raise_descriptors().map_or_else(
        || "without limit".to_owned(),
        |limit| format!("{} may be open", record::units::count(limit)),
    );
    match connections {
        Some(connections) => match prepare::descriptors_for(connections.ceil() as u64) {
            Ok(()) => MachineCheck {
                about,
                enough: Some(true),
                text: format!("about {} connections; {limit}", whole(connections)),
            },
            Err(problem) => MachineCheck {
                about,
                enough: Some(false),
                text: problem.message,
            },
        },
        None => MachineCheck {
            about,
            enough: None,
            text: format!("one connection per running user; {limit}"),
        },
    }
}

fn ports(plan: &Plan, host: &Host, arrivals: f64, connections: Option<f64>) -> MachineCheck {
    let range = host.local_ports.as_deref().unwrap_or_default();
    let ends: Vec<u64> = range
        .split_whitespace()
        .filter_map(|end| end.parse().ok())
        .collect();
    let about = "ports";
    let [low, high] = ends[..] else {
        return MachineCheck {
            about,
            enough: None,
            text: "the number of local ports is unknown".to_owned(),
        };
    };
    let there_are = high.saturating_sub(low) + 1;
    let has = format!(
        "{} local ports per address",
        record::units::count(there_are)
    );
    // A user's own connections close when the iteration ends, while shared connections stay open.
    let closing = match plan.http.pool {
        PoolPolicy::PerUser if plan.load.has_arrivals() => arrivals * (KEPT_NS / SECOND) as f64,
        _ => 0.0,
    };
    let needed = closing + connections.unwrap_or(0.0);
    let advice = if needed <= there_are as f64 {
        ""
    } else if closing > 0.0 {
        ": let users share connections (`http: { connections: N }`)"
    } else {
        ": use fewer connections"
    };
    let new = if closing > 0.0 {
        format!(
            ", {} new connections per second, and each occupies its port for a minute after it closes",
            rate(arrivals)
        )
    } else {
        String::new()
    };
    let open = match connections {
        Some(open) => format!("about {} connections at the same time", whole(open)),
        None => "one connection per user".to_owned(),
    };
    MachineCheck {
        about,
        enough: match connections {
            None if needed <= there_are as f64 => None,
            _ => Some(needed <= there_are as f64),
        },
        text: format!("{open}{new}; {has}{advice}"),
    }
}

fn memory_for(users: Option<f64>) -> MachineCheck {
    let about = "memory";
    let budget = memory::budget(None).unwrap_or_default();
    let has = record::units::bytes(budget);
    match users {
        Some(users) => {
            let needs = users.ceil() * worker::memory::USER as f64;
            MachineCheck {
                about,
                enough: Some(needs <= budget as f64),
                text: format!(
                    "running users need about {}; the limit is {has} (`--memory`)",
                    record::units::bytes(needs as u64)
                ),
            }
        }
        None => MachineCheck {
            about,
            enough: None,
            text: format!(
                "{} per running user; the limit is {has} (`--memory`)",
                record::units::bytes(worker::memory::USER)
            ),
        },
    }
}

fn whole(number: f64) -> String {
    record::units::count(number.ceil() as u64)
}

fn rate(per_second: f64) -> String {
    record::units::rate(per_second)
}
