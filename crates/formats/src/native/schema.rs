//! JSON schema of native plans, for editors. The keys come from [`super::model`]. The schema cannot
//! express checks of labels or files.

mod campaign;
mod content;
mod listen;
mod mqtt;
mod requests;
mod socketio;
mod steps;
mod volumes;
mod websocket;
mod workloads;

use serde_json::{Map, Value, json};

use super::{mocks, model};

const TITLE: &str = "A Loadline test plan";

#[must_use]
pub fn schema() -> Value {
    let mut root = object(model::PLAN, plan, &["loadline"]);
    let more = json!({
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": TITLE,
    "description": "See docs/reference/plan.md.",
    "allOf": workloads::exclusions(),
    "$defs": definitions(),
    });
    if let (Value::Object(root), Value::Object(more)) = (&mut root, more) {
        root.extend(more);
    }
    root
}

fn definitions() -> Value {
    let mut all = json!({
    "duration": {
    "type": "string",
    "pattern": "^\\s*[0-9][0-9._]*\\s*(ns|us|µs|ms|s|m|min|h|d)\\s*$",
    "description": "A number followed by a unit (ns, us, ms, s, m, h or d): 500ms, 1.5s, 10m",
    },
    "rate": {
    "anyOf": [
    { "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*(/(s|m|min|h|d))?\\s*$" },
    { "type": "number", "minimum": 0 },
    ],
    "description": "200/s, 90/m, 3000/h, 5/d; a bare number is per second",
    },
    "level": {
    "type": "string",
    "pattern": "^\\s*[0-9][0-9._]*\\s*[x%]\\s*$",
    "description": "A multiple of all volumes: 0.5x, 150%",
    },
    "amount": { "anyOf": [reference("rate"), reference("level")], "description": "A rate (10/s) or a level (0.5x)" },
    "share": { "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*%\\s*$", "description": "20%" },
    "text": { "type": ["string", "number", "boolean"], "description": "Text; {{ name }} is replaced by a variable" },
    "texts": { "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] },
    "pairs": { "type": "object", "description": "Names and values; use a list for a name that occurs more than once" },
    "statuses": {
    "anyOf": [reference("status"), { "type": "array", "items": reference("status") }],
    "description": "A status, or a list of them",
    },
    "status": { "type": "integer", "minimum": 100, "maximum": 599 },
    "rule": { "description": "A condition and the result of a run that it stops: p95 > 2s for 10s: stop fail", "type": ["string", "object"] },
    "load": {
    "anyOf": [reference("phase"), { "type": "array", "items": reference("phase"), "minItems": 1 }],
    "description": "When virtual users arrive: a phase, or a list of them",
    },
    "phase": phase_object(),
    "table": object(model::CSV, table, &["file"]),
    "scenario": object(model::SCENARIO, scenario, &["steps"]),
    "volume": {
    "anyOf": [
    { "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*/(s|m|min|h|d)\\s*$" },
    object(model::VOLUME, volumes::volume, &["volume"]),
    ],
    "description": "Number of starts of the scenario at 1x: 35260/h, or { volume: 500000, hours: 12, clustering: 1.5 }",
    },
    "http": object(model::HTTP, http, &[]),
    "tls": object(model::TLS, tls, &[]),
    "mqtt": object(model::MQTT, mqtt::section, &["host"]),
    "publish": object(model::MQTT_PUBLISH, mqtt::group, &["clients", "topic"]),
    "subscribe": object(model::MQTT_SUBSCRIBE, mqtt::group, &["clients", "topic"]),
    "source": { "anyOf": [{ "type": "string" }, object(model::SOURCE, source, &["from"])] },
    "pool": object(model::POOL, pool, &["busy", "limit"]),
    "about": object(model::ABOUT, about, &[]),
    "assume": object(model::ASSUME, assume, &[]),
    "stage": object(model::STAGE, campaign::stage, &["name"]),
    "section": object(model::SECTION, content::section, &["title"]),
    "note": { "anyOf": [{ "type": "string" }, object(model::NOTE, |_| string("A Markdown file, relative to the plan"), &["file"])] },
    "show": object(model::SHOW, content::show, &[]),
    "cool-down": object(model::COOL_DOWN, campaign::cool_down, &[]),
    "deployment": object(model::DEPLOYMENT, campaign::deployment, &["instances"]),
    "steps": { "type": "array", "minItems": 1, "items": reference("step"), "description": "Steps of a virtual user, in order" },
    "request": {
    "anyOf": [
    { "type": "string", "description": "The URL, or a path appended to the target" },
    object(model::REQUEST, requests::request, &["url"]),
    ],
    },
    "auth": object(model::AUTH, |_| described("Text", reference("text")), &["user", "password"]),
    "part": { "anyOf": [reference("text"), object(model::PART, requests::part, &[])] },
    "captured": { "anyOf": [{ "type": "string", "description": "A JSONPath: $.id" }, object(model::CAPTURE, requests::capture, &[])] },
    "stream": requests::stream(),
    "check": object(model::CHECK, requests::check, &[]),
    });
    steps::definitions(&mut all);
    websocket::definitions(&mut all);
    listen::definitions(&mut all);
    all["workload"] = workloads::workload();
    socketio::definitions(&mut all);
    for (name, definition) in mocks::schema::definitions() {
        all[name] = definition;
    }
    all
}

pub(super) fn object(keys: &[&str], of: impl Fn(&str) -> Value, required: &[&str]) -> Value {
    let properties: Map<String, Value> = keys
        .iter()
        .map(|key| ((*key).to_owned(), of(key)))
        .collect();
    let mut object =
        json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        object["required"] = json!(required);
    }
    object
}

