//! Reads steps: mappings with one key (the method, `think`, `loop`, `log`, `exit`, `choose`) and
//! optionally `if`.

use std::collections::BTreeSet;

use plan::{
    Step,
    scenario::{Block, BlockKind, Branch},
};
use query::{
    filtrex::{Filtrex, NameSource},
    path::Path,
};

use super::{Translator, model};
use crate::{
    document::{Entry, Mark, Node},
    methods::METHODS,
    native::read::{self, entries, list},
    nearest::nearest,
};

impl Translator<'_> {
    /// Reads the steps of a scenario, of setup or of teardown. The variables that they capture are
    /// unset at the start.
    pub(super) fn flow(&mut self, node: &Node) -> Vec<Step> {
        self.websocket_path.clear();
        "/".clone_into(&mut self.socketio_namespace);
        self.later = captured(node).difference(&self.given).cloned().collect();
        let steps = self.steps(node);
        self.later.clear();
        steps
    }

    pub(super) fn steps(&mut self, node: &Node) -> Vec<Step> {
        let items = list(node, "steps", self.findings);
        if node.as_list().is_some_and(<[Node]>::is_empty) {
            self.findings.problem(node.mark, "`steps` is empty");
        }
        items.iter().flat_map(|item| self.step(item)).collect()
    }

    fn step(&mut self, node: &Node) -> Vec<Step> {
        let all = node.entries();
        let condition = node.entry("if");
        let own: Vec<&Entry> = all.iter().filter(|entry| entry.key != "if").collect();
        let steps = match own[..] {
            _ if node.entry("group").is_some() => self.group(node),
            [entry] => self.one_step(entry, condition.is_some()),
            [] if condition.is_some() => {
                let text = "`if` needs a step: use { if: 'n > 1', get: / }, or add `steps`";
                self.findings.problem(node.mark, text);
                return Vec::new();
            }
            [] => {
                let text = format!(
                    "a step must be a mapping like {{ get: / }}, not {}",
                    node.kind()
                );
                self.findings.problem(node.mark, text);
                return Vec::new();
            }
            [first, second, ..] if first.value.is_null() => {
                let text = format!(
                    "`{}` is at the same level as `{}`, which is empty: indent it to make it part of `{}`",
                    second.key, first.key, first.key
                );
                self.findings.problem(second.key_mark, text);
                return Vec::new();
            }
            [first, second, ..] => {
                let (mark, text) = two_keys(first, second);
                self.findings.problem(mark, text);
                return Vec::new();
            }
        };
        let Some(entry) = condition else {
            return steps;
        };
        let by = self.condition(&entry.value).map(BlockKind::If);
        one(by.map(|by| Step::Block(Block { by, steps })))
    }

    fn one_step(&mut self, entry: &Entry, has_condition: bool) -> Vec<Step> {
        match entry.key.as_str() {
            "think" => one(self.think(&entry.value).map(Step::Think)),
            "loop" => one(self.repeat(&entry.value).map(Step::Loop)),
            "log" => vec![Step::Log(self.template(&entry.value))],
            "exit" => one(self.exit(&entry.value).map(Step::Exit)),
            "websocket" => one(self.websocket(entry)),
            "socketio" => self.socketio(entry),
            "call" => one(self.call(&entry.value).map(Step::Call)),
            "choose" => vec![Step::Choose(self.choice(&entry.value))],
            "steps" if has_condition => self.steps(&entry.value),
            "steps" => {
                let text = "`steps` in a step needs `if` or `group`";
                self.findings.problem(entry.key_mark, text);
                Vec::new()
            }
            method if METHODS.contains(&method) => self.requests(entry),
            _ => {
                self.unknown(entry);
                Vec::new()
            }
        }
    }

    fn unknown(&mut self, entry: &Entry) {
        let known = model::STEPS
            .iter()
            .chain(&["group"])
            .chain(METHODS)
            .copied();
        let help = nearest(&entry.key, known).map_or_else(
            || {
                "a step is one of think, loop, log, exit, choose, call, websocket, socketio, group, or an HTTP method like get or post"
                    .to_owned()
            },
            |known| format!("did you mean `{known}`?"),
        );
        self.findings.problem(
            entry.key_mark,
            format!("`{}` is not a step: {help}", entry.key),
        );
    }

    fn group(&mut self, node: &Node) -> Vec<Step> {
        let known = |entry: &&Entry| !model::KEYS_WITH_STEPS.contains(&entry.key.as_str());
        let strangers: Vec<&Entry> = node.entries().iter().filter(known).collect();
        for entry in &strangers {
            let text = format!(
                "`{}` is not allowed with `group`: move it into the group's `steps`",
                entry.key
            );
            self.findings.problem(entry.key_mark, text);
        }
        let Some(entry) = node.entry("group") else {
            return Vec::new();
        };
        let name = self.group_name(&entry.value);
        let Some(steps) = node.get("steps") else {
            if strangers.is_empty() {
                let text = "a group needs `steps` in addition to its name: use { group: NAME, steps: [{ get: / }] }";
                self.findings.problem(entry.key_mark, text);
            }
            return Vec::new();
        };
        // Also read the steps of a group without a name, because other steps may use their
        // captures.
        let Some(name) = name else {
            return self.steps(steps);
        };
        self.groups.push(name.clone());
        let steps = self.steps(steps);
        self.groups.pop();
        let by = BlockKind::Group(name);
        vec![Step::Block(Block { by, steps })]
    }

    /// Reads the name of a group. It must be constant, because a row of the report has this name.
    fn group_name(&mut self, node: &Node) -> Option<String> {
        let name = read::text(node, "group", self.findings)?;
        let problem = if self.is_beside_load {
            "`setup` and `teardown` are not measured: remove `group` here".to_owned()
        } else if name.trim().is_empty() {
            "`group` is empty".to_owned()
        } else if name.contains("{{") {
            format!("a group name cannot be a template such as `{name}`: use a fixed name")
        } else if self.groups.contains(&name) {
            format!(
                "group `{name}` is nested in another group `{name}`, so its time would count twice: use another name"
            )
        } else {
            return Some(name);
        };
        self.findings.problem(node.mark, problem);
        None
    }

    fn condition(&mut self, node: &Node) -> Option<Filtrex> {
        let text = read::scalar(node, "if", self.findings)?;
        let expression = Filtrex::parse(&text, NameSource::Variables)
            .map_err(|error| {
                let text = format!("`if`: {}", error.message);
                self.findings.problem(node.mark_at(error.offset), text);
            })
            .ok()?;
        for name in expression.variables() {
            let mark = node.mark_at(text.find(name).unwrap_or(0));
            if matches!(name, "true" | "false" | "null") {
                let text = format!(
                    "`{name}` is a variable name in conditions: write only the other operand, or put `not` before it"
                );
                self.findings.problem(mark, text);
            } else {
                self.templates.uses.push((Path::parse(name), mark));
            }
        }
        Some(expression)
    }

    fn choice(&mut self, node: &Node) -> Vec<Branch> {
        let items = list(node, "choose", self.findings);
        if node.as_list().is_some_and(<[Node]>::is_empty) {
            let text = "`choose` is empty: use, for example, choose: [{ weight: 3, steps: [...] }, { weight: 1, steps: [...] }]";
            self.findings.problem(node.mark, text);
        }
        let branches = items.iter().map(|item| {
            entries(item, "choose", model::BRANCH, self.findings);
            let weight = item
                .get("weight")
                .and_then(|weight| read::whole_u32(weight, "weight", 1, self.findings));
            let steps = match item.get("steps") {
                Some(steps) => self.steps(steps),
                None => {
                    let text = "this branch has no `steps`: use { weight: 3, steps: [...] }";
                    read::missing(item, model::BRANCH, text, self.findings);
                    Vec::new()
                }
            };
            Branch {
                weight: weight.unwrap_or(1),
                steps,
            }
        });
        branches.collect()
    }
}

