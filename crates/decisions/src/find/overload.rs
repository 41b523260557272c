//! Describes the behaviour above the load line: errors, unbounded latency, or rising latency. Names
//! a resource only if there is evidence.

use plan::criteria::{Metric, parse_criterion};
use record::units;

use super::probe_row::ProbeRow;
use analysis::saturation::THREADS;

const KEEPS_UP: f64 = 0.97;
const FALLS_BEHIND: f64 = 0.95;
const APART: f64 = 1.1;
const FLAT: f64 = 1.1;
const AS_SOON: f64 = 1.3;

/// Describes the failed probes in `rows`, lowest level first. `level` is the lowest failed level,
/// and `fails` contains the criteria that failed there.
pub(super) fn describe(
    rows: &[&ProbeRow],
    held: &[&ProbeRow],
    slos: &[String],
    level: &str,
    fails: &str,
) -> Option<String> {
    let nearest = rows.first()?;
    if rows.iter().any(|row| is_held_up_by_us(row, held)) {
        return Some(format!(
            "{fails} at {level}: requests wait for a free connection of the test, but are answered as quickly as at lower levels (to allow more connections, use --connections)"
        ));
    }
    let unbounded = unbounded(rows, held);
    let is_timeout = nearest
        .cause
        .as_ref()
        .is_some_and(|cause| cause.class == "timeout" || cause.class == "unfinished");
    let errors = errors(nearest, slos, level);
    let keeps_up = nearest.keeps_up();
    Some(match (errors, unbounded) {
        (Some(errors), None) => errors,
        (Some(errors), _) if !is_timeout => errors,
        (_, Some(unbounded)) if !keeps_up => format!("latency grows without bound: {unbounded}"),
        (_, unbounded) if keeps_up => {
            let above = unbounded.map_or_else(String::new, |above| format!("; far above, {above}"));
            // The failed criterion may concern a metric of the server or of the load generator.
            let (rises, but) = if is_late(nearest, slos) {
                ("latency rises, ", "and")
            } else {
                ("", "but")
            };
            format!("{rises}the service keeps up, {but} {fails} at {level}{above}")
        }
        _ => format!("{fails} at {level}"),
    })
}

fn errors(row: &ProbeRow, slos: &[String], level: &str) -> Option<String> {
    let cause = row.cause.as_ref()?;
    let mut failing = failing(row, slos);
    // Unanswered requests exceed the bound of every percentile.
    let is_it = failing.any(|(metric, beyond)| {
        metric == Metric::Errors || (cause.class != "failed" && cause.share * 2.0 >= beyond)
    });
    let share = units::share(cause.share);
    let reason = &cause.reason;
    is_it.then(|| match cause.class.as_str() {
        "failed" if reason.starts_with("status ") => {
            format!("errors: {share} of requests fail with {reason} at {level}")
        }
        "failed" => format!("errors: {share} of the answers fail at {level}: {reason}"),
        "timeout" | "unfinished" => format!("timeouts: {share} at {level}: {reason}"),
        _ => format!("errors: {share} are not answered at {level}: {reason}"),
    })
}

fn failing<'a>(row: &'a ProbeRow, slos: &'a [String]) -> impl Iterator<Item = (Metric, f64)> + 'a {
    slos.iter().zip(&row.beyond).filter_map(|(slo, beyond)| {
        let criterion = parse_criterion(slo).ok()?;
        let beyond = (*beyond)?;
        let is_beyond = beyond > super::allowed(&criterion).unwrap_or(0.5);
        is_beyond.then_some((criterion.metric, beyond))
    })
}

fn is_late(row: &ProbeRow, slos: &[String]) -> bool {
    failing(row, slos).any(|(metric, _)| matches!(metric, Metric::Time(..)))
}

fn is_held_up_by_us(row: &ProbeRow, held: &[&ProbeRow]) -> bool {
    let below = held.iter().filter_map(|row| row.service).max();
    let known = row.wait.zip(row.service).zip(below);
    known.is_some_and(|((wait, service), below)| {
        wait > service / 2 && service as f64 <= AS_SOON * below as f64
    })
}

fn unbounded(rows: &[&ProbeRow], held: &[&ProbeRow]) -> Option<String> {
    let after: Vec<(&ProbeRow, f64, f64)> = rows
        .iter()
        .filter_map(|row| {
            let (arrived, answered) = (row.arrived?, row.answered?);
            let is_behind = row.backlog_growth.is_some() || answered < FALLS_BEHIND * arrived;
            (is_behind && arrived > 0.0 && answered > 0.0).then_some((*row, arrived, answered))
        })
        .collect();
    let most =
        |of: &dyn Fn(&(&ProbeRow, f64, f64)) -> f64| after.iter().map(of).fold(0.0, f64::max);
    let least = |of: &dyn Fn(&(&ProbeRow, f64, f64)) -> f64| {
        after.iter().map(of).fold(f64::INFINITY, f64::min)
    };
    let (arrived, answered) = (
        |one: &(&ProbeRow, f64, f64)| one.1,
        |one: &(&ProbeRow, f64, f64)| one.2,
    );
    let is_flat =
        most(&arrived) >= APART * least(&arrived) && most(&answered) <= FLAT * least(&answered);
    let grows = after.iter().find(|(row, ..)| row.backlog_growth.is_some());
    // Probes that passed also received responses, possibly under more load.
    let held_most = |of: fn(&ProbeRow) -> Option<f64>| {
        held.iter().filter_map(|row| of(row)).fold(0.0, f64::max)
    };
    if !is_flat && grows.is_none() {
        return None;
    }
    let never = match grows {
        Some((_, arrived, answered)) if !is_flat => format!(
            "{}/s arrive and {}/s are answered",
            units::rate(*arrived),
            units::rate(*answered)
        ),
        _ => format!(
            "responses never exceed {}/s, even at higher load",
            units::rate(most(&answered).max(held_most(|row| row.answered)))
        ),
    };
    let saturated = after.iter().find_map(|(row, arrived, answered)| {
        Some((row.saturated.as_ref()?, row.level * answered / arrived))
    });
    Some(match saturated {
        Some((one, arrivals)) if one.resource == THREADS => format!(
            "above {}/s, arrivals find all threads busy ({}: {})",
            units::rate(arrivals.max(held_most(|row| Some(row.level)))),
            one.source,
            one.limit
        ),
        Some((one, _)) => format!(
            "{never}; first resource at its limit: {} ({}: {})",
            one.resource, one.source, one.limit
        ),
        None => never,
    })
}

impl ProbeRow {
    fn keeps_up(&self) -> bool {
        let known = self.arrived.zip(self.answered);
        self.backlog_growth.is_none()
            && known.is_some_and(|(arrived, answered)| answered >= KEEPS_UP * arrived)
    }
}

#[cfg(test)]
#[path = "overload_tests.rs"]
mod tests;
