//! JSON schema of WebSocket steps.

use serde_json::{Value, json};

use super::{any, model, named, object, one_or_many, reference, string, whole_number};

pub(super) fn definitions(all: &mut Value) {
    all["websocket"] = object(model::WEBSOCKET, step, &[]);
    all["message"] = json!({ "anyOf": [{ "type": "string" }, object(model::WEBSOCKET_SEND, message, &[])], "description": "A text, { json: … } or { text: … }" });
    all["expected-message"] = json!({ "anyOf": [{ "type": "string" }, object(model::WEBSOCKET_EXPECT, expected, &[])], "description": "A text that the message contains, or conditions" });
}

pub(super) fn step(key: &str) -> Value {
    match key {
        "connect" => string("Opens a connection: a path appended to the target, or a ws:// URL"),
        "send" => named("Sends a message", "message"),
        "expect" => named("Waits for a message", "expected-message"),
        "listen" => named("Reads and counts messages for this time", "duration"),
        "close" => {
            json!({ "type": ["integer", "boolean"], "description": "Closes the connection with this code: 1000" })
        }
        "on" => string("Name of the connection, if the user has several"),
        "name" => string("Name under which the step is counted"),
        "headers" => named("Headers of the opening request", "pairs"),
        "query" => named(
            "Query parameters, which replace the query in the URL",
            "pairs",
        ),
        "subprotocols" => one_or_many("Subprotocols to offer, in order of preference", "text"),
        "deflate" => {
            json!({ "enum": [false, true, "off", "each-message", "full"], "description": "Compression to offer [off]" })
        }
        "capture" => {
            json!({ "type": "object", "additionalProperties": reference("captured"), "description": "Variables, and the response headers that contain their values" })
        }
        _ => any(),
    }
}

fn message(key: &str) -> Value {
    match key {
        "json" => json!({ "description": "A value to send as JSON" }),
        "text" => string("A text to send"),
        _ => any(),
    }
}

pub(super) fn expected(key: &str) -> Value {
    match key {
        "json" => {
            json!({ "type": ["string", "object"], "description": "A JSONPath that finds a value, or JSONPaths with their values" })
        }
        "text" => string("A text that the message contains"),
        "regexp" => string("A regular expression that finds a match in the message"),
        "flags" => string("Flags of the regular expression"),
        "count" => whole_number("Number of such messages to wait for [1]", 1),
        "within" => named("Time limit [http.timeout]", "duration"),
        "capture" => {
            json!({ "type": "object", "additionalProperties": reference("captured"), "description": "Variables, and where their values are in the message" })
        }
        _ => any(),
    }
}
