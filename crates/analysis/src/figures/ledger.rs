//! Ledgers of arrivals and requests. Each arrival or request counts in exactly one column, and the
//! summary states whether the columns add up.

use std::collections::BTreeMap;

use measure::{Fault, NoAnswer, label::LabelGroup, slot::Counters};
use plan::mutant::{self, Mutant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use record::{Run, units};

use super::loss;

/// The ledger of arrivals. It satisfies `planned = started + skipped + unsent + unknown` and
/// `started = completed + failed + abandoned (+ in flight)`. If some workloads are open and others
/// closed, it contains only the arrivals of the open ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArrivalLedger {
    /// Planned arrivals. `None` in a closed loop.
    pub planned: Option<u64>,
    /// Whether `planned` includes only the arrivals that were due before the run ended early.
    pub until_stop: bool,
    /// Arrivals that started. In a closed loop, iterations that started.
    pub started: u64,
    /// Arrivals that were skipped because of a limit in the plan.
    pub skipped: u64,
    /// Planned arrivals that are neither started, skipped nor unknown. `None` in a closed loop.
    pub unsent: Option<u64>,
    /// Arrivals of a lost process that may or may not have been sent, because they were due after
    /// its record ended and before its lease expired.
    #[serde(default, skip_serializing_if = "is_none")]
    pub unknown: u64,
    pub completed: u64,
    /// Completed iterations that ended at an exit step of the plan.
    #[serde(default, skip_serializing_if = "is_none")]
    pub exited: u64,
    pub failed: u64,
    pub abandoned: u64,
    /// Iterations in flight when the record of a killed process ended. Otherwise 0.
    pub in_flight: u64,
    pub adds_up: bool,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the value by reference"
)]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// The ledger of requests: issued = ok + failed + none (+ in flight).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    pub issued: u64,
    pub ok: u64,
    /// Requests with a response whose status, check or capture is wrong.
    pub failed: u64,
    #[serde(rename = "none")]
    pub unanswered: u64,
    #[serde(rename = "none_by_class")]
    pub unanswered_by_class: BTreeMap<String, u64>,
    /// Unanswered requests whose streamed response is incomplete.
    #[serde(default, skip_serializing_if = "is_none")]
    pub incomplete_streams: u64,
    /// Followed redirects, which do not count as requests.
    pub redirects: u64,
    /// Requests in flight when the record of a killed process ended. Otherwise 0.
    pub in_flight: u64,
    pub adds_up: bool,
}

impl Requests {
    /// Returns whether the service sent no response at all, not even part of a stream.
    #[must_use]
    pub fn are_all_unanswered(&self) -> bool {
        self.ok + self.failed + self.incomplete_streams == 0
    }

    /// Returns the sentence for requests that are all unanswered, without its full stop.
    #[must_use]
    pub fn none_answered(&self) -> String {
        match self.issued {
            1 => "the only request was not answered".to_owned(),
            n => format!("none of {} requests was answered", units::count(n)),
        }
    }
}

