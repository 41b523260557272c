//! JSON schema of requests, captures and checks.

use plan::event_stream::StreamFormat;
use serde_json::{Value, json};

use super::{any, boolean, described, model, named, object, one_or_many, reference, string};

pub(super) fn request(key: &str) -> Value {
    match key {
        "url" => string("The URL, or a path appended to the target"),
        "name" => string("Name under which the request is counted"),
        "headers" => named("Headers of the request", "pairs"),
        "query" => named(
            "Query parameters, which replace the query in the URL",
            "pairs",
        ),
        "json" => json!({ "description": "Request body, as JSON" }),
        "body" => string("Request body, as text"),
        "form" => named("Request body, as a form", "pairs"),
        "multipart" => {
            json!({ "type": "object", "additionalProperties": one_or_many("Text, or a form part with a content type or a file", "part"), "description": "Request body, as a form with files; use a list for a name that occurs more than once" })
        }
        "cookies" => named("Cookies to set before the request", "pairs"),
        "auth" => named("User and password", "auth"),
        "redirects" => boolean("Whether to follow redirects"),
        "stream" => reference("stream"),
        "capture" => {
            json!({ "type": "object", "additionalProperties": reference("captured"), "description": "Variables, and where their values are in the response" })
        }
        "check" => one_or_many("Checks on the response", "check"),
        "expect" => named(
            "Statuses of 400 and above that do not count as failures",
            "statuses",
        ),
        "before" => named(
            "Functions of the script to call before the request is built",
            "texts",
        ),
        "after" => named("Functions of the script to call with the response", "texts"),
        "times" => {
            json!({ "type": "number", "minimum": 1e-6, "maximum": 10000, "description": "How often to send it: 3 means three times in a row, 0.1 means once in ten" })
        }
        _ => any(),
    }
}

pub(super) fn part(key: &str) -> Value {
    match key {
        "value" => named("Value of the part", "text"),
        "file" => string("The file with the content, relative to the plan"),
        "type" => string("Content type; for a file, the default follows from its name"),
        "filename" => string("File name to send instead of the real one"),
        _ => any(),
    }
}

pub(super) fn capture(key: &str) -> Value {
    match key {
        "json" => string("A JSONPath: $.id"),
        "header" => string("Name of a response header"),
        "regexp" => string("A JavaScript regular expression"),
        "group" => described(
            "The capture group whose text is used",
            json!({ "type": ["integer", "string"] }),
        ),
        "flags" => string("Flags of the regular expression"),
        "stream" => {
            string("From a streamed response: `text` for the whole text, or a path into its events")
        }
        "optional" => boolean("Whether the value may be missing"),
        "all" => boolean("Whether to capture the list of all matches"),
        _ => any(),
    }
}

pub(super) fn stream() -> Value {
    described(
        "How the events of a streamed response are read",
        json!({ "anyOf": [stream_format(), object(model::STREAM, stream_setting, &["format"])] }),
    )
}

fn stream_format() -> Value {
    json!({ "enum": StreamFormat::ALL.map(StreamFormat::name) })
}

fn stream_setting(key: &str) -> Value {
    match key {
        "format" => described("Format of the events", stream_format()),
        "data" => string("Path of the content in an event, for sse and lines: $.text"),
        "end" => string("Data of the event that ends the stream, for sse and lines"),
        "tokens" => string("Path of the number of output tokens, for sse and lines"),
        "idle" => named("Longest time between two events", "duration"),
        "until" => json!({
            "anyOf": [reference("duration"), { "type": "integer", "minimum": 1 }],
            "description": "When the client ends the stream: after a time, or a number of events",
        }),
        "max-time" => named(
            "Longest duration of the response, instead of `http.timeout`",
            "duration",
        ),
        _ => any(),
    }
}

pub(super) fn check(key: &str) -> Value {
    match key {
        "status" => reference("statuses"),
        "header" => named("Response headers and the values they must have", "pairs"),
        "json" => {
            json!({ "type": ["string", "object"], "description": "A JSONPath that must match, or JSONPaths and the values they must have" })
        }
        "body" => string("Text that the response body must contain"),
        _ => any(),
    }
}
