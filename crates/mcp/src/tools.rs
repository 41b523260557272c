//! The tools available to agents. Their descriptions also state when a tool should not be used.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::arguments::{
    CheckArguments, CompareArguments, ExplainArguments, FindArguments, ListArguments,
    ResultArguments, StartArguments, StatusArguments, StopArguments,
};

/// Instructions for agents, which clients may add to their prompt.
pub(crate) const INSTRUCTIONS: &str = "Loadline runs load tests. Order of work: plan_check, run_start, run_status until the run has ended, run_result. \
Quote the `conclusion` of an answer first. If it says INVALID MEASUREMENT, report no figures and repeat the run. \
Claim nothing that is listed under `must_not_claim`. A person sets the hosts and the caps; no tool can change them.";

/// Returns all tools, always in the same order.
pub(crate) fn tools() -> Vec<Tool> {
    vec![
        tool::<CheckArguments>(
            "plan_check",
            "Check a load test plan without sending anything. Returns findings with line and column, the load profile (hosts, peak rate, total requests, duration), whether this server allows it, and the `digest` that run_start requires. Do not use it to learn how fast a service is.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool::<StartArguments>(
            "run_start",
            "Start a load test: a checked plan with its digest, or a URL with a rate and a duration. Returns the run's name before the load ends. One run at a time. Do not use it for a single request, for a check that a page works, or on hosts that nobody asked you to load.",
            changing()
                .destructive(true)
                .idempotent(false)
                .open_world(true),
        ),
        tool::<StatusArguments>(
            "run_status",
            "Counts of a run in progress, and whether it has ended. Waits up to 30 s if `wait` is given. Its figures are hints: do not report them as results, use run_result.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool::<StopArguments>(
            "run_stop",
            "End a run as Ctrl-C does: no new arrivals, requests in flight finish, the record stays. Do not use it to get a result earlier: a short run may decide nothing.",
            changing()
                .destructive(false)
                .idempotent(true)
                .open_world(false),
        ),
        tool::<ResultArguments>(
            "run_result",
            "What may be concluded from a run or a search that has ended. An INVALID measurement is an error without figures: repeat the run. Do not compute averages of percentiles from several results; use compare.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool::<ListArguments>(
            "runs_list",
            "List finished runs, the newest first, with verdict and measurement. Do not use it to compare runs.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool::<CompareArguments>(
            "compare",
            "Compare a baseline with a candidate, each of one or more runs. Says per figure: better, worse, no change above the margin, or undecided; or why the runs cannot be compared. A single run on each side gives only a hint.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
        tool::<FindArguments>(
            "find_start",
            "Search the highest load at which all criteria hold. It sends many probes, some of which overload the service. Read the result with run_result. Do not use it to check a known load, or on a service that others use.",
            changing()
                .destructive(true)
                .idempotent(false)
                .open_world(true),
        ),
        tool::<ExplainArguments>(
            "explain",
            "The paragraphs of Loadline's documentation about a word, a verdict, an exit code or an error message. Do not use it for other tools.",
            ToolAnnotations::new().read_only(true).open_world(false),
        ),
    ]
}

fn changing() -> ToolAnnotations {
    ToolAnnotations::new().read_only(false)
}

fn tool<T: JsonSchema>(name: &'static str, about: &'static str, hints: ToolAnnotations) -> Tool {
    let schema = serde_json::to_value(schemars::schema_for!(T)).unwrap_or_default();
    Tool::new(name, about, object(schema))
        .with_raw_output_schema(object(output_schema(name)))
        .with_annotations(hints)
}

fn object(value: Value) -> Arc<JsonObject> {
    Arc::new(match value {
        Value::Object(members) => members,
        _ => JsonObject::new(),
    })
}

/// Returns the schema shared by the answers of all tools.
fn output_schema(tool: &str) -> Value {
    let mut properties = json!({
        "conclusion": { "type": "string", "description": "What may be concluded. Quote it first." },
    });
    if tool == "run_result" {
        let more = json!({
            "measurement": {
                "type": "object",
                "properties": {
                    "stamp": { "enum": ["VALID", "DEGRADED", "INVALID", "NONE"] },
                    "reasons": { "type": "array", "items": { "type": "string" } },
                    "when": { "type": "array", "items": { "type": "string" } },
                },
            },
            "criteria": { "type": "array" },
            "figures": {
                "type": ["array", "null"],
                "description": "Null if the measurement supports no figure",
                "items": { "$ref": "#/$defs/figure" },
            },
            "untrusted_figures": { "type": "array", "items": { "$ref": "#/$defs/figure" } },
            "holds_anyway": { "type": "array", "items": { "type": "string" } },
            "may_claim": { "type": "array", "items": { "type": "string" } },
            "must_not_claim": { "type": "array", "items": { "type": "string" } },
            "notes": { "type": "array", "items": { "type": "string" } },
        });
        if let (Value::Object(properties), Value::Object(more)) = (&mut properties, more) {
            properties.extend(more);
        }
    }
    json!({
        "type": "object",
        "properties": properties,
        "required": ["conclusion"],
        "$defs": { "figure": figure_schema() },
    })
}

fn figure_schema() -> Value {
    json!({
        "type": "object",
        "properties": {
            "value": { "type": ["number", "null"] },
            "unit": { "type": "string" },
            "of": { "type": "string" },
            "low": { "type": ["number", "null"] },
            "high": { "type": ["number", "null"] },
            "at_least": { "type": "number" },
            "samples": { "type": "integer" },
            "trust": { "enum": ["full", "lower-bound", "hint", "none"] },
        },
        "required": ["value", "unit", "of", "trust"],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_says_when_not_to_use_it_and_has_hints() {
        let tools = tools();
        assert_eq!(tools.len(), 9);
        for tool in tools {
            let about = tool.description.unwrap_or_default();
            let is_limited =
                about.to_lowercase().contains("do not") || about.contains("only a hint");
            assert!(is_limited, "{}: {about}", tool.name);
            assert_eq!(tool.input_schema["type"], "object", "{}", tool.name);
            assert_eq!(tool.input_schema["additionalProperties"], false);
            assert!(tool.annotations.unwrap().read_only_hint.is_some());
        }
    }
}