#[must_use]
pub fn arrivals(run: &Run) -> ArrivalLedger {
    let mut counted = Counters::default();
    let of_arrivals = run.labels_of(LabelGroup::Iteration);
    let load = &run.manifest.load;
    for label in of_arrivals.filter(|label| load.counts_as_arrivals(&label.text)) {
        counted.add(&run.totals.label(label.id).slot.counters);
    }
    let (started, skipped) = (run.totals.rows.started, run.totals.rows.skipped);
    let until_stop = !run.is_whole();
    let (lost, unknown) = loss::so_far(run);
    let unknown = run.manifest.load.planned.map_or(0, |_| unknown);
    let planned = run.manifest.load.planned.map(|planned| {
        if loss::is_open(run) {
            // If the record was cut off, arrivals of its last interval may have started afterwards.
            let open = run.totals.rows.last();
            let open = open.map_or(0, |row| row.run.due);
            let missing = loss::due(run).saturating_sub(started + skipped);
            started + skipped + missing.saturating_sub(open) + lost + unknown
        } else if until_stop || run.manifest.load.by.is_some() {
            // If an external tool ends the load, all arrivals due until then were planned.
            loss::due(run) + unrecorded(run) + lost + unknown
        } else {
            planned
        }
    });
    let abandoned = counted.unanswered[NoAnswer::Unfinished as usize];
    let failed = counted.errors() - abandoned;
    let ended = counted.ok + failed + abandoned;
    let in_flight = in_flight(run, started, ended);
    let unknown = unknown
        + match run.manifest.load.planned {
            Some(_) if !loss::is_open(run) => unrecorded(run),
            _ => 0,
        };
    let ends_add_up = started == ended + in_flight;
    // If more arrivals started than were planned, `unsent` is 0 and the ledger does not add up.
    let starts_add_up = planned.is_none_or(|planned| planned >= started + skipped + unknown);
    let skipped = if mutant::is(Mutant::SkippedForUnsent) {
        planned.map_or(skipped, |planned| planned.saturating_sub(started + unknown))
    } else {
        skipped
    };
    ArrivalLedger {
        planned,
        until_stop: (until_stop || run.manifest.load.by.is_some()) && planned.is_some(),
        started,
        skipped,
        unsent: planned.map(|planned| planned.saturating_sub(started + skipped + unknown)),
        unknown,
        completed: counted.ok,
        exited: run.totals.rows.exited,
        failed,
        abandoned,
        in_flight,
        adds_up: ends_add_up && starts_add_up,
    }
}

/// Returns the number of arrivals that no record contains, because their node left no record or was
/// killed.
///
/// The number is an estimate unless the run completed.
#[must_use]
pub fn unrecorded(run: &Run) -> u64 {
    let silent = run.missing.len() + run.lost().count();
    let Some(planned) = run.manifest.load.planned.filter(|_| silent > 0) else {
        return 0;
    };
    let due = loss::due(run);
    let (unsent, unknown) = loss::so_far(run);
    let left = planned.saturating_sub(due + unsent + unknown);
    if run.is_whole() && run.manifest.load.by.is_none() {
        return left;
    }
    let of_lost: u64 = run.lost().map(|process| process.due).sum();
    let others = (run.manifest.processes.unwrap_or(0)).saturating_sub(silent as u64);
    let of_each = due.saturating_sub(of_lost) as f64 / others.max(1) as f64;
    let all = (of_each * silent as f64) as u64;
    // Only a plan with a fixed length has an upper bound.
    match run.manifest.load.by {
        Some(_) => all.saturating_sub(of_lost),
        None => all.saturating_sub(of_lost).min(left),
    }
}

#[must_use]
pub fn requests(run: &Run, counters: &Counters) -> Requests {
    let in_flight = in_flight(run, counters.issued, counters.ended());
    Requests {
        issued: counters.issued,
        ok: counters.ok,
        failed: counters.failed,
        unanswered: counters.without_answer(),
        unanswered_by_class: by_class(counters),
        incomplete_streams: incomplete_streams(counters),
        redirects: counters.redirects,
        in_flight,
        adds_up: counters.issued == counters.ended() + in_flight,
    }
}

fn incomplete_streams(counters: &Counters) -> u64 {
    let faults = counters.faults.0.iter();
    let of_streams = faults.filter(|(fault, _)| matches!(fault, Fault::Stream(_)));
    of_streams.map(|(_, n)| n).sum()
}

/// Returns the number of requests without a recorded end. Only a truncated record has such
/// requests.
fn in_flight(run: &Run, begun: u64, ended: u64) -> u64 {
    if loss::is_open(run) || run.lost().next().is_some() || !run.nodes_lost().is_empty() {
        begun.saturating_sub(ended)
    } else {
        0
    }
}

pub fn by_class(counters: &Counters) -> BTreeMap<String, u64> {
    let classes = NoAnswer::ALL.iter().map(|class| {
        (
            class.name().to_owned(),
            counters.unanswered[*class as usize],
        )
    });
    classes.filter(|(_, n)| *n > 0).collect()
}
