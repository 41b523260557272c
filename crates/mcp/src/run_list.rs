//! The answer to `runs_list`: finished runs, beginning with the newest.

use analysis::verdict::Judgement;
use decisions::run_index::IndexedRun;
use serde_json::{Value, json};

use crate::{answer::Answer, arguments::ListArguments, result::exit_word};

const USUAL: usize = 10;
const MOST: usize = 20;

/// Lists the runs that match the arguments.
pub(crate) fn list_answer(runs: &[IndexedRun], arguments: &ListArguments) -> Answer {
    let is_meant = |run: &&IndexedRun| {
        let is_called = arguments.name.as_ref().is_none_or(|name| run.name == *name);
        let has_tag = arguments
            .tag
            .as_ref()
            .is_none_or(|tag| run.tags.contains(tag));
        is_called && has_tag
    };
    let found: Vec<&IndexedRun> = runs.iter().rev().filter(is_meant).collect();
    let last = arguments.last.unwrap_or(USUAL).clamp(1, MOST);
    let rows: Vec<Value> = found.iter().take(last).map(|run| row(run)).collect();
    let conclusion = match found.len() {
        0 => "No runs. Start one with run_start.".to_owned(),
        all => format!(
            "{} of {all} runs, the newest first. Use run_result for figures.",
            rows.len()
        ),
    };
    Answer::new(conclusion).with("runs", rows)
}

fn row(run: &IndexedRun) -> Value {
    let criteria = run.criteria.map(|judgement| match judgement {
        Judgement::Pass => "PASS",
        Judgement::Fail => "FAIL",
        Judgement::Inconclusive => "INCONCLUSIVE",
    });
    let stamp = run.measurement.as_deref();
    json!({
        "run": run.run,
        "plan": run.name,
        "target": run.target,
        "measurement": stamp.unwrap_or("NONE"),
        // The criteria of an INVALID measurement decide nothing.
        "criteria": if stamp == Some("INVALID") { None } else { criteria },
        "exit": exit_word(run.exit_code),
        "when": run.began_utc,
        "has_record": run.recorded,
    })
}
