//! Validates a script by Artillery's schema, with Artillery's messages.
//!
//! Accepts two features that the schema forbids: `think` with `jitter`, and `parallel` with
//! `limit`.

use serde_json::Value;

use formats::document::{Mark, Node, NodeData};

#[derive(Debug)]
pub(super) struct Invalid {
    pub message: String,
    pub mark: Mark,
    pub advice: &'static str,
}

type Checked = Result<(), Invalid>;

pub(super) fn validate(root: &Node) -> Checked {
    if let Some(config) = root.get("config") {
        self::config(config)?;
    }
    let Some(scenarios) = root.get("scenarios") else {
        return required("scenarios", root);
    };
    for (i, item) in array(scenarios, "scenarios")?.iter().enumerate() {
        scenario(item, &format!("scenarios[{i}]"))?;
    }
    for hook in ["before", "after"] {
        if let Some(node) = root.get(hook) {
            object(node, hook)?;
            flow(node, hook)?;
        }
    }
    Ok(())
}

fn config(config: &Node) -> Checked {
    object(config, "config")?;
    optional(config, "config", "http", |http, path| {
        object(http, path)?;
        optional(http, path, "extendedMetrics", boolean)?;
        optional(http, path, "maxSockets", number)?;
        optional(http, path, "timeout", number_or_string)
    })?;
    optional(config, "config", "environments", object)?;
    match config.get("target") {
        Some(target) => string(target, "config.target")?,
        None if config.get("environments").is_none() => return required("config.target", config),
        None => {}
    }
    optional(config, "config", "processor", string)?;
    optional(config, "config", "phases", |node, path| {
        array(node, path).map(|_| ())
    })?;
    optional(config, "config", "engines", object)
}

fn scenario(node: &Node, path: &str) -> Checked {
    object(node, path)?;
    optional(node, path, "name", string)?;
    optional(node, path, "engine", string)?;
    optional(node, path, "beforeScenario", strings)?;
    optional(node, path, "afterScenario", strings)?;
    flow(node, path)
}

fn flow(node: &Node, path: &str) -> Checked {
    let engine = node.get("engine").and_then(Node::as_str);
    let known_engine = matches!(engine, None | Some("http" | "ws" | "socketio"));
    let path = format!("{path}.flow");
    let Some(flow) = node.get("flow") else {
        return if known_engine {
            advised(required(&path, node), misnamed_flow(node))
        } else {
            Ok(())
        };
    };
    let items = array(flow, &path)?;
    if !known_engine {
        return Ok(());
    }
    for (i, item) in items.iter().enumerate() {
        match &item.data {
            NodeData::List(inner) => inner
                .iter()
                .try_for_each(|step| self::step(step, &format!("{path}[{i}]"), engine))?,
            _ => step(item, &format!("{path}[{i}]"), engine)?,
        }
    }
    Ok(())
}

fn step(node: &Node, path: &str, engine: Option<&str>) -> Checked {
    object(node, path)?;
    optional(node, path, "function", string)?;
    optional(node, path, "log", string)?;
    optional(node, path, "think", number_or_string)?;
    optional(node, path, "loop", |node, path| {
        array(node, path).map(|_| ())
    })?;
    for method in ["get", "post", "put", "patch", "delete"] {
        optional(node, path, method, request)?;
    }
    if engine == Some("ws") {
        optional(node, path, "connect", |node, path| {
            one_of(node, path, "object, string", node.is_map())
        })?;
    }
    if engine == Some("socketio") {
        optional(node, path, "emit", |node, path| match node.data {
            NodeData::Map(_) | NodeData::List(_) => Ok(()),
            _ => invalid(node.mark, path, "must be one of [object, array]"),
        })?;
    }
    if node.get("loop").is_some() {
        optional(node, path, "count", number_or_string)?;
        return optional(node, path, "over", |node, path| {
            one_of(node, path, "array, string", node.as_list().is_some())
        });
    }
    let keys = node.entries();
    let together = |allowed: [&str; 2]| {
        keys.iter()
            .all(|entry| allowed.contains(&entry.key.as_str()))
    };
    match keys.len() {
        1 => Ok(()),
        2.. if together(["think", "jitter"]) || together(["parallel", "limit"]) => Ok(()),
        0..=4 if engine == Some("socketio") => Ok(()),
        _ if engine == Some("socketio") => {
            invalid(node.mark, path, "must have less than or equal to 4 keys")
        }
        0 => invalid(node.mark, path, "must have 1 key"),
        _ => advised(
            invalid(node.mark, path, "must have 1 key"),
            "a step can have only one action: write a separate step for each key",
        ),
    }
}

