//! JSON schema of mocks.

use serde_json::{Value, json};

use crate::{
    methods::METHODS,
    native::{
        model,
        schema::{any, named, object, reference, string, whole_number},
    },
};

pub fn definitions() -> [(&'static str, Value); 3] {
    let keys: Vec<&str> = METHODS.iter().chain(model::ROUTE).copied().collect();
    let mut one = object(&keys, route, &[]);
    one["oneOf"] = METHODS
        .iter()
        .map(|key| json!({ "required": [key] }))
        .collect();
    let latency = json!({
    "anyOf": [
    reference("duration"),
    { "type": "string", "pattern": "^from .+ of \".+\"$", "description": "Latency measured in a recorded run: from last of \"GET /x\"" },
    {
    "type": "object",
    "patternProperties": { "^p[0-9][0-9.]*$": reference("duration") },
    "additionalProperties": false,
    "minProperties": 2,
    "description": "Percentiles: { p50: 120ms, p95: 300ms, p99: 900ms }",
    },
    object(&["lognormal"], |_| json!({ "type": "object", "description": "Log-normal through two percentiles" }), &["lognormal"]),
    object(&["queue"], |_| object(model::QUEUE, queue, &["capacity"]), &["queue"]),
    object(model::EPISODIC, episodic, model::EPISODIC),
    ],
    "description": "Latency: 120ms, percentiles, a recorded run's times, a queue, or a mean with slow episodes",
    });
    [
        ("mock", object(model::MOCK, mock, &["routes"])),
        ("route", one),
        ("latency", latency),
    ]
}

fn mock(key: &str) -> Value {
    match key {
        "port" => whole_number("Port; by default any free port", 1),
        "latency" => named("Default latency of the routes", "latency"),
        "routes" => {
            json!({ "type": "array", "minItems": 1, "items": reference("route"), "description": "Responses by route; the first matching route is used" })
        }
        "faults" => {
            json!({ "type": "array", "items": reference("rule"), "description": "Faults and their times, for example `at 2m for 30s: latency x5`" })
        }
        _ => any(),
    }
}

fn route(key: &str) -> Value {
    match key {
        "status" => whole_number("The status [200]", 200),
        "headers" => named("Headers of the response", "pairs"),
        "json" => {
            json!({ "description": "Body of the response; {{ id }}, {{ query.x }}, {{ body.x }} and {{ remembered.x }} are values from the request" })
        }
        "body" => named("Body of the response, as text", "text"),
        "latency" => named("Latency", "latency"),
        "remember" => named("The key under which the request's body is stored", "text"),
        "recall" => named(
            "The key whose stored body becomes {{ remembered }}; returns 404 if nothing is stored under it",
            "text",
        ),
        "forget" => named("The key whose stored body is deleted", "text"),
        method if METHODS.contains(&method) => string("The path: /data/{id}"),
        _ => any(),
    }
}

fn queue(key: &str) -> Value {
    match key {
        "capacity" => named(
            "Number of requests that all workers together can serve: 1000/s",
            "rate",
        ),
        "workers" => whole_number("Number of workers [1]", 1),
        _ => any(),
    }
}

fn episodic(key: &str) -> Value {
    match key {
        "mean" => named(
            "Mean latency over the whole run, including episodes",
            "duration",
        ),
        "episodes" => object(model::EPISODES, episode, model::EPISODES),
        _ => any(),
    }
}

fn episode(key: &str) -> Value {
    match key {
        "every" => named(
            "Period of the episodes; each episode is in the middle of its period",
            "duration",
        ),
        "for" => named("Duration of an episode", "duration"),
        "latency" => named("Latency during an episode", "duration"),
        _ => any(),
    }
}
