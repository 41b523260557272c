//! JSON schema of the team's additions to the report of a campaign.

use serde_json::{Value, json};

use super::{any, described, named, reference, string};

pub(super) fn plan(key: &str) -> Value {
    match key {
        "sections" => {
            json!({ "type": "array", "items": reference("section"), "description": "Sections to add to the campaign report, in Markdown" })
        }
        "differences" => {
            json!({ "type": "object", "additionalProperties": { "type": "array", "minItems": 2, "maxItems": 3, "items": { "type": ["string", "number"] } }, "description": "Differences \
                between the tested and the target environment: [tested, target, effect]" })
        }
        _ => named(
            "Which metrics the report of a campaign shows, and how",
            "show",
        ),
    }
}

pub(super) fn section(key: &str) -> Value {
    match key {
        "title" => described(
            "Heading of the section",
            json!({ "type": ["string", "number"] }),
        ),
        "date" => string("When the section was written, for the heading"),
        "text" => string("The text, in Markdown"),
        "file" => string("A file with the text, relative to the plan"),
        "place" => {
            json!({ "enum": ["start", "end"], "description": "Before the load, or before the appendix [end]" })
        }
        _ => any(),
    }
}

pub(super) fn show(key: &str) -> Value {
    match key {
        "metrics" => json!({
        "anyOf": [
        { "type": "array", "items": { "type": "string" } },
        { "type": "object", "additionalProperties": { "type": "string" } },
        ],
        "description": "Server metrics to show, in this order: names, or names and titles",
        }),
        "rates" => {
            json!({ "enum": ["per second", "per minute"], "description": "Unit of request rates" })
        }
        "time-zone" => {
            json!({ "type": "string", "description": "Time zone of the times in the report: America/New_York, UTC-05:00, or local" })
        }
        "links" => {
            json!({ "type": "object", "additionalProperties": { "type": "string" }, "description": "Dashboards to link to from each stage: names and URLs, with the placeholders {{ from_ms }}, {{ to_ms }}, {{ from_s }} and {{ to_s }}" })
        }
        _ => any(),
    }
}
