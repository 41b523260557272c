//! What a run lost with processes that were lost while it went on: for each of them the arrivals that nobody sent, those of which nobody
//! knows whether they were sent, and the seconds that are not like the others. Whether that matters is judged elsewhere.

use record::{NodeLost, Run, RunState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::load_end_ns;

/// A process that was lost while the run went on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Loss {
    /// Which process, by number.
    pub node: u64,
    /// What it is called; empty where it has no name.
    #[serde(default)]
    pub name: String,
    /// Where its record ended, in nanoseconds from the start: criteria leave out what came from here on ...
    pub from_ns: u64,
    /// ... up to here: others had taken over what was its, or the load was over.
    pub to_ns: u64,
    /// From when on others sent what was its; none: nobody did.
    pub taken_over_from_ns: Option<u64>,
    /// Who, by number.
    #[serde(default)]
    pub by: Vec<u64>,
    /// Of its arrivals those that were due behind the end of its lease, and nobody sent.
    pub unsent: u64,
    /// Those that were due between the end of its record and that of its lease: nobody knows whether it sent them.
    pub unknown: u64,
    /// All that in words.
    pub text: String,
}

/// The processes that a run lost, by number.
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
        let (from_ns, to_ns) = lost.touched(end_ns);
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

/// How many arrivals nobody had to send, because a process was lost.
#[must_use]
pub fn unsent_with_nodes(run: &Run) -> u64 {
    nobodys(run).unwrap_or_else(|| so_far(run).0)
}

/// The arrivals of a run that came to its end which no process had as due, and which no lost one may have sent: exact, whatever was told
/// of them. None where others are missing as well, of which nobody has told.
fn nobodys(run: &Run) -> Option<u64> {
    let planned = run.manifest.load.planned?;
    let is_told = run.missing.is_empty() && run.lost().next().is_none();
    let is_known = is_told && run.is_whole() && run.manifest.load.by.is_none();
    is_known.then(|| planned.saturating_sub(due(run) + run.unknown()))
}

/// What was due of all processes, what one of them counted that others had taken over by then left out.
pub(super) fn due(run: &Run) -> u64 {
    let rows = run.totals.rows.values();
    let due: u64 = rows.map(|row| row.run.due).sum();
    due.saturating_sub(run.counted_twice())
}

/// Of a run that ended before its load did, or goes on: what of a lost process nobody has sent by now.
fn unsent_so_far(run: &Run, lost: &NodeLost) -> u64 {
    let end_ns = run.totals.last_end_ns();
    if lost
        .taken_over_from_ns
        .is_some_and(|from_ns| from_ns <= end_ns)
    {
        return lost.unsent;
    }
    // As much as each of the others had to do meanwhile, give or take what one interval has.
    let meanwhile = run.totals.rows.values();
    let meanwhile = meanwhile.filter(|row| row.span.0 >= lost.lease_ends_ns);
    let due: u64 = meanwhile.map(|row| row.run.due).sum();
    let processes = run.manifest.processes.unwrap_or(0);
    let others = processes.saturating_sub(run.nodes_lost().len() as u64);
    (due / others.max(1)).min(lost.unsent)
}

/// Of a run that ended before its load did, or goes on: what was lost with processes by now, as (unsent, unknown).
pub(super) fn so_far(run: &Run) -> (u64, u64) {
    let lost = losses(run);
    let unsent = lost.iter().map(|loss| loss.unsent).sum();
    (unsent, lost.iter().map(|loss| loss.unknown).sum())
}

/// Whether it goes on, or nobody knows whether it does.
pub(super) fn is_open(run: &Run) -> bool {
    run.manifest.state == RunState::Running || run.cut.is_some()
}
