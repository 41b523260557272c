//! Prepares a script with the same steps as Artillery, in the same order.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::{Map, Value};

use super::{
    expand::{self, KnownValues},
    files::read_files,
    inputs::ArtilleryInputs,
    merge::{Lists, merge},
};
use crate::refusal;
use formats::{
    document::{Mark, Node, NodeData},
    files::ReadFile,
    findings::Findings,
    open::option_object,
};

pub(super) struct Script {
    pub root: Node,
    pub path: PathBuf,
    /// Value of `$dirname`: the folder of `--config` or of the script, as written by the user.
    pub dirname: String,
    pub cli_variables: Map<String, Value>,
    pub process_env: Value,
    pub env_used: BTreeSet<String>,
}

pub(super) fn prepare(
    inputs: &ArtilleryInputs,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<Script> {
    let mut root = read_files(inputs, read, findings)?;
    let first = inputs.files.first()?;
    let path = absolute(first);
    let had_target = has_target(&root, inputs);
    ensure_config(&mut root);
    merge_environment(&mut root, inputs, findings);
    set_target(&mut root, inputs);
    set_insecure(&mut root, inputs, findings);
    list_payloads(&mut root, inputs, findings);
    resolve_payload_paths(&mut root, &path);
    apply_overrides(&mut root, inputs, findings)?;
    let cli_variables = apply_variables(&mut root, inputs, findings)?;
    let config_path = inputs.config.as_ref().unwrap_or(first);
    let env = inputs
        .process_env
        .iter()
        .map(|(name, value)| (name.clone(), Value::from(value.as_str())));
    add_plugins(&mut root, inputs, findings);
    let script = Script {
        env_used: env_used(&root, inputs),
        dirname: dirname(config_path),
        process_env: Value::Object(env.collect()),
        root,
        path,
        cli_variables,
    };
    Some(check_target(
        expand_config(script, inputs, findings),
        had_target,
        findings,
    ))
}

fn env_used(root: &Node, inputs: &ArtilleryInputs) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    let mut open = vec![root];
    while let Some(node) = open.pop() {
        match &node.data {
            NodeData::Scalar(Value::String(text))
                if text.contains("$env") || text.contains("$processEnvironment") =>
            {
                let names = inputs.process_env.iter().map(|(name, _)| name);
                used.extend(names.filter(|name| text.contains(*name)).cloned());
            }
            NodeData::Scalar(_) => {}
            NodeData::List(items) => open.extend(items),
            NodeData::Map(entries) => open.extend(entries.iter().map(|entry| &entry.value)),
        }
    }
    used
}

fn has_target(root: &Node, inputs: &ArtilleryInputs) -> bool {
    let config = root.get("config");
    let environment = || {
        config?
            .get("environments")?
            .get(inputs.environment.as_deref()?)?
            .get("target")
    };
    inputs.target.is_some()
        || config.and_then(|config| config.get("target")).is_some()
        || environment().is_some()
}

fn ensure_config(root: &mut Node) {
    if root.get("config").is_none_or(|config| !config.is_truthy()) {
        let mark = root.get("config").map_or(root.mark, |config| config.mark);
        root.set(
            "config",
            Node {
                mark,
                inset: None,
                data: NodeData::Map(Vec::new()),
            },
        );
    }
}

/// Step 2: merges the environment over the configuration, with lists by index.
fn merge_environment(root: &mut Node, inputs: &ArtilleryInputs, findings: &mut Findings) {
    let Some(name) = &inputs.environment else {
        return;
    };
    let Some(config) = root.get_mut("config") else {
        return;
    };
    match config
        .get("environments")
        .and_then(|all| all.get(name))
        .filter(|one| one.is_truthy())
        .cloned()
    {
        Some(environment) => merge(config, &environment, Lists::ByIndex),
        None => findings.note_anywhere(format!(
            "WARNING: environment {name} is set but is not defined in the script"
        )),
    }
}

fn set_target(root: &mut Node, inputs: &ArtilleryInputs) {
    if let (Some(target), Some(config)) = (&inputs.target, root.get_mut("config")) {
        let mark = config.mark;
        config.set("target", Node::scalar(mark, target.as_str()));
    }
}

fn set_insecure(root: &mut Node, inputs: &ArtilleryInputs, findings: &mut Findings) {
    let Some(config) = root.get_mut("config").filter(|_| inputs.insecure) else {
        return;
    };
    let no = Node::scalar(config.mark, false);
    match config.get_mut("tls") {
        Some(tls) if tls.is_truthy() => {
            if tls.get("rejectUnauthorized").is_some_and(Node::is_truthy) {
                let text = "WARNING: TLS certificate validation enabled in the test script, but explicitly disabled with -k/--insecure.";
                findings.note_anywhere(text);
            }
            tls.set("rejectUnauthorized", no);
        }
        _ => {
            let mut tls = empty_map(config.mark);
            tls.set("rejectUnauthorized", no);
            config.set("tls", tls);
        }
    }
}

