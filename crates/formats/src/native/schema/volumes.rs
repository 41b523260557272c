//! JSON schema of `volume`: how often a scenario starts at 1x, and currently.

use serde_json::{Value, json};

use super::{any, model, named, object};

pub(super) fn volume(key: &str) -> Value {
    match key {
        "volume" => json!({
        "anyOf": [{ "type": "number", "exclusiveMinimum": 0 }, { "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*(/(s|m|min|h|d))?\\s*$" }],
        "description": "How many: 500000, or 12000/d",
        }),
        "hours" => {
            json!({ "type": "number", "exclusiveMinimum": 0, "maximum": 24, "description": "Number of hours over which the volume is spread" })
        }
        "clustering" => {
            json!({ "type": "number", "minimum": 1, "maximum": 1000, "description": "Peak rate divided by mean rate" })
        }
        "growth" => named("Expected growth", "share"),
        "today" => json!({
        "anyOf": [
        { "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*/(s|m|min|h|d)\\s*$" },
        object(model::TODAY, volume, &["volume"]),
        ],
        "description": "The present volume, which the report of a campaign compares with the tested one: \
        1000/d",
        }),
        _ => any(),
    }
}
