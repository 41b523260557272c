//! JSON schema of Socket.IO steps.

use serde_json::{Value, json};

use super::{any, model, named, object, reference, string, websocket, whole_number};

pub(super) fn definitions(all: &mut Value) {
    all["socketio"] = object(model::SOCKETIO, step, &[]);
    all["acknowledgement"] = json!({ "anyOf": [{ "const": true }, object(model::SOCKETIO_ACK, expected, &[])], "description": "true, or conditions of the list of arguments" });
    all["expected-event"] = json!({ "anyOf": [{ "type": "string" }, object(model::SOCKETIO_EXPECT, expected, &["event"])], "description": "The name of an event, or conditions of the list of its arguments" });
}

fn step(key: &str) -> Value {
    match key {
        "connect" => string(
            "Opens a session: the namespace, like / or /chat, or a URL whose path is the namespace",
        ),
        "join" => string("Joins another namespace"),
        "emit" => {
            json!({ "type": ["string", "array"], "description": "Sends an event: its name, or a list of its name and arguments" })
        }
        "ack" => named(
            "Waits until the server acknowledges the event",
            "acknowledgement",
        ),
        "expect" => named("Waits for an event", "expected-event"),
        "listen" => named("Reads and counts events for this time", "duration"),
        "close" => json!({ "const": true, "description": "Closes the session" }),
        "namespace" => string("Namespace of the event [that of `connect`]"),
        "name" => string("Name under which the step is counted"),
        "path" => string("Path of the server's HTTP endpoint [/socket.io/]"),
        "transports" => {
            json!({ "enum": [["polling", "websocket"], ["polling"], ["websocket"]], "description": "Transports [polling, then websocket]" })
        }
        "auth" => {
            json!({ "type": "object", "description": "Credentials for the namespace, like the option `auth` of other clients" })
        }
        "headers" => named("Headers of the session's requests", "pairs"),
        "query" => named("Query parameters of the session's requests", "pairs"),
        _ => any(),
    }
}

fn expected(key: &str) -> Value {
    match key {
        "event" => string("Name of the event"),
        "text" => string("A text that the arguments contain, as JSON"),
        "count" => whole_number("Number of such events to wait for [1]", 1),
        "capture" => {
            json!({ "type": "object", "additionalProperties": reference("captured"), "description": "Variables, and where their values are in the list of arguments: $.0.id" })
        }
        other => websocket::expected(other),
    }
}
