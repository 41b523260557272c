//! Opens documents, tables and JSON options. Reports syntax errors with their positions.

use std::path::Path;

use query::value;
use serde_json::Value;

use crate::{
    document::{self, Dialect, Document, Mark, Node},
    files::{self, ReadFile},
    findings::Findings,
    table::{Rows, TableOptions},
};

pub fn document(
    path: &Path,
    dialect: Dialect,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<(usize, Document)> {
    let name = path.display().to_string();
    let bytes = read(path)
        .map_err(|reason| findings.problem_anywhere(format!("{name}: {reason}")))
        .ok()?;
    let text = files::text(bytes)
        .map_err(|reason| findings.placed(reason.problem(name.clone())))
        .ok()?;
    let file = findings.file(name);
    match document::parse(file, &text, dialect) {
        Ok(document) => Some((file, document)),
        Err(error) => {
            findings.problem(error.mark, error.message);
            None
        }
    }
}

pub fn table(
    table: &TableOptions,
    path: &Path,
    named: &str,
    mark: Mark,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<Rows> {
    let rows = match read(path).map(files::text) {
        Ok(Ok(text)) => table.read(&text),
        Ok(Err(reason)) => {
            findings.placed(reason.problem(path.display().to_string()));
            return None;
        }
        Err(reason) => Err(reason),
    };
    rows.map_err(|reason| findings.problem(mark, format!("{named}: {reason}")))
        .ok()
}

pub fn option_object(option: &str, text: &str, findings: &mut Findings) -> Option<Node> {
    let mark = Mark::start_of(findings.file(option));
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => Some(Node::from_value(mark, value)),
        Ok(value) => {
            let text = format!("`{}` is not a JSON object", value::json(&value));
            findings.problem(mark, text);
            None
        }
        Err(error) => {
            let mark = Mark {
                line: error.line().max(1),
                column: error.column().max(1),
                ..mark
            };
            findings.problem(mark, format!("this is not JSON: {error}"));
            None
        }
    }
}