pub(super) fn reference(name: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{name}") })
}

pub(super) fn described(text: &str, mut schema: Value) -> Value {
    schema["description"] = text.into();
    schema
}

pub(super) fn named(text: &str, name: &str) -> Value {
    described(text, reference(name))
}

pub(super) fn string(text: &str) -> Value {
    json!({ "type": "string", "description": text })
}

pub(super) fn boolean(text: &str) -> Value {
    json!({ "type": "boolean", "description": text })
}

pub(super) fn whole_number(text: &str, least: u64) -> Value {
    json!({ "type": "integer", "minimum": least, "description": text })
}

pub(super) fn one_or_many(text: &str, name: &str) -> Value {
    json!({ "anyOf": [reference(name), { "type": "array", "items": reference(name) }], "description": text })
}

pub(super) fn any() -> Value {
    json!({})
}

fn plan(key: &str) -> Value {
    match key {
        "loadline" => {
            json!({ "const": 1, "description": "Version of the plan format; must be the first key" })
        }
        "name" => string("Name of the test"),
        "about" => named("Purpose of the test, for the report", "about"),
        "target" => string("The base URL, or lab:NAME?option=value for an embedded target"),
        "load" => reference("load"),
        "workloads" => workloads::section(),
        "max-duration" => named("Maximum duration of the load", "duration"),
        "http" => named("Connection and HTTP settings", "http"),
        "allow-hosts" => named("Other hosts that redirects and variables may use", "texts"),
        "variables" => {
            json!({ "type": "object", "description": "Names and values, equal for all virtual users; { one-of: [a, b] } assigns one of them to each user" })
        }
        "csv" => one_or_many("CSV tables; each virtual user gets one row", "table"),
        "script" => string("JavaScript file with functions that steps call, relative to the plan"),
        "steps" => reference("steps"),
        "scenarios" => {
            json!({ "type": "array", "minItems": 1, "items": reference("scenario"), "description": "Named sequences of steps that virtual users run" })
        }
        "setup" => named(
            "Runs once before the load, unmeasured; every virtual user gets its captured variables",
            "steps",
        ),
        "teardown" => named("Runs once after the load, unmeasured", "steps"),
        "criteria" => named(
            "Criteria that must hold at the end: p99 of \"GET /x\" < 250ms",
            "texts",
        ),
        "stop" => {
            json!({ "type": "array", "items": reference("rule"), "description": "Rules that end the run early: errors > 5% for 5s: stop fail" })
        }
        "mqtt" => named(
            "Clients that publish and subscribe alongside the scenarios",
            "mqtt",
        ),
        "listen" => named(
            "WebSocket clients that receive what the scenarios publish",
            "listen",
        ),
        "server" => {
            json!({ "type": "object", "additionalProperties": reference("source"), "description": "Server metrics, sampled once a second: names and their sources" })
        }
        "mocks" => {
            json!({ "type": "object", "additionalProperties": reference("mock"), "description": "Mocks of services that the target depends on, by name; started before the run, address in {{ mocks.NAME }}" })
        }
        "assume" => named(
            "Assumptions about responses, for the load profile",
            "assume",
        ),
        "secrets" => named("Names whose values are hidden in the output", "texts"),
        "excerpts" => {
            boolean("Whether to store values and excerpts of failed responses in the record")
        }
        "stages" => {
            json!({ "type": "array", "minItems": 1, "items": reference("stage"), "description": "Stages of a campaign, run one after the other" })
        }
        "cool-down" => {
            json!({ "anyOf": [reference("duration"), { "const": false }, reference("cool-down")], "description": "Pause between stages until the service has recovered" })
        }
        "tested" => named("The service that the campaign loads", "deployment"),
        "target-service" => named(
            "The service whose capacity the report estimates",
            "deployment",
        ),
        "assumptions" => named("Assumptions for the report of a campaign", "texts"),
        "recommendations" => named("Recommendations for the report of a campaign", "texts"),
        "sections" | "differences" | "show" => content::plan(key),
        _ => any(),
    }
}

