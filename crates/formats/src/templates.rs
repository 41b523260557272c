//! Creates templates from nodes. Reports unknown functions with their positions, and tracks which
//! variables are used and set.

use std::collections::BTreeSet;

use plan::{
    Template,
    template::{Fakery, Functions, unread_braces},
};
use query::path::Path;
use serde_json::{Map, Value};

use crate::{
    document::{Mark, Node, NodeData},
    findings::Findings,
    nearest::hint,
};

#[derive(Clone, Default)]
pub struct Templates {
    pub uses: Vec<(Path, Mark)>,
    pub sets: BTreeSet<String>,
    pub fake_data: bool,
    pub strict: bool,
    /// The functions that templates may call.
    pub functions: Functions,
}

/// A variable that a template uses but no step sets.
#[derive(Debug, Clone, PartialEq)]
pub struct UnsetVariable {
    pub name: String,
    pub mark: Mark,
    pub hint: String,
}

impl Templates {
    pub fn parse(&mut self, node: &Node, findings: &mut Findings) -> Template {
        match &node.data {
            NodeData::Scalar(Value::String(text)) => self.of_text(text, node, findings),
            NodeData::Scalar(value) => Template::Literal(value.clone()),
            NodeData::List(items) => Template::list(
                items
                    .iter()
                    .map(|item| self.parse(item, findings))
                    .collect(),
            ),
            NodeData::Map(entries) => Template::map(
                entries
                    .iter()
                    .map(|entry| {
                        let key = Node::scalar(entry.key_mark, entry.key.as_str());
                        (
                            self.of_text(&entry.key, &key, findings),
                            self.parse(&entry.value, findings),
                        )
                    })
                    .collect(),
            ),
        }
    }

    fn of_text(&mut self, text: &str, node: &Node, findings: &mut Findings) -> Template {
        let template = match Template::parse_text_with(text, self.functions) {
            Ok(template) => template,
            Err(error) => {
                let message = if self.fake_data {
                    let name = error.function.as_str();
                    let known: Vec<String> =
                        Fakery::names().map(|name| format!("${name}")).collect();
                    let built_in = ["$randomNumber", "$randomString"];
                    let hint = hint(name, known.iter().map(String::as_str).chain(built_in));
                    format!("unknown function {name}, not in fake-data either{hint}")
                } else {
                    error.message
                };
                findings.problem(node.mark_at(error.offset), message);
                return Template::from(text);
            }
        };
        if let Some(fakery) = template.made_up().filter(|_| !self.fake_data) {
            let text = format!(
                "${fakery:?} needs the plugin fake-data: add `fake-data: {{}}` to `config.plugins`"
            );
            findings.problem(node.mark, text);
        }
        if let Some(name) = template.script_function() {
            let text = format!("{name} is undefined until the script sets `context.funcs.{name}`");
            findings.note(node.mark, text);
        }
        if let Some(left) = unread_braces(text) {
            let mark = node.mark_at(text.find(left).unwrap_or(0));
            let what = format!("`{left}` is neither a variable nor a function");
            if self.strict {
                findings.problem(mark, format!("{what}: templates do not support operators"));
            } else {
                findings.note(
                    mark,
                    format!(
                        "{what}: it is sent unchanged, because templates do not support operators"
                    ),
                );
            }
        }
        for path in template.variables() {
            let offset = text.find(path.text()).unwrap_or(0);
            self.uses.push((path.clone(), node.mark_at(offset)));
        }
        template
    }

    /// Marks a variable, or part of a variable, as set by a step.
    pub fn sets(&mut self, path: &str) {
        self.sets.insert(Path::parse(path).root().to_owned());
    }

    #[must_use]
    pub fn uses_root(&self, name: &str) -> bool {
        self.uses.iter().any(|(path, _)| path.root() == name)
    }

    /// Returns the first use of each variable that is neither set by steps nor in `known`, with a
    /// hint.
    pub fn unset(&self, known: &BTreeSet<String>) -> Vec<UnsetVariable> {
        let mut reported = BTreeSet::new();
        let mut unset = Vec::new();
        for (path, mark) in &self.uses {
            let root = path.root();
            let is_set = |name: &str| known.contains(name) || self.sets.contains(name);
            if !is_set(root) && !is_set(path.text()) && reported.insert(root) {
                let hint = hint(root, known.iter().chain(&self.sets).map(String::as_str));
                unset.push(UnsetVariable {
                    name: root.to_owned(),
                    mark: *mark,
                    hint,
                });
            }
        }
        unset
    }

    /// Returns the environment variables that templates use below `root`. The record must not
    /// contain others.
    pub fn environment(&self, root: &str, env: &Value) -> Value {
        let mut used = Map::new();
        for (path, _) in self.uses.iter().filter(|(path, _)| path.root() == root) {
            match path.rest().next() {
                Some(key) => used.extend(env.get(key).map(|value| (key.to_owned(), value.clone()))),
                None => return env.clone(),
            }
        }
        Value::Object(used)
    }
}
