//! Reads scripts: YAML, of which JSON is a part, whatever the file is called; one laid over the other, and the JSON objects of the command line.

use std::path::Path;

use query::value;
use serde_json::Value;

use super::merge::{Lists, merge};
use crate::{
    Inputs,
    files::{self, ReadFile},
    findings::Findings,
    yaml::{self, Data, Dialect, Mark, Node},
};

/// Step 1: every file over the one before it, `--config` last.
pub(super) fn read_files(
    inputs: &Inputs,
    read: ReadFile<'_>,
    findings: &mut Findings,
) -> Option<Node> {
    let mut root: Option<Node> = None;
    let mut failed = inputs.files.is_empty();
    for path in inputs.files.iter().chain(&inputs.config) {
        match (read_file(path, read, findings), &mut root) {
            (Ok(None), _) => {}
            (Ok(Some(node)), None) => root = Some(node),
            (Ok(Some(node)), Some(lower)) => merge(lower, &node, Lists::ByIndex),
            (Err(()), _) => failed = true,
        }
    }
    let nowhere = Mark {
        file: 0,
        line: 1,
        column: 1,
    };
    if failed {
        None
    } else {
        Some(root.unwrap_or(Node {
            mark: nowhere,
            inset: None,
            data: Data::Map(Vec::new()),
        }))
    }
}

fn read_file(path: &Path, read: ReadFile<'_>, findings: &mut Findings) -> Result<Option<Node>, ()> {
    let name = path.display().to_string();
    let suffix = path
        .extension()
        .and_then(|s| s.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    if matches!(suffix.as_str(), "js" | "ts" | "mjs" | "cjs") {
        findings.problem_anywhere(format!(
            "{name}: scripts written in JavaScript are not supported yet: write it as YAML or JSON"
        ));
        return Err(());
    }
    let bytes = read(path).map_err(|why| findings.problem_anywhere(format!("{name}: {why}")))?;
    let text = files::text(bytes).map_err(|why| findings.placed(why.problem(name.clone())))?;
    let file = findings.file(name);
    match yaml::parse(file, &text, Dialect::JsYaml) {
        Ok(document) => {
            for (mark, date) in document.dates {
                let text = format!(
                    "`{date}` stays text; Artillery would make it a date and send it in another form (quotes keep it)"
                );
                findings.note(mark, text);
            }
            match document.root {
                Some(node) if !node.is_map() && !node.is_null() => {
                    findings.problem(
                        node.mark,
                        format!(
                            "a script is a mapping with `config` and `scenarios`, not {}",
                            node.kind()
                        ),
                    );
                    Err(())
                }
                root => Ok(root.filter(|node| !node.is_null())),
            }
        }
        Err(error) => {
            findings.problem(error.mark, error.message);
            Err(())
        }
    }
}

/// A JSON object from the command line, all of it at the option's place.
pub(super) fn option_object(option: &str, text: &str, findings: &mut Findings) -> Option<Node> {
    let file = findings.file(option);
    match serde_json::from_str::<Value>(text) {
        Ok(value @ Value::Object(_)) => Some(Node::from_value(
            Mark {
                file,
                line: 1,
                column: 1,
            },
            value,
        )),
        Ok(value) => {
            findings.problem(
                Mark {
                    file,
                    line: 1,
                    column: 1,
                },
                format!("`{}` is not a JSON object", value::json(&value)),
            );
            None
        }
        Err(error) => {
            let mark = Mark {
                file,
                line: error.line().max(1),
                column: error.column().max(1),
            };
            findings.problem(mark, format!("this is not JSON: {error}"));
            None
        }
    }
}
