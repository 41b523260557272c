//! JSON schema of `listen`.

use serde_json::{Value, json};

use super::{any, model, named, object, string, websocket, whole_number};

pub(super) fn definitions(all: &mut Value) {
    let required = ["clients", "open", "push"];
    all["listen"] = object(model::LISTEN, section, &required);
    all["push"] = object(model::PUSH, push, &["sent", "from", "sequence"]);
}

fn section(key: &str) -> Value {
    match key {
        "clients" => whole_number("Number of listeners", 1),
        "connect-rate" => named(
            "Number of listeners that connect per second [100/s]",
            "rate",
        ),
        "open" => {
            string("Where the listeners connect: a path appended to the target, or a ws:// URL")
        }
        "name" => string("Name of the connections in figures"),
        "send" => named("What each listener sends first", "message"),
        "expect" => named(
            "What a listener waits for after it has connected",
            "expected-message",
        ),
        "push" => named("Where a received message contains its stamp", "push"),
        "grace" => named(
            "Maximum time that deliveries are awaited after the load [5s]",
            "duration",
        ),
        "headers" | "query" | "subprotocols" | "deflate" => websocket::step(key),
        _ => any(),
    }
}

fn push(key: &str) -> Value {
    let text = match key {
        "sent" => "Path to the value of $intended",
        "from" => "Path to the value of $sender",
        "sequence" => "Path to the value of $message",
        _ => return any(),
    };
    json!({ "type": "string", "description": text })
}