/// Returns the position and description of the problem in a step with two keys.
fn two_keys(first: &Entry, second: &Entry) -> (Mark, String) {
    let is_method = |entry: &Entry| METHODS.contains(&entry.key.as_str());
    let is_setting = |entry: &Entry| model::REQUEST.contains(&entry.key.as_str());
    let pair = [(first, second), (second, first)];
    let request = pair
        .into_iter()
        .find(|(method, setting)| is_method(method) && is_setting(setting));
    match request {
        Some((method, setting)) => {
            let (method, key) = (&method.key, &setting.key);
            let text =
                format!("`{key}` belongs to the request: write `{method}: {{ url: …, {key}: … }}`");
            (setting.key_mark, text)
        }
        None => {
            let text = format!(
                "a step can have only one key, but this one has `{}` and `{}`: write two steps",
                first.key, second.key
            );
            (second.key_mark, text)
        }
    }
}

fn one(step: Option<Step>) -> Vec<Step> {
    step.into_iter().collect()
}

fn captured(steps: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let items = steps.as_list().unwrap_or_default().iter();
    for entry in items.flat_map(Node::entries) {
        match entry.key.as_str() {
            "loop" => {}
            "steps" => names.extend(captured(&entry.value)),
            "choose" => {
                let branches = entry.value.as_list().unwrap_or_default().iter();
                let inner = branches.filter_map(|branch| branch.get("steps"));
                names.extend(inner.flat_map(captured));
            }
            _ => {
                let expected = entry.value.get("expect").and_then(|one| one.get("capture"));
                let captures = entry.value.get("capture").into_iter().chain(expected);
                let captured = captures.flat_map(Node::entries);
                names.extend(captured.map(|one| Path::parse(&one.key).root().to_owned()));
            }
        }
    }
    names
}