/// Step 5a: turns a single payload into a list, and sets its file from `-p`.
fn list_payloads(root: &mut Node, inputs: &ArtilleryInputs, findings: &mut Findings) {
    let Some(payload) = root
        .get_mut("config")
        .and_then(|config| config.get_mut("payload"))
    else {
        return;
    };
    if !payload.is_truthy() || payload.as_list().is_some() {
        return;
    }
    if !payload.is_map() {
        findings.problem(
            payload.mark,
            format!(
                "`payload` must be a mapping or a list of mappings, not {}",
                payload.kind()
            ),
        );
        return;
    }
    let has_path = payload.get("path").is_some_and(Node::is_truthy);
    match &inputs.payload {
        Some(path) => {
            if has_path {
                findings.note_anywhere("WARNING - both -p and config.payload.path are set, config.payload.path will be ignored.");
            }
            payload.set(
                "path",
                Node::scalar(payload.mark, absolute(path).display().to_string()),
            );
        }
        None if !has_path => {
            findings.note_anywhere(
                "WARNING: config.payload.path not set and payload file not specified with -p",
            );
        }
        None => {}
    }
    let mark = payload.mark;
    let one = std::mem::replace(payload, Node::scalar(mark, Value::Null));
    payload.data = NodeData::List(vec![one]);
}

fn resolve_payload_paths(root: &mut Node, script: &Path) {
    let payloads = root
        .get_mut("config")
        .and_then(|config| config.get_mut("payload"));
    let Some(Node {
        data: NodeData::List(items),
        ..
    }) = payloads
    else {
        return;
    };
    for path in items.iter_mut().filter_map(|item| item.get_mut("path")) {
        if let Some(text) = path.as_str() {
            let resolved = script.parent().unwrap_or(Path::new("")).join(text);
            path.data = NodeData::Scalar(resolved.display().to_string().into());
        }
    }
}

fn apply_overrides(
    root: &mut Node,
    inputs: &ArtilleryInputs,
    findings: &mut Findings,
) -> Option<()> {
    if let Some(text) = &inputs.overrides {
        let overrides = option_object("--overrides", text, findings)?;
        merge(root, &overrides, Lists::Replaced);
        ensure_config(root);
    }
    Some(())
}

fn apply_variables(
    root: &mut Node,
    inputs: &ArtilleryInputs,
    findings: &mut Findings,
) -> Option<Map<String, Value>> {
    let Some(text) = &inputs.variables else {
        return Some(Map::new());
    };
    let given = option_object("--variables", text, findings)?;
    let config = root.get_mut("config")?;
    if !config.get("variables").is_some_and(Node::is_truthy) {
        config.set("variables", empty_map(given.mark));
    }
    if let Some(variables) = config.get_mut("variables") {
        for entry in given.entries() {
            variables.set(&entry.key, entry.value.clone());
        }
    }
    match given.to_value() {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn add_plugins(root: &mut Node, inputs: &ArtilleryInputs, findings: &mut Findings) {
    let mut environment = inputs.process_env.iter();
    let named = environment.find(|(name, text)| name == "ARTILLERY_PLUGINS" && !text.is_empty());
    let Some((name, text)) = named.filter(|_| !inputs.native) else {
        return;
    };
    let (Some(more), Some(config)) = (option_object(name, text, findings), root.get_mut("config"))
    else {
        return;
    };
    if !config.get("plugins").is_some_and(Node::is_truthy) {
        config.set("plugins", empty_map(more.mark));
    }
    if let Some(plugins) = config.get_mut("plugins").filter(|node| node.is_map()) {
        for entry in more.entries() {
            if plugins.get(&entry.key).is_none() {
                plugins.set(&entry.key, entry.value.clone());
            }
        }
    }
}

fn empty_map(mark: Mark) -> Node {
    Node {
        mark,
        inset: None,
        data: NodeData::Map(Vec::new()),
    }
}

fn expand_config(mut script: Script, inputs: &ArtilleryInputs, findings: &mut Findings) -> Script {
    let mut variables = Map::new();
    variables.insert(
        "$scenarioFile".into(),
        script.path.display().to_string().into(),
    );
    variables.insert("$dirname".into(), script.dirname.as_str().into());
    variables.insert("$testId".into(), inputs.test_id.as_str().into());
    variables.insert("$processEnvironment".into(), script.process_env.clone());
    variables.insert("$env".into(), script.process_env.clone());
    if let Some(environment) = &inputs.environment {
        variables.insert("$environment".into(), environment.as_str().into());
    }
    variables.extend(script.cli_variables.clone());
    let mut known = KnownValues::new(variables, &inputs.test_id);
    if let Some(config) = script.root.get_mut("config") {
        *config = expand::config(config, &mut known, findings);
    }
    script
}

fn check_target(script: Script, had_target: bool, findings: &mut Findings) -> Script {
    let has_target = script
        .root
        .get("config")
        .and_then(|config| config.get("target"))
        .is_some();
    if !has_target && !had_target {
        let mark = script.root.get("config").map(|config| config.mark);
        findings.fatal(
            refusal::no_target(),
            mark,
            "no target: set `config.target`, choose an environment with a target, or use --target",
        );
    }
    script
}

fn dirname(path: &Path) -> String {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir.display().to_string(),
        _ => ".".to_owned(),
    }
}

pub(super) fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}
