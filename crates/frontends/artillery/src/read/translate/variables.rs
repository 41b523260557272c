//! Variables of the configuration, built-in variables, and unset variables.

use std::collections::BTreeSet;

use plan::{Payload, Variable};
use serde_json::Value;

use super::Translator;
use crate::read::prepare::Script;
use formats::{document::Node, templates::UnsetVariable};

const BUILT_IN: &[&str] = &[
    "target",
    "$environment",
    "$processEnvironment",
    "$env",
    "$testId",
    "$dirname",
    "$scenarioFile",
];

impl Translator<'_> {
    pub(super) fn config_variables(&mut self, config: &Node) -> Vec<(String, Variable)> {
        let Some(node) = config.get("variables").filter(|node| node.is_truthy()) else {
            return Vec::new();
        };
        let mut variables = Vec::new();
        for entry in self.map(node, "variables") {
            match entry.value.as_list() {
                Some([]) => {
                    self.findings.note(
                        entry.key_mark,
                        format!(
                            "`{}` is an empty list, so the variable is undefined",
                            entry.key
                        ),
                    );
                }
                Some(items) => variables.push((
                    entry.key.clone(),
                    Variable::OneOf(items.iter().map(Node::to_value).collect()),
                )),
                None => variables.push((
                    entry.key.clone(),
                    Variable::Constant(entry.value.to_value()),
                )),
            }
        }
        variables
    }

    pub(super) fn variables(
        &mut self,
        script: &Script,
        constants: Vec<(String, Variable)>,
        payloads: &[Payload],
    ) -> Vec<(String, Variable)> {
        let columns: BTreeSet<&str> = payloads
            .iter()
            .flat_map(|p| p.fields.iter().chain(&p.all_as))
            .map(String::as_str)
            .collect();
        let mut variables = Vec::new();
        let shows_all = self
            .expect
            .is_some_and(|plugin| plugin.options.prints_exchange());
        for name in BUILT_IN {
            // A processor receives the environment from its process.
            let is_shown = (shows_all || self.has_processor)
                && !matches!(*name, "$env" | "$processEnvironment");
            // A table column with this name is set later.
            if (is_shown || self.templates.uses_root(name)) && !columns.contains(name) {
                variables.extend(
                    self.built_in(name, script)
                        .map(|value| ((*name).to_owned(), Variable::Constant(value))),
                );
            }
        }
        variables.extend(constants);
        let mut known: BTreeSet<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        known.extend(columns.into_iter().map(str::to_owned));
        known.extend(BUILT_IN.iter().map(|name| (*name).to_owned()));
        known.insert("$uuid".into());
        self.tell_unset(&known);
        variables
    }

    fn built_in(&self, name: &str, script: &Script) -> Option<Value> {
        Some(match name {
            "target" => script.root.get("config")?.get("target")?.to_value(),
            "$environment" => self.inputs.environment.as_deref()?.into(),
            "$testId" => self.inputs.test_id.as_str().into(),
            "$dirname" => script.dirname.as_str().into(),
            "$scenarioFile" => script.path.display().to_string().into(),
            _ => self.templates.environment(name, &script.process_env),
        })
    }

    fn tell_unset(&mut self, known: &BTreeSet<String>) {
        for UnsetVariable { name, mark, hint } in self.templates.unset(known) {
            if matches!(name.as_str(), "$loopCount" | "$loopElement") {
                self.findings.note(
                    mark,
                    format!("`{name}` is set only inside a loop, so it is undefined here"),
                );
            } else if name.starts_with('$') {
                let functions = "write functions with parentheses: $randomNumber(min, max) and $randomString(length)";
                self.findings.problem(
                    mark,
                    format!("there is no variable `{name}`: {functions}{hint}"),
                );
            } else if !self.has_processor {
                // The functions of a processor may set any variable.
                self.findings.note(
                    mark,
                    format!("`{name}` is never set, so it is undefined{hint}"),
                );
            }
        }
    }
}