fn request(node: &Node, path: &str) -> Checked {
    object(node, path)?;
    match node.get("url") {
        Some(url) => string(url, &format!("{path}.url"))?,
        None => {
            let advice = if node.get("uri").is_some() {
                "`uri` is supported only in loops and rarer methods: rename it to `url`"
            } else {
                ""
            };
            return advised(required(&format!("{path}.url"), node), advice);
        }
    }
    optional(node, path, "headers", object)?;
    optional(node, path, "cookie", object)?;
    optional(node, path, "followRedirect", boolean)?;
    optional(node, path, "qs", object)?;
    optional(node, path, "gzip", boolean)?;
    optional(node, path, "auth", |node, path| {
        object(node, path)?;
        optional(node, path, "user", string)?;
        optional(node, path, "pass", string)
    })?;
    optional(node, path, "beforeRequest", strings)?;
    optional(node, path, "afterResponse", strings)?;
    optional(node, path, "capture", |node, path| {
        let capture = |node: &Node, path: &str| {
            object(node, path)?;
            match node.get("as") {
                Some(name) => string(name, &format!("{path}.as")),
                None => advised(
                    required(&format!("{path}.as"), node),
                    "set the variable to capture into, like `as: id`",
                ),
            }
        };
        single(node, path, capture)
    })
}

fn optional(
    parent: &Node,
    path: &str,
    key: &str,
    check: impl Fn(&Node, &str) -> Checked,
) -> Checked {
    parent
        .get(key)
        .map_or(Ok(()), |node| check(node, &format!("{path}.{key}")))
}

fn invalid(mark: Mark, path: &str, what: &str) -> Checked {
    Err(Invalid {
        message: format!("\"{path}\" {what}"),
        mark,
        advice: "",
    })
}

fn advised(checked: Checked, advice: &'static str) -> Checked {
    checked.map_err(|invalid| Invalid { advice, ..invalid })
}

fn misnamed_flow(scenario: &Node) -> &'static str {
    const NAMES: [(&str, &str); 3] = [
        ("requests", "rename `requests` to `flow`"),
        ("steps", "rename `steps` to `flow`"),
        ("flows", "rename `flows` to `flow`"),
    ];
    let there = NAMES.iter().find(|(name, _)| scenario.get(name).is_some());
    there.map_or("", |(_, advice)| advice)
}

fn required(path: &str, parent: &Node) -> Checked {
    invalid(parent.mark, path, "is required")
}

fn object(node: &Node, path: &str) -> Checked {
    if node.is_map() {
        Ok(())
    } else {
        invalid(node.mark, path, "must be of type object")
    }
}

fn array<'a>(node: &'a Node, path: &str) -> Result<&'a [Node], Invalid> {
    match node.as_list() {
        Some(items) => Ok(items),
        None => Err(Invalid {
            message: format!("\"{path}\" must be an array"),
            mark: node.mark,
            advice: "",
        }),
    }
}

fn single(node: &Node, path: &str, check: impl Fn(&Node, &str) -> Checked) -> Checked {
    match node.as_list() {
        Some(items) => items
            .iter()
            .enumerate()
            .try_for_each(|(i, item)| check(item, &format!("{path}[{i}]"))),
        None => check(node, path),
    }
}

fn strings(node: &Node, path: &str) -> Checked {
    single(node, path, string)
}

fn string(node: &Node, path: &str) -> Checked {
    match node.as_str() {
        Some("") => invalid(node.mark, path, "is not allowed to be empty"),
        Some(_) => Ok(()),
        None => invalid(node.mark, path, "must be a string"),
    }
}

fn boolean(node: &Node, path: &str) -> Checked {
    let is_text = node
        .as_str()
        .is_some_and(|text| ["true", "false"].contains(&text.to_ascii_lowercase().as_str()));
    if is_text || node.as_bool().is_some() {
        Ok(())
    } else {
        invalid(node.mark, path, "must be a boolean")
    }
}

fn number(node: &Node, path: &str) -> Checked {
    const SAFE: f64 = 9_007_199_254_740_991.0;
    let n = match node.as_scalar() {
        Some(Value::Number(n)) => n.as_f64(),
        Some(Value::String(text)) if !text.trim().is_empty() => text.trim().parse::<f64>().ok(),
        _ => None,
    };
    match n {
        Some(n) if n.is_finite() && n.abs() > SAFE => {
            invalid(node.mark, path, "must be a safe number")
        }
        Some(_) => Ok(()),
        None => invalid(node.mark, path, "must be a number"),
    }
}

fn number_or_string(node: &Node, path: &str) -> Checked {
    match node.as_scalar() {
        Some(Value::Number(_)) => number(node, path),
        _ => one_of(node, path, "number, string", false),
    }
}

fn one_of(node: &Node, path: &str, kinds: &str, other: bool) -> Checked {
    match node.as_str() {
        Some("") => invalid(node.mark, path, "is not allowed to be empty"),
        None if !other => invalid(node.mark, path, &format!("must be one of [{kinds}]")),
        _ => Ok(()),
    }
}
