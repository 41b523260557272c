//! JSON schema of `mqtt` and its groups.

use serde_json::{Value, json};

use super::{any, boolean, named, one_or_many, reference, string, whole_number};

pub(super) fn section(key: &str) -> Value {
    match key {
        "host" => string(
            "The broker: HOST, HOST:PORT, mqtts://HOST:PORT, or lab:NAME?option=value for an embedded one",
        ),
        "version" => {
            json!({ "enum": [5, "5", "3.1.1"], "description": "Which MQTT [5]" })
        }
        "tls" => {
            json!({ "anyOf": [{ "type": "boolean" }, reference("tls")], "description": "Whether TLS is spoken, or certificates of the plan's own" })
        }
        "verify" => boolean("Whether certificates are checked"),
        "user" => string("Every client's user name; %i and %c are filled in"),
        "password" => string("Their password; never recorded"),
        "keep-alive" => named("Keep-alive of a client [300s]", "duration"),
        "connect-rate" => named("Number of clients that connect per second [100/s]", "rate"),
        "publish" => one_or_many("Publishing clients, in one or more groups", "publish"),
        "subscribe" => one_or_many("Subscribing clients, in one or more groups", "subscribe"),
        _ => any(),
    }
}

pub(super) fn group(key: &str) -> Value {
    match key {
        "clients" => whole_number("How many", 1),
        "topic" => named(
            "Where they publish, or the filters they receive; %i is a client's number",
            "texts",
        ),
        "rate" => named(
            "Messages of all of them together, for as long as the load goes on",
            "rate",
        ),
        "load" => named(
            "The same by phases of their own, from the start of the run on",
            "load",
        ),
        "volume" => named(
            "Messages of all of them together at 1x, going up and down with the load",
            "rate",
        ),
        "qos" => json!({ "enum": [0, 1, 2], "description": "Quality of service [0]" }),
        "payload" => {
            json!({ "type": ["integer", "string"], "minimum": 1, "description": "Number of bytes, or the text itself [256]" })
        }
        "retain" => boolean("Whether messages are retained"),
        "in-flight" => whole_number(
            "Messages of a client that may wait for their acknowledgement [1]",
            1,
        ),
        "client-id" => string("Who they are; %i is a client's number"),
        "first" => whole_number("The number of the first, as %i has it [0]", 0),
        "user" => string("Their user name, instead of that of all"),
        "password" => string("Their password, instead of that of all"),
        "clean" => boolean("Whether each connection begins a new session [true]"),
        _ => any(),
    }
}
