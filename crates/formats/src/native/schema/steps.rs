//! JSON schema of steps other than requests.

use serde_json::{Value, json};

use super::{any, named, object, reference, string, whole_number};
use crate::{methods::METHODS, native::model};

pub(super) fn definitions(all: &mut Value) {
    all["step"] = step_object();
    all["branch"] = object(model::BRANCH, branch, &["steps"]);
    all["loop"] = object(model::LOOP, a_loop, &["steps"]);
    all["think"] = json!({ "anyOf": [{ "type": "string" }, object(model::THINK, think, &["time"])], "description": "A think time: 1s, or { time: 1s, jitter: 20% }" });
}

fn step_object() -> Value {
    let other_keys = model::KEYS_WITH_STEPS.iter();
    let keys: Vec<&str> = other_keys
        .chain(model::STEPS)
        .chain(METHODS)
        .copied()
        .collect();
    let mut step = object(&keys, step, &[]);
    step["minProperties"] = 1.into();
    step["maxProperties"] = 3.into();
    step["if"] = json!({ "minProperties": 2 });
    step["then"] = json!({ "anyOf": [{ "required": ["if"] }, { "required": ["group"] }] });
    step["allOf"] =
        json!([{ "if": { "minProperties": 3 }, "then": { "required": ["if", "group"] } }]);
    step["dependentRequired"] = json!({ "group": ["steps"] });
    step
}

fn step(key: &str) -> Value {
    match key {
        "think" => reference("think"),
        "loop" => named("Steps that repeat", "loop"),
        "log" => string("Text to print on standard output"),
        "call" => string("Function of the script to call"),
        "websocket" => named("A step on a WebSocket connection", "websocket"),
        "socketio" => named("A step in a Socket.IO session", "socketio"),
        "exit" => named(
            "Share of the users that end their iteration at this step",
            "share",
        ),
        "choose" => {
            json!({ "type": "array", "minItems": 1, "items": reference("branch"), "description": "Branches of which one is chosen at random, by weight" })
        }
        "if" => {
            json!({ "type": ["string", "number"], "description": "Condition: the step is skipped unless it is true: status == \"open\" and count > 3" })
        }
        "group" => string("Name of the group of `steps`; the report shows its total time in a row"),
        "steps" => named("Steps to run together, with `if` or `group`", "steps"),
        method if METHODS.contains(&method) => named("A request", "request"),
        _ => any(),
    }
}

fn branch(key: &str) -> Value {
    match key {
        "weight" => whole_number("Share of this branch, in proportion to all weights [1]", 1),
        "steps" => reference("steps"),
        _ => any(),
    }
}

fn a_loop(key: &str) -> Value {
    match key {
        "count" => json!({ "type": ["integer", "string"], "description": "Number of repetitions" }),
        "over" => {
            json!({ "type": ["array", "string"], "description": "A list, or a variable that contains one" })
        }
        "while" => string("Function of the script that decides after each round about another one"),
        "index" => string("Variable for the loop counter [$loopCount]"),
        "element" => string("Variable for the current element [$loopElement]"),
        "steps" => reference("steps"),
        _ => any(),
    }
}

fn think(key: &str) -> Value {
    match key {
        "time" => string("Duration, for example 1s"),
        "jitter" => {
            json!({ "anyOf": [reference("share"), reference("duration")], "description": "Random variation of the time: 20%, or 100ms" })
        }
        _ => any(),
    }
}
