//! Reads YAML or JSON scripts and merges them.

use std::path::Path;

use super::inputs::ArtilleryInputs;
use super::merge::{Lists, merge};
use formats::{
    document::{Dialect, Mark, Node, NodeData},
    files::ReadFile,
    findings::Findings,
    open,
};

/// Step 1: merges each file over the previous ones, with `--config` last.
pub(super) fn read_files(
    inputs: &ArtilleryInputs,
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
    let nowhere = Mark::start_of(0);
    if failed {
        None
    } else {
        Some(root.unwrap_or(Node {
            mark: nowhere,
            inset: None,
            data: NodeData::Map(Vec::new()),
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
            "{name}: scripts written in JavaScript are not supported yet: rewrite it as YAML or JSON"
        ));
        return Err(());
    }
    let (_, document) = open::document(path, Dialect::JsYaml, read, findings).ok_or(())?;
    for (mark, date) in document.dates {
        let text = format!(
            "`{date}` stays text; Artillery would convert it to a date and send it in another form (quote it to keep the text)"
        );
        findings.note(mark, text);
    }
    match document.root {
        Some(node) if !node.is_map() && !node.is_null() => {
            findings.problem(
                node.mark,
                format!(
                    "a script must be a mapping with `config` and `scenarios`, not {}",
                    node.kind()
                ),
            );
            Err(())
        }
        root => Ok(root.filter(|node| !node.is_null())),
    }
}
