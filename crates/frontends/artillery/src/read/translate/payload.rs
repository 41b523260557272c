//! Translates `config.payload`: CSV tables, parsed like csv-parse.

use std::path::Path;

use plan::{Payload, RowOrder};
use serde_json::Value;

use super::Translator;
use crate::read::{keys::KeyLevel, prepare};
use formats::{document::Node, files, open, table::TableOptions};

enum Whole {
    Table(String),
    Row(String),
}

impl Translator<'_> {
    pub(super) fn payloads(&mut self, config: &Node) -> Vec<Payload> {
        let Some(node) = config.get("payload").filter(|node| node.is_truthy()) else {
            return Vec::new();
        };
        let items = node.as_list().unwrap_or_default();
        items.iter().filter_map(|item| self.payload(item)).collect()
    }

    fn payload(&mut self, node: &Node) -> Option<Payload> {
        self.map(node, "payload");
        self.check_keys(node, KeyLevel::Payload);
        let Some(path) = node.get("path").filter(|path| path.as_str().is_some()) else {
            self.findings.problem(
                node.mark,
                "this payload has no `path`: add the path of its CSV file",
            );
            return None;
        };
        let table = self.table(node)?;
        let fields = self.fields(node)?;
        let (order, whole) = self.order(node);
        let (fields, all_as, row_as) = match whole {
            None => (fields, None, None),
            Some(Whole::Table(name)) => (fields, Some(name), None),
            Some(Whole::Row(name)) => (vec![name.clone()], None, Some(name)),
        };
        if fields.is_empty() && all_as.is_none() {
            self.findings.note(
                node.mark,
                "this payload has no effect: list its columns in `fields`",
            );
        }
        let place = path.text();
        let source = from_here(&place);
        let file = Path::new(&place);
        let rows = open::table(&table, file, &place, path.mark, self.read, self.findings)?.rows;
        if rows.is_empty() {
            let text =
                format!("{source} has no rows, so the variables of its columns are undefined");
            self.findings.note(path.mark, text);
        }
        let rows = match row_as {
            None => rows,
            Some(_) => rows
                .into_iter()
                .map(|row| vec![Value::Array(row)])
                .collect(),
        };
        Some(Payload {
            source,
            fields,
            rows: rows.into(),
            order,
            all_as,
        })
    }

    fn fields(&mut self, node: &Node) -> Option<Vec<String>> {
        let Some(fields) = node.get("fields").filter(|fields| fields.is_truthy()) else {
            return Some(Vec::new());
        };
        match fields.as_list() {
            Some(items) => Some(items.iter().map(Node::text).collect()),
            None => {
                self.findings.problem(
                    fields.mark,
                    format!(
                        "`fields` must be a list of variable names, not {}",
                        fields.kind()
                    ),
                );
                None
            }
        }
    }

    fn order(&mut self, node: &Node) -> (RowOrder, Option<Whole>) {
        let order = node.get("order");
        let load_all = node.get("loadAll").filter(|all| all.is_truthy());
        let name = node
            .get("name")
            .filter(|name| name.is_truthy())
            .map(Node::text);
        let rows = match order.map(Node::text).as_deref() {
            Some("sequence") => RowOrder::Sequence,
            None | Some("random") => RowOrder::Random,
            Some(other) => {
                let mark = order.map_or(node.mark, |node| node.mark);
                let text = format!(
                    "`order: {other}` is unknown: rows are chosen at random, as in Artillery"
                );
                self.findings.note(mark, text);
                RowOrder::Random
            }
        };
        match (load_all, order, name) {
            (Some(all), _, None) => {
                self.findings.note(
                    all.mark,
                    "WARNING: loadAll is set to true but no name is provided for the CSV data",
                );
                (rows, None)
            }
            (Some(_), None, Some(name)) => (RowOrder::Sequence, Some(Whole::Table(name))),
            (Some(_), Some(_), Some(name)) => (rows, Some(Whole::Row(name))),
            (None, ..) => (rows, None),
        }
    }

    fn table(&mut self, node: &Node) -> Option<TableOptions> {
        let options = node.get("options").filter(|options| options.is_truthy());
        if let Some(options) = options {
            self.map(options, "options");
            self.check_keys(options, KeyLevel::CsvOptions);
        }
        let option = |key: &str| options.and_then(|options| options.get(key));
        let on = |key: &str| option(key).is_some_and(Node::is_truthy);
        for empty_lines in [node.get("skipEmptyLines"), option("skip_empty_lines")]
            .into_iter()
            .flatten()
        {
            if !empty_lines.is_truthy() {
                self.findings.problem(
                    empty_lines.mark,
                    "empty lines are always skipped: remove this",
                );
            }
        }
        let off = |key: &str| {
            option(key).is_some_and(|node| node.is_null() || node.as_bool() == Some(false))
        };
        let cast = option("cast")
            .or_else(|| node.get("cast"))
            .is_none_or(Node::is_truthy);
        let delimiter =
            option("delimiter").or_else(|| node.get("delimiter").filter(|node| node.is_truthy()));
        Some(TableOptions {
            delimiter: self.one_byte(delimiter, Some(b','))?.unwrap_or(b','),
            quote: if off("quote") {
                None
            } else {
                self.one_byte(option("quote"), Some(b'"'))?
            },
            comment: if off("comment") {
                None
            } else {
                self.one_byte(option("comment"), None)?
            },
            trim: on("trim"),
            bom: on("bom"),
            cast,
            relaxed: on("relax_column_count"),
            header: node.get("skipHeader").and_then(Node::as_bool) == Some(true),
            memory: self.inputs.memory,
        })
    }

    fn one_byte(&mut self, node: Option<&Node>, default: Option<u8>) -> Option<Option<u8>> {
        let Some(node) = node else {
            return Some(default);
        };
        match node.text().as_bytes() {
            [] => Some(None),
            [byte] => Some(Some(*byte)),
            b"\\t" => Some(Some(b'\t')),
            _ => {
                self.findings.problem(
                    node.mark,
                    format!("`{}` must be one ASCII character", node.text()),
                );
                None
            }
        }
    }
}

/// Returns a path relative to the current folder.
fn from_here(path: &str) -> String {
    let path = prepare::absolute(Path::new(path));
    let here = prepare::absolute(Path::new("."));
    files::relative(&path, &here).display().to_string()
}
