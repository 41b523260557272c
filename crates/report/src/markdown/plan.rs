//! Sections of `report.md` about planned and achieved load, and recovery.

use super::{
    sections::{figure, rates_are, section},
    table::MarkdownTable,
};
use crate::console;
use analysis::summary::Summary;
use record::{
    Model,
    units::{self, count},
};

pub fn plan(summary: &Summary) -> String {
    let mut table = MarkdownTable::new(&[
        "Phase",
        "<Load",
        "Planned",
        "Started",
        "Requests",
        "Errors",
        "Requests/s",
        "p95",
        "p99",
    ]);
    for phase in &summary.phases {
        table.row([
            phase.name.clone(),
            phase.text.clone(),
            optional(phase.planned),
            optional(phase.started),
            count(phase.requests),
            count(phase.errors),
            units::rate(phase.per_second),
            figure(phase.p95.as_ref()),
            figure(phase.p99.as_ref()),
        ]);
    }
    let table = if table.is_empty() {
        String::new()
    } else {
        format!("{table}\np95 and p99: {}.\n", summary.headline_name())
    };
    let workloads = workloads(summary);
    let scenarios = scenarios(summary);
    let ledgers = console::ledgers_text(summary);
    let ledgers = if ledgers.is_empty() {
        String::new()
    } else {
        format!("\n```text\n{ledgers}\n```")
    };
    section(
        "Planned and achieved",
        format!("{table}{workloads}{scenarios}{ledgers}").trim_start(),
    )
}

/// Returns the table of workloads. Empty if the plan has a single load.
fn workloads(summary: &Summary) -> String {
    if summary.workloads.is_empty() {
        return String::new();
    }
    let mut table = MarkdownTable::new(&[
        "Workload",
        "<Model",
        "<Load",
        "From",
        "To",
        "Planned arrivals",
        "Users",
        "Ended",
        "Completed",
        "Failed",
    ]);
    for row in &summary.workloads {
        table.row([
            row.name.clone(),
            model_text(row.model).to_owned(),
            row.text.clone(),
            units::duration(row.start_ns),
            units::duration(row.end_ns),
            optional(row.planned),
            optional(row.users.map(u64::from)),
            count(row.ended),
            count(row.completed),
            count(row.failed),
        ]);
    }
    format!("\n{table}")
}

fn scenarios(summary: &Summary) -> String {
    if summary.scenarios.is_empty() {
        return String::new();
    }
    let rate = |rate: Option<f64>| rate.map_or_else(|| "–".into(), units::rate);
    let has_workloads = !summary.workloads.is_empty();
    let mut heads = vec!["Scenario"];
    if has_workloads {
        heads.push("<Workload");
    }
    heads.extend([
        "Planned",
        "Planned/h",
        "Planned/s",
        "Ended",
        "Completed",
        "Completed/h",
        "Completed/s",
        "Completed of plan",
        "Failed",
        "In flight at the end",
    ]);
    let mut table = MarkdownTable::new(&heads);
    for row in &summary.scenarios {
        let mut cells = vec![row.name.clone()];
        if has_workloads {
            cells.push(row.workload.clone().unwrap_or_default());
        }
        cells.extend([
            optional(row.planned),
            rate(row.planned_per_hour),
            rate(row.planned_per_second),
            count(row.ended),
            count(row.completed),
            units::rate(row.completed_per_hour),
            units::rate(row.completed_per_second),
            row.of_plan.map_or_else(|| "–".into(), units::share),
            count(row.failed),
            optional(row.unfinished),
        ]);
        table.row(cells);
    }
    format!(
        "\n{table}\nPlanned rates are averages over the length of the load. {}\n",
        rates_are(summary)
    )
}

fn model_text(model: Model) -> &'static str {
    match model {
        Model::Open => "open",
        Model::Closed => "closed loop",
        Model::Mixed => "open and closed",
        Model::Once => "one iteration",
    }
}

fn optional(n: Option<u64>) -> String {
    n.map_or_else(|| "–".into(), count)
}

pub fn recovery(summary: &Summary) -> String {
    let Some(recovery) = &summary.recovery else {
        return String::new();
    };
    let mut table = MarkdownTable::new(&["", ""]);
    let mut row = |name: &str, value: String| table.row([name.to_owned(), value]);
    if let Some(after) = &recovery.after_load {
        row(
            "requests in flight when the load ended",
            count(after.in_flight),
        );
        row("requests that ended after the load", count(after.ended));
        row("errors among them", count(after.errors));
        row(
            "p95 of the response time of these requests",
            figure(after.p95.as_ref()),
        );
        row(
            "time from the end of the load until the last of these requests ended",
            units::time(after.drained_ns),
        );
    }
    if let Some(peak) = &recovery.peak {
        row(
            "requests in flight when the peak ended",
            count(peak.in_flight),
        );
        row("p95 in the phase before the peak", peak.before.to_string());
        let settled = match peak.settled_ns {
            Some(0) => "immediately".into(),
            Some(ns) => units::time(ns),
            None if peak.slow_until_end => format!(
                "not within {}, the time until the load ended{}",
                units::time(peak.observed_ns),
                if peak.is_metastable {
                    " (metastable)"
                } else {
                    ""
                }
            ),
            None => "–".into(),
        };
        let bound = units::time(peak.bound_ns);
        row(
            &format!(
                "time after the peak until p95 was at most {bound} and errors at most {} for 10 s",
                units::share(peak.error_bound)
            ),
            settled,
        );
        row(
            "time after the peak until no more requests were in flight than before it",
            peak.drained_ns.map_or("–".into(), units::time),
        );
    }
    section("Recovery", &table.to_string())
}
