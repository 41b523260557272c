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
            json!({ "anyOf": [{ "type": "boolean" }, reference("tls")], "description": "Whether to use TLS, or the certificates to use" })
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
            "Messages per second of all clients together, while the load runs",
            "rate",
        ),
        "load" => named(
            "The same as separate phases, from the start of the run",
            "load",
        ),
        "volume" => named(
            "Messages of all clients together at 1x; they follow the load",
            "rate",
        ),
        "qos" => json!({ "enum": [0, 1, 2], "description": "Quality of service [0]" }),
        "payload" => {
            json!({ "type": ["integer", "string"], "minimum": 1, "description": "Number of bytes, or the text itself [256]" })
        }
        "retain" => boolean("Whether messages are retained"),
        "in-flight" => whole_number(
            "Maximum number of unacknowledged messages per client [1]",
            1,
        ),
        "client-id" => string("Client identifiers; %i is the client's number"),
        "first" => whole_number("Number of the first client, for %i [0]", 0),
        "user" => string("Their user name, instead of the common one"),
        "password" => string("Their password, instead of the common one"),
        "clean" => boolean("Whether each connection starts a new session [true]"),
        _ => any(),
    }
}
