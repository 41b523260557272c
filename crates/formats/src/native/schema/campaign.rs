//! JSON schema of a campaign: stages, cool-down, deployments.

use serde_json::{Value, json};

use super::{any, described, named, one_or_many, reference, string, whole_number};

pub(super) fn stage(key: &str) -> Value {
    match key {
        "name" => described("Name of the stage", json!({ "type": ["string", "number"] })),
        "load" => reference("load"),
        "run" => named(
            "Another tool's command line, as one text or as a list of words",
            "texts",
        ),
        "criteria" => named("Criteria in addition to those of the campaign", "texts"),
        "stop" => {
            json!({ "type": "array", "items": reference("rule"), "description": "Stop rules in addition to those of the campaign" })
        }
        "on-fail" => {
            json!({ "enum": ["stop", "continue"], "description": "Whether later stages run if this stage fails" })
        }
        "target" => string("What the stage loads, if it differs from the campaign"),
        "notes" => one_or_many("Text for the report, in Markdown", "note"),
        "against" => described(
            "The earlier stage whose load this stage repeats on a different target",
            json!({ "type": ["string", "number"] }),
        ),
        _ => any(),
    }
}

pub(super) fn cool_down(key: &str) -> Value {
    match key {
        "at-most" => named("Maximum duration", "duration"),
        "rate" => named("Rate of the probe iterations", "rate"),
        "for" => named(
            "Time for which the service must respond normally",
            "duration",
        ),
        "baseline" => described(
            "The stage used as the baseline",
            json!({ "type": ["string", "number"] }),
        ),
        _ => any(),
    }
}

pub(super) fn deployment(key: &str) -> Value {
    match key {
        "instances" => whole_number("Number of instances", 1),
        "background" => named("Share of each instance used by other load [0%]", "share"),
        _ => any(),
    }
}
