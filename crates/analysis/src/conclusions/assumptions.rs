//! The assumptions on which the figures of a report are based.

use record::{Model, RunState, units};

use crate::summary::Summary;

const SHORT_NS: u64 = 60_000_000_000;

#[must_use]
pub fn assumptions(summary: &Summary) -> Vec<String> {
    let run = &summary.run;
    let mut all = Vec::new();
    all.push(match run.model {
        Model::Open => {
            "Arrivals follow the schedule and do not wait for responses: a slow server does not receive less load.".to_owned()
        }
        Model::Closed => format!(
            "Closed loop: at most {} users, and each waits for its responses. While the server stalls, the load falls and each user sees only one slow response.",
            units::count(summary.users.max)
        ),
        Model::Mixed => format!(
            "Open and closed workloads: arrivals follow the schedule. In addition, at most {} users run in a closed loop: while the server stalls, they send less and each sees only one slow response.",
            units::count(closed_users(summary))
        ),
        Model::Once => "Only one iteration was sent: this is a trial, not a measurement.".to_owned(),
    });
    if run.model != Model::Once {
        all.push("The whole run is included: no warm-up was excluded.".to_owned());
    }
    if on_this_machine(&run.target) {
        all.push(
            "The load generator and the target ran on one machine. They shared its CPUs, and no network was involved.".to_owned(),
        );
    }
    if run.elapsed_ns < SHORT_NS && run.model != Model::Once {
        all.push(format!(
            "{} were measured. Effects that appear once a minute, once an hour, or with full caches are not covered.",
            units::time(run.elapsed_ns)
        ));
    }
    if run.record_ends_ns.is_some() {
        all.push("The record ends before the run did: later events are not covered.".to_owned());
    } else if run.state != RunState::Complete {
        all.push("The run ended earlier than planned: later effects are not covered.".to_owned());
    }
    all
}

/// Returns the planned number of users of all closed workloads together.
fn closed_users(summary: &Summary) -> u64 {
    let users = summary
        .workloads
        .iter()
        .filter_map(|workload| workload.users);
    users.map(u64::from).sum()
}

fn on_this_machine(target: &str) -> bool {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let host = rest.rsplit_once('@').map_or(rest, |(_, host)| host);
    ["127.", "localhost", "[::1]"]
        .iter()
        .any(|local| host.starts_with(local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_this_machine() {
        for target in [
            "http://127.0.0.1:80",
            "https://localhost/",
            "http://[::1]:8/x",
            "http://a:b@127.0.0.9",
        ] {
            assert!(on_this_machine(target), "{target}");
        }
        for target in ["http://example.com", "http://10.0.0.1", ""] {
            assert!(!on_this_machine(target), "{target}");
        }
    }
}
