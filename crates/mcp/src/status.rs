//! The answers to `run_status` and `run_stop`: the counts of a running process, and how it ended.

use analysis::{summary::Summary, verdict::Judgement};
use record::units;
use serde_json::{Value, json};

use crate::{
    answer::{Answer, number, seconds},
    figures,
    process::{ProcessKind, TestProcess},
    result::exit_word,
    untrusted,
};

/// Minimum number of requests for showing percentiles during a run.
const FEWEST: u64 = 200;

/// Returns the state of a process. `so_far` is the summary of its record, if it can be read.
pub(crate) fn status_answer(process: &TestProcess, so_far: Option<&Summary>) -> Answer {
    let name = process.name();
    if let Some(code) = process.code {
        return ended(process, &name, code);
    }
    let what = match process.order.kind {
        ProcessKind::Run => "RUNNING",
        ProcessKind::Search => "SEARCHING",
    };
    let mut conclusion = format!("{what}. No conclusion can be drawn before the end.");
    if let Some(reason) = &process.stop {
        conclusion = format!("STOPPING: {reason}. Requests in flight may still finish.");
    }
    let counters = &process.counters;
    let planned_ns = process.order.planned_ns;
    let mut answer = Answer::new(conclusion)
        .with("run", name)
        .with("phase", phase(process, so_far))
        .with("elapsed", seconds(process.elapsed_ns(), "since the start"))
        .with("planned", seconds(planned_ns, "duration of the load"));
    if process.order.kind == ProcessKind::Run {
        let errors = counters.errors();
        answer = answer
            .with(
                "issued",
                number(counters.issued() as f64, "requests", "issued so far"),
            )
            .with(
                "errors",
                number(
                    errors as f64,
                    "requests",
                    "failed or without response so far",
                ),
            )
            .with("so_far", so_far.map_or(Value::Null, figures_so_far));
        let stamp = so_far.and_then(|summary| summary.measurement.as_ref());
        let stamp = stamp.map(|measurement| measurement.verdict.clone());
        answer = answer.with("measurement_so_far", stamp);
    }
    answer
}

fn phase(process: &TestProcess, so_far: Option<&Summary>) -> String {
    let elapsed_ns = process.counters.recorded_to_ns();
    if process.order.kind == ProcessKind::Search {
        return "probing".to_owned();
    }
    if process.record.is_none() {
        return "starting".to_owned();
    }
    if elapsed_ns >= process.order.planned_ns {
        return "waiting for requests in flight".to_owned();
    }
    let phases = so_far.map_or(&[][..], |summary| &summary.phases);
    let current = phases
        .iter()
        .find(|phase| (phase.start_ns..phase.end_ns).contains(&elapsed_ns));
    current.map_or_else(|| "load".to_owned(), |phase| phase.name.clone())
}

/// Returns hints for a run in progress. Percentiles require a minimum number of requests. Null
/// unless the measurement has a verdict other than INVALID.
fn figures_so_far(summary: &Summary) -> Value {
    let row = &summary.all;
    let mut all = Vec::new();
    if summary.measurement.is_none() || summary.is_invalid() {
        return Value::Null;
    }
    if row.count >= FEWEST {
        all = figures::figures(summary, row);
        for figure in &mut all {
            figure["trust"] = "hint".into();
        }
    }
    let failing = summary.criteria.iter();
    let failing = failing.filter(|judged| judged.judgement == Judgement::Fail);
    let failing: Vec<&str> = failing.map(|judged| judged.text.as_str()).collect();
    json!({ "figures": all, "failing_so_far": failing })
}

fn ended(process: &TestProcess, name: &str, code: u8) -> Answer {
    let stopped = process.stop.as_ref();
    let stopped = stopped.map(|reason| format!(" It was stopped: {reason}."));
    let has_result = process.record.is_some() || process.order.kind == ProcessKind::Search;
    let mut answer = if has_result {
        Answer::new(format!(
            "ENDED. Call run_result for what may be concluded.{}",
            stopped.unwrap_or_default()
        ))
    } else {
        let text = format!(
            "The run left no record, so nothing was measured.{} Its last message is in the block below.",
            stopped.unwrap_or_default()
        );
        let mut answer = Answer::failed(text);
        // The message may quote the response to a step of `setup`.
        answer.excerpts = untrusted::block(process.last_error().as_slice());
        answer
    };
    answer = answer.with("run", name).with("exit", exit_word(code));
    if process.order.kind == ProcessKind::Run {
        let issued = process.counters.issued() as f64;
        answer = answer.with("issued", number(issued, "requests", "issued"));
    }
    answer
}

/// Returns the answer to a start.
pub(crate) fn started_answer(process: &TestProcess) -> Answer {
    let what = match process.order.kind {
        ProcessKind::Run => "RUN STARTED",
        ProcessKind::Search => "SEARCH STARTED",
    };
    Answer::new(format!(
        "{what}. Nothing is known yet: wait with run_status, then call run_result."
    ))
    .with("run", process.name())
    .with(
        "planned",
        seconds(process.order.planned_ns, "duration from the start"),
    )
    .with(
        "ends_by",
        format!(
            "{} after the start, including requests in flight",
            units::duration(process.order.limit_ns)
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_so_far_need_a_judged_measurement() {
        let fixture = include_str!("../testdata/summary.json");
        let mut summary: Summary = serde_json::from_str(fixture).unwrap();
        summary.all.count = FEWEST;
        assert!(figures_so_far(&summary)["figures"].is_array());
        summary.measurement = None;
        assert!(figures_so_far(&summary).is_null());
    }
}
