//! JSON schema of `mqtt` and its groups.

use serde_json::{Value, json};

use super::{any, boolean, named, one_or_many, reference, string, whole_number};

pub(super) fn section(key: &str) -> Value {
    match key {
        "host" => string(
            "The broker: HOST, HOST:PORT, mqtts://HOST:PORT, or lab:NAME?option=value for an embedded one",
        ),
        "version" => {
            json!({ "enum": [5, "5", "3.1.1"], "description": "MQTT version [5]" })
        }
        "tls" => {
            json!({ "anyOf": [{ "type": "boolean" }, reference("tls")], "description": "Whether to use TLS, or which certificates to use" })
        }
        "verify" => boolean("Whether to verify certificates"),
        "user" => string("User name of every client; %i and %c are replaced"),
        "password" => string("Password of every client; never recorded"),
        "keep-alive" => named("Keep-alive interval of a client [300s]", "duration"),
        "connect-rate" => named("Number of clients that connect per second [100/s]", "rate"),
        "publish" => one_or_many("Publishing clients, in one or more groups", "publish"),
        "subscribe" => one_or_many("Subscribing clients, in one or more groups", "subscribe"),
        _ => any(),
    }
}

pub(super) fn group(key: &str) -> Value {
    match key {
        "clients" => whole_number("Number of clients", 1),
        "topic" => named(
            "Topic to publish to, or topic filter to subscribe to; %i is replaced by the client's number",
            "texts",
        ),
        "rate" => named(
            "Messages per second of all clients together, during the load",
            "rate",
        ),
        "load" => named(
            "Message rate in separate phases, from the start of the run",
            "load",
        ),
        "volume" => named(
            "Messages of all clients together at 1x; they follow the level of the load",
            "rate",
        ),
        "qos" => json!({ "enum": [0, 1, 2], "description": "Quality of service [0]" }),
        "payload" => {
            json!({ "type": ["integer", "string"], "minimum": 1, "description": "Size of the payload in bytes, or its text [256]" })
        }
        "retain" => boolean("Whether messages are retained"),
        "in-flight" => whole_number(
            "Maximum number of unacknowledged messages per client [1]",
            1,
        ),
        "client-id" => string("Client identifiers; %i is the client's number"),
        "first" => whole_number("Number of the first client, for %i [0]", 0),
        "user" => string("User name of these clients; overrides `mqtt.user`"),
        "password" => string("Password of these clients; overrides `mqtt.password`"),
        "clean" => boolean("Whether each connection starts a new session [true]"),
        _ => any(),
    }
}