fn about(key: &str) -> Value {
    let texts = |text: &str| json!({ "type": "object", "additionalProperties": { "type": ["string", "number"] }, "description": text });
    match key {
        "objective" => string("The question that the test answers"),
        "owner" => string("Person or team to ask"),
        "environment" => texts("Description of the target and the generator: names and texts"),
        "links" => texts("Names and URLs"),
        "tags" => named("Tags for searching", "texts"),
        _ => any(),
    }
}

fn phase_object() -> Value {
    let mut phase = object(model::PHASE, phase, &[]);
    let kinds = ["rate", "level", "from", "peak", "count", "pause", "users"];
    phase["oneOf"] = kinds
        .iter()
        .map(|kind| json!({ "required": [kind] }))
        .collect();
    phase
}

fn phase(key: &str) -> Value {
    match key {
        "rate" => named("Arrivals per second, minute, hour or day: 200/s", "rate"),
        "level" => named("Arrivals at a multiple of all volumes: 0.5x", "level"),
        "from" => named("Start of a ramp, or of stairs if `steps` is set", "amount"),
        "to" => named("End of the ramp or the stairs", "amount"),
        "steps" => whole_number("Number of steps in the stairs, all of equal length", 2),
        "base" => named("The rate before and after a spike", "amount"),
        "peak" => named("The highest rate of a spike", "amount"),
        "hold" => named("Duration of a spike's peak", "duration"),
        "ramp" => named(
            "Duration of the ramp up to a spike's peak, and of the ramp down",
            "duration",
        ),
        "at" => named(
            "Start of a spike; by default the spike is in the middle",
            "duration",
        ),
        "count" => whole_number("Exact number of arrivals", 1),
        "pause" => named("Pause of this duration without arrivals", "duration"),
        "users" => json!({
        "anyOf": [
        whole_number("Number of virtual users", 1),
        object(model::USERS, |_| whole_number("Number of virtual users at the start or at the end", 0), model::USERS),
        ],
        "description": "Number of virtual users in a closed loop, or a ramp between two numbers",
        }),
        "duration" => named("Duration of the phase", "duration"),
        "name" => string("Name of the phase in criteria and in the report"),
        "arrivals" => {
            json!({ "enum": ["even", "poisson"], "description": "Distribution of arrivals" })
        }
        "max-users" => whole_number(
            "Maximum number of active users; further arrivals are skipped",
            1,
        ),
        _ => any(),
    }
}

fn table(key: &str) -> Value {
    match key {
        "file" => string("Path of the file, relative to the plan"),
        "columns" => named(
            "Names of the columns; by default they are in the first line",
            "texts",
        ),
        "header" => boolean("Whether the first line contains column names"),
        "order" => {
            json!({ "enum": ["sequence", "random"], "description": "How a virtual user's row is chosen" })
        }
        "delimiter" => {
            json!({ "type": "string", "minLength": 1, "maxLength": 1, "description": "Column separator; a comma by default" })
        }
        "numbers" => boolean("Whether numeric cells become numbers"),
        "as" => string("Variable that contains the whole table, as a list"),
        _ => any(),
    }
}

fn scenario(key: &str) -> Value {
    match key {
        "name" => string("Name in the report"),
        "weight" => whole_number("Its share of the arrivals, in proportion to all weights", 0),
        "volume" => reference("volume"),
        "steps" => reference("steps"),
        "on-error" => named(
            "Functions of the script to call with the error of a request",
            "texts",
        ),
        _ => any(),
    }
}

