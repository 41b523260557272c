//! Reads `variables` and `csv`: the initial variables of virtual users.

use std::{collections::BTreeSet, path::Path};

use plan::{Payload, RowOrder, Variable};
use serde_json::Value;

use super::{Translator, model};
use crate::{
    document::Node,
    native::{
        mocks,
        read::{self, entries},
    },
    open,
    table::TableOptions,
    templates::UnsetVariable,
};

const BUILT_IN: &[&str] = &["$uuid", "$loopCount", "$loopElement", "$seq"];

impl Translator<'_> {
    /// Reads `variables`. A value is equal for all users, unless `{ one-of: [a, b] }` gives each
    /// user one of several values.
    pub(super) fn constants(&mut self, node: Option<&Node>) -> Vec<(String, Variable)> {
        let mut variables = Vec::new();
        for entry in node
            .map(|node| read::map(node, "variables", self.findings))
            .unwrap_or_default()
        {
            let variable = match (entry.value.entries(), entry.value.get("one-of")) {
                ([_], Some(choices)) => self.choices(choices),
                _ => self.constant(&entry.value).map(Variable::Constant),
            };
            if variable.is_none() {
                // The variable counts as set, so that its uses are not reported as well.
                self.templates.sets(&entry.key);
            }
            variables.extend(variable.map(|variable| (entry.key.clone(), variable)));
        }
        self.given(&mut variables);
        variables
    }

    fn choices(&mut self, node: &Node) -> Option<Variable> {
        let items = read::list(node, "one-of", self.findings);
        if node.as_list().is_some_and(<[Node]>::is_empty) {
            self.findings.problem(node.mark, "`one-of` is empty");
        }
        let values: Vec<Value> = items
            .iter()
            .filter_map(|item| self.constant(item))
            .collect();
        (!values.is_empty()).then_some(Variable::OneOf(values))
    }

    fn given(&mut self, variables: &mut Vec<(String, Variable)>) {
        let Some(text) = &self.inputs.variables else {
            return;
        };
        let Some(given) = open::option_object("--variables", text, self.findings) else {
            return;
        };
        for entry in given.entries() {
            variables.retain(|(known, _)| *known != entry.key);
            let value = Variable::Constant(entry.value.to_value());
            variables.push((entry.key.clone(), value));
        }
    }

    pub(super) fn all_variables(
        &mut self,
        constants: Vec<(String, Variable)>,
        tables: &[Payload],
    ) -> Vec<(String, Variable)> {
        let mut variables = Vec::new();
        let of_steps = self.templates.clone();
        let asides = std::mem::take(&mut self.asides);
        let uses = asides.iter().flat_map(|(_, aside)| aside.uses.clone());
        self.templates.uses.extend(uses);
        if self.templates.uses_root("$env") {
            variables.push(("$env".to_owned(), Variable::Constant(self.used_env())));
        }
        if self.templates.uses_root("$testId") {
            variables.push((
                "$testId".to_owned(),
                Variable::Constant(self.inputs.test_id.as_str().into()),
            ));
        }
        if !self.mocks.is_empty() {
            let uses = std::mem::take(&mut self.templates.uses);
            for (path, mark) in uses.iter().filter(|(path, _)| path.root() == mocks::KEY) {
                self.check_mock(path.rest().next().unwrap_or_default(), *mark);
            }
            self.templates.uses = uses;
            if constants.iter().any(|(name, _)| name == mocks::KEY) {
                let text = "`mocks` is a reserved name in a plan with mocks, because {{ mocks.NAME }} is the address of a mock: use another name";
                self.findings.problem_anywhere(text);
            }
            let places = Variable::Constant(self.mocks.clone().into());
            variables.push((mocks::KEY.to_owned(), places));
        }
        variables.extend(constants);
        let mut known: BTreeSet<String> = variables.iter().map(|(name, _)| name.clone()).collect();
        known.extend(
            tables
                .iter()
                .flat_map(|table| table.fields.iter().chain(&table.all_as))
                .cloned(),
        );
        known.extend(BUILT_IN.iter().map(|name| (*name).to_owned()));
        if self.publishes {
            known.extend(plan::listen::STAMP.iter().map(|name| (*name).to_owned()));
        }
        let of_functions = |name: &str| self.has_script && !name.starts_with('$');
        let unset = of_steps.unset(&known).into_iter();
        for UnsetVariable { name, mark, hint } in unset.filter(|unset| !of_functions(&unset.name)) {
            let text = if plan::listen::STAMP.contains(&name.as_str()) {
                format!("`{name}` needs listeners that receive the message: add `listen`")
            } else {
                format!("`{name}` is never set: add it to `variables`, or capture it first{hint}")
            };
            self.findings.problem(mark, text);
        }
        for (key, aside) in &asides {
            let unset = aside.unset(&known).into_iter();
            for UnsetVariable { name, mark, hint } in
                unset.filter(|unset| !of_functions(&unset.name))
            {
                let text = if of_steps.sets.contains(&name) {
                    format!(
                        "`{key}` cannot use `{name}`: captured values are only available to one virtual user"
                    )
                } else {
                    format!(
                        "`{name}` is never set: add it to `variables`, or capture it first{hint}"
                    )
                };
                self.findings.problem(mark, text);
            }
        }
        variables
    }

    /// Returns the environment variables that steps use. Each must be set.
    fn used_env(&mut self) -> Value {
        let uses = std::mem::take(&mut self.templates.uses);
        for (path, mark) in uses.iter().filter(|(path, _)| path.root() == "$env") {
            match path.rest().next() {
                Some(key) => {
                    self.check_env(key, *mark);
                }
                None => self.findings.problem(
                    *mark,
                    "use the name of an environment variable: {{ $env.NAME }}",
                ),
            }
        }
        self.templates.uses = uses;
        self.templates.environment("$env", &self.env)
    }

    pub(super) fn tables(&mut self, node: Option<&Node>, folder: &Path) -> Vec<Payload> {
        let Some(node) = node else { return Vec::new() };
        let items = node.as_list().unwrap_or(std::slice::from_ref(node));
        items
            .iter()
            .filter_map(|item| self.table(item, folder))
            .collect()
    }

    fn table(&mut self, node: &Node, folder: &Path) -> Option<Payload> {
        if entries(node, "csv", model::CSV, self.findings).is_empty() {
            return None;
        }
        let Some(file) = node.get("file") else {
            read::missing(
                node,
                model::CSV,
                "`file` is missing: add the path of the CSV file, relative to the plan",
                self.findings,
            );
            return None;
        };
        let source = read::text(file, "file", self.findings)?;
        let columns = node
            .get("columns")
            .map(|_| self.texts(node.get("columns"), "columns"));
        // Without explicit column names, the first line contains them.
        let header = match node.get("header") {
            Some(header) => read::boolean(header, "header", self.findings)?,
            None => columns.is_none(),
        };
        if columns.is_none() && !header {
            self.findings
                .problem(node.mark, "without a header line, `columns` is required");
            return None;
        }
        let table = TableOptions {
            delimiter: self.delimiter(node.get("delimiter"))?,
            quote: Some(b'"'),
            comment: None,
            trim: false,
            bom: true,
            cast: node
                .get("numbers")
                .and_then(|numbers| read::boolean(numbers, "numbers", self.findings))
                .unwrap_or(false),
            relaxed: false,
            header,
            memory: self.inputs.memory,
        };
        let path = folder.join(&source);
        let rows = open::table(&table, &path, &source, file.mark, self.read, self.findings)?;
        if rows.rows.is_empty() {
            self.findings
                .problem(file.mark, format!("{source} has no rows"));
        }
        let all_as = node
            .get("as")
            .and_then(|name| read::text(name, "as", self.findings));
        let order = self.order(node.get("order"));
        let fields = columns.unwrap_or(rows.header);
        let twice = (1..fields.len()).find(|i| fields[..*i].contains(&fields[*i]));
        if let Some(twice) = twice {
            let place = node.get("columns").unwrap_or(file);
            let text = format!(
                "{source} has two columns `{}`: give each its own name",
                fields[twice]
            );
            self.findings.problem(place.mark, text);
        }
        Some(Payload {
            source,
            fields,
            rows: rows.rows.into(),
            order,
            all_as,
        })
    }

    fn delimiter(&mut self, node: Option<&Node>) -> Option<u8> {
        let Some(node) = node else { return Some(b',') };
        match node.text().as_bytes() {
            [byte] => Some(*byte),
            _ => {
                self.findings
                    .problem(node.mark, "`delimiter` must be one ASCII character");
                None
            }
        }
    }

    fn order(&mut self, node: Option<&Node>) -> RowOrder {
        match node.map(|node| (node, node.as_str())) {
            None | Some((_, Some("sequence"))) => RowOrder::Sequence,
            Some((_, Some("random"))) => RowOrder::Random,
            Some((node, _)) => {
                self.findings.problem(
                    node.mark,
                    format!(
                        "`order: {}` is unknown: use sequence or random",
                        node.text()
                    ),
                );
                RowOrder::Sequence
            }
        }
    }
}
