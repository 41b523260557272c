//! Ledgers written as sums, with a warning if a ledger does not add up.

use analysis::summary::{ArrivalLedger, Requests, Summary, WorkloadRow};

use record::{Model, units::count};

use super::text::{Columns, wrap};

const WARNING: &str = "  DOES NOT ADD UP";

pub(super) fn render(summary: &Summary, columns: Columns) -> String {
    let mut lines = summary.arrivals.as_ref().map(arrivals).unwrap_or_default();
    lines.extend(closed_iterations(summary));
    if summary.run.imported_from.is_none() || summary.all.reports("errors") {
        lines.push(requests(&summary.requests));
    } else if summary.all.reports("count") {
        lines.push(format!(
            "Requests   {} counted",
            count(summary.requests.issued)
        ));
    }
    let lines = lines.iter().map(|line| wrap(line, 11, columns));
    lines.collect::<Vec<_>>().join("\n")
}

fn arrivals(ledger: &ArrivalLedger) -> Vec<String> {
    let mut lines = Vec::new();
    let started = count(ledger.started);
    if let (Some(planned), Some(unsent)) = (ledger.planned, ledger.unsent) {
        let word = if ledger.until_stop { "due" } else { "planned" };
        let (planned, skipped, unsent) = (count(planned), count(ledger.skipped), count(unsent));
        let unknown = match ledger.unknown {
            0 => String::new(),
            unknown => format!(" + {} unknown", count(unknown)),
        };
        lines.push(format!(
            "Arrivals   {planned} {word} = {started} started + {skipped} skipped + {unsent} unsent{unknown}"
        ));
    }
    let head = if lines.is_empty() { "Iterations" } else { "" };
    let left = match ledger.exited {
        0 => String::new(),
        left => format!(" ({} of them exited early)", count(left)),
    };
    let mut sum = format!(
        "{head:<10} {started} started = {} completed{left} + {} failed + {} abandoned",
        count(ledger.completed),
        count(ledger.failed),
        count(ledger.abandoned)
    );
    finish(&mut sum, ledger.in_flight, ledger.adds_up);
    lines.push(sum);
    lines
}

/// Returns a line about the iterations of closed workloads, if the ledger contains only the
/// arrivals of open ones.
fn closed_iterations(summary: &Summary) -> Option<String> {
    if summary.run.model != Model::Mixed {
        return None;
    }
    let closed = summary.workloads.iter();
    let closed = || closed.clone().filter(|one| one.model == Model::Closed);
    let sum = |of: fn(&WorkloadRow) -> u64| count(closed().map(of).sum());
    let names: Vec<&str> = closed().map(|one| one.name.as_str()).collect();
    Some(format!(
        "Iterations {} ended in closed workloads ({}), not counted as arrivals: {} completed, {} failed",
        sum(|one| one.ended),
        names.join(", "),
        sum(|one| one.completed),
        sum(|one| one.failed)
    ))
}

fn requests(ledger: &Requests) -> String {
    let mut sum = format!(
        "Requests   {} issued = {} ok + {} failed + {} without a response",
        count(ledger.issued),
        count(ledger.ok),
        count(ledger.failed),
        count(ledger.unanswered)
    );
    let classes = ledger.unanswered_by_class.iter();
    let classes: Vec<String> = classes
        .map(|(class, n)| format!("{class} {}", count(*n)))
        .collect();
    if !classes.is_empty() {
        sum.push_str(&format!(" ({})", classes.join(", ")));
    }
    finish(&mut sum, ledger.in_flight, ledger.adds_up);
    if ledger.redirects > 0 {
        sum.push_str(&format!(
            "; in addition, {} redirects",
            count(ledger.redirects)
        ));
    }
    sum
}

fn finish(sum: &mut String, in_flight: u64, adds_up: bool) {
    if in_flight > 0 {
        sum.push_str(&format!(" + {} in flight", count(in_flight)));
    }
    if !adds_up {
        sum.push_str(WARNING);
    }
}