fn http(key: &str) -> Value {
    match key {
        "timeout" => named(
            "Time limit for a request, from its start to the last byte [10s]",
            "duration",
        ),
        "version" => http_version("HTTP version of all origins [1.1]"),
        "versions" => json!({
            "type": "object",
            "additionalProperties": http_version("HTTP version of this origin"),
            "description": "HTTP versions of single origins, such as https://api.example.org",
        }),
        "streams" => whole_number(
            "Maximum number of concurrent requests on an HTTP/2 connection; the server's limit also applies [100]",
            1,
        ),
        "window" => string("Receive window of HTTP/2 connections and streams: 64kB, 6MB [1GB]"),
        "spread" => json!({
            "enum": ["even", "fill"],
            "description": "Which shared HTTP/2 connection a request uses: the one with the fewest streams, or the first with a free one [even]",
        }),
        "connections" => whole_number(
            "Number of connections shared by all users; by default each user has a separate one",
            1,
        ),
        "verify" => boolean("Whether to verify certificates"),
        "redirects" => {
            json!({ "type": ["integer", "boolean"], "minimum": 0, "description": "Maximum number of redirects to follow; false for none" })
        }
        "headers" => named("Headers sent with every request", "pairs"),
        "cookies" => boolean("Whether virtual users store cookies"),
        "trace-context" => json!({
            "type": ["boolean", "string"],
            "description": "Which requests carry a traceparent header: true for all, a share such as 1%, or a rate such as 10/s [false]",
        }),
        "trace-url" => string("Address of a trace in your tracing system, with {trace_id}"),
        "tls" => named("Certificates used by this plan", "tls"),
        "resolve" => named("HOST:PORT:ADDRESS: address overrides", "texts"),
        "unix" => string("A Unix domain socket for all connections"),
        _ => any(),
    }
}

fn http_version(description: &str) -> Value {
    let names = plan::HttpVersion::ALL.map(plan::HttpVersion::name);
    // YAML reads 1.1 and 2 as numbers.
    let numbers = [json!(1.1), json!(2)];
    let values: Vec<Value> = names.into_iter().map(Value::from).chain(numbers).collect();
    json!({ "enum": values, "description": description })
}

fn tls(key: &str) -> Value {
    match key {
        "ca" => string("The only certificate authorities to trust: a file, or PEM text"),
        "cert" => string("Client certificate"),
        "key" => string("Key of the client certificate"),
        "server-name" => string("Server name to send in the TLS handshake and to verify"),
        _ => any(),
    }
}

fn source(key: &str) -> Value {
    match key {
        "from" => string(
            "The source: a URL, redis://…, postgres://…, process:NAME, port:N, cgroup:FOLDER, command:LINE",
        ),
        "query" => string(
            "Query for the Prometheus server at that URL: sum(rate(http_requests_total[15s]))",
        ),
        "only" => named(
            "Which metrics to sample, by name; * matches any text",
            "texts",
        ),
        "counters" => named("Metrics that are counters", "texts"),
        "pools" => {
            json!({ "type": "array", "items": reference("pool"), "description": "Pools whose limits the report checks, by the names of their metrics" })
        }
        _ => any(),
    }
}

fn pool(key: &str) -> Value {
    match key {
        "busy" => string("Metric with the number in use"),
        "limit" => string("Metric with the size of the pool"),
        "waiting" => string("Metric with the number of waiters"),
        _ => any(),
    }
}

fn assume(key: &str) -> Value {
    match key {
        "latency" => named("Duration of a request", "duration"),
        "answer" => {
            json!({ "type": "string", "pattern": "^\\s*[0-9][0-9._]*\\s*(B|kB|KB|MB|GB)\\s*$", "description": "Assumed size of a response, such as 2kB" })
        }
        _ => any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn undescribed(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Object(map) => {
                if let Some(Value::Object(properties)) = map.get("properties") {
                    for (key, schema) in properties {
                        if schema.as_object().is_none_or(Map::is_empty) {
                            found.push(format!("{path}.{key}"));
                        }
                    }
                }
                for (key, inner) in map {
                    undescribed(inner, &format!("{path}.{key}"), found);
                }
            }
            Value::Array(items) => items.iter().for_each(|item| undescribed(item, path, found)),
            _ => {}
        }
    }

    #[test]
    fn all_keys_are_described_and_references_resolve() {
        let schema = schema();
        let mut found = Vec::new();
        undescribed(&schema, "plan", &mut found);
        assert!(
            found.is_empty(),
            "say in native/schema.rs what these take: {found:?}"
        );
        let text = schema.to_string();
        for reference in text.split("\"#/$defs/").skip(1) {
            let name = reference.split('"').next().unwrap_or_default();
            assert!(schema["$defs"].get(name).is_some(), "{name}");
        }
    }

    #[test]
    fn published_schema_is_current() {
        let published: Value =
            serde_json::from_str(include_str!("../../../../docs/plan.schema.json")).unwrap();
        assert!(
            published == schema(),
            "write it again: loadline plan --schema > docs/plan.schema.json"
        );
    }
}
