//! JSON schema of `workloads`: several loads on one timeline.

use serde_json::{Value, json};

use super::{any, model, named, object, reference, string, whole_number};

/// Returns the pairs of top-level keys that exclude each other.
pub(super) fn exclusions() -> Value {
    let pairs = [
        ["steps", "scenarios"],
        ["load", "workloads"],
        ["steps", "workloads"],
        ["listen", "workloads"],
        ["stages", "workloads"],
    ];
    let exclusion = |pair: [&str; 2]| json!({ "not": { "required": pair } });
    pairs.map(exclusion).to_vec().into()
}

pub(super) fn section() -> Value {
    json!({
    "type": "object",
    "minProperties": 1,
    "additionalProperties": reference("workload"),
    "description": "Several loads on one timeline instead of `load`, by name",
    })
}

pub(super) fn workload() -> Value {
    let mut workload = object(model::WORKLOAD, key, &["load"]);
    workload["oneOf"] = json!([{ "required": ["scenario"] }, { "required": ["scenarios"] }]);
    workload
}

fn key(key: &str) -> Value {
    match key {
        "scenario" => string("Name of the scenario that the workload runs"),
        "scenarios" => json!({
        "type": "object",
        "minProperties": 1,
        "additionalProperties": whole_number("Its share of the workload's iterations", 0),
        "description": "Names of scenarios and their weights: { order: 3, reorder: 1 }",
        }),
        "start-after" => named(
            "Start of the workload after the start of the run",
            "duration",
        ),
        "load" => reference("load"),
        _ => any(),
    }
}
