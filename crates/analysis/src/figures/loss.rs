//! Effects of lost nodes: unsent arrivals, unknown arrivals, and the affected periods.

use measure::TimeSpan;
use record::{NodeLost, Run, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load_end_ns;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    pub node: u64,
    #[serde(default)]
    pub name: String,
    /// End of the process's record, in nanoseconds from the start. Criteria ignore the period from
    /// `from_ns` to `to_ns`.
    pub from_ns: u64,
    /// When other processes took over the lost share, or the end of the load if none did.
    pub to_ns: u64,
    /// When other processes took over the lost share. `None` if none did.
    pub taken_over_from_ns: Option<u64>,
    #[serde(default)]
    pub by: Vec<u64>,
    /// Arrivals of the lost process that were due after its lease expired and that no process sent.
    pub unsent: u64,
    /// Arrivals that the process may or may not have sent, because they were due after its record
    /// ended and before its lease expired.
    pub unknown: u64,
    pub text: String,
}

#[must_use]
pub fn losses(run: &Run) -> Vec<Loss> {
    let (lost, end_ns) = (run.nodes_lost(), load_end_ns(run));
    let alone = nobodys(run).filter(|_| lost.len() == 1);
    let unsent = |lost: &NodeLost| {
        if run.is_whole() {
            alone.unwrap_or(lost.unsent)
        } else {
            unsent_so_far(run, lost)
        }
    };
    let loss = |lost: &&NodeLost| {
        let TimeSpan { from_ns, to_ns } = lost.touched(end_ns);
        let (unsent, unknown) = (unsent(lost), run.unknown_of(lost));
        let reported = NodeLost {
            unsent,
            ..(*lost).clone()
        };
        Loss {
            node: lost.node,
            name: lost.name.clone(),
            from_ns,
            to_ns,
            taken_over_from_ns: lost.taken_over_from_ns,
            by: lost.by.clone(),
            unsent,
            unknown,
            text: reported.text(unknown),
        }
    };
    lost.iter().map(loss).collect()
}

#[must_use]
pub fn unsent_with_nodes(run: &Run) -> u64 {
    nobodys(run).unwrap_or_else(|| so_far(run).0)
}

/// Returns the number of arrivals of a completed run that no node was responsible for. `None` if
/// the number is uncertain.
fn nobodys(run: &Run) -> Option<u64> {
    let planned = run.manifest.load.planned?;
    let is_told = run.missing.is_empty() && run.lost().next().is_none();
    let is_known = is_told && run.is_whole() && run.manifest.load.by.is_none();
    is_known.then(|| planned.saturating_sub(due(run) + run.unknown()))
}

/// Returns the number of arrivals that were due on all nodes together. Arrivals that another node
/// took over count once.
pub(super) fn due(run: &Run) -> u64 {
    run.totals.rows.due.saturating_sub(run.counted_twice())
}

fn unsent_so_far(run: &Run, lost: &NodeLost) -> u64 {
    let end_ns = run.totals.rows.end_ns;
    if lost
        .taken_over_from_ns
        .is_some_and(|from_ns| from_ns <= end_ns)
    {
        return lost.unsent;
    }
    let meanwhile = run.totals.rows.iter();
    let meanwhile = meanwhile.filter(|row| row.span.from_ns >= lost.lease_ends_ns);
    let due: u64 = meanwhile.map(|row| row.run.due).sum();
    let processes = run.manifest.processes.unwrap_or(0);
    let others = processes.saturating_sub(run.nodes_lost().len() as u64);
    (due / others.max(1)).min(lost.unsent)
}

pub(super) fn so_far(run: &Run) -> (u64, u64) {
    let lost = losses(run);
    let unsent = lost.iter().map(|loss| loss.unsent).sum();
    (unsent, lost.iter().map(|loss| loss.unknown).sum())
}

pub(super) fn is_open(run: &Run) -> bool {
    run.manifest.state == RunState::Running || run.cut.is_some()
}
