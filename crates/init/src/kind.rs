//! Detects the type of a source by its content.

use formats::{
    LoadErrors,
    document::{self, Dialect, Mark, Node},
    files::ReadFile,
};

use crate::{
    curl,
    draft::Draft,
    har, openapi, placeholders,
    problem::{NO_TEXT, foreign, problem},
};

const KNOWN: &str = "`loadline init` reads URLs, command lines that start with `curl`, HAR files (`log` with `entries`) and OpenAPI 3 (`openapi: 3…`)";

pub fn from_text(name: &str, text: &str, read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if let Some(at) = text.find(placeholders::is_mark) {
        let before = &text[..at];
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        return Err(problem(
            name,
            Mark {
                file: 0,
                line,
                column,
            },
            NO_TEXT.to_owned(),
        ));
    }
    if looks_like_curl(text) {
        return curl::from_text(name, text, read);
    }
    let root = tree(name, text)?;
    if root
        .get("log")
        .is_some_and(|log| log.get("entries").is_some())
    {
        return har::from_document(name, &root);
    }
    if root.get("openapi").is_some() {
        return openapi::from_document(name, &root, read);
    }
    if let Some(version) = root.entry("swagger") {
        let reason = "this is Swagger 2: convert it to OpenAPI 3 first";
        return Err(problem(name, version.key_mark, reason.to_owned()));
    }
    if root.get("loadline").is_some() {
        return Err(LoadErrors::refused(format!(
            "{name} is already a plan: use loadline run {name}"
        )));
    }
    Err(LoadErrors::refused(format!("{name}: {KNOWN}")))
}

fn tree(name: &str, text: &str) -> Result<Node, LoadErrors> {
    let looks_like_json = text.trim_start().starts_with(['{', '[']);
    let is_named = |ends: &[&str]| {
        ends.iter()
            .any(|end| name.to_ascii_lowercase().ends_with(end))
    };
    if (looks_like_json || is_named(&[".har", ".json"]))
        && let Err(error) = serde_json::from_str::<serde_json::Value>(text)
    {
        let mark = Mark {
            file: 0,
            line: error.line().max(1),
            column: error.column().max(1),
        };
        let what = error.to_string();
        let what = what.split(" at line ").next().unwrap_or_default();
        return Err(problem(name, mark, format!("this is not JSON: {what}")));
    }
    let read = document::parse(0, text, Dialect::Core);
    let root = match read {
        Ok(document) => document.root,
        Err(error) if looks_like_json || is_named(&[".yml", ".yaml"]) => {
            return Err(problem(name, error.mark, error.message));
        }
        Err(_) => None,
    };
    let root = root
        .filter(Node::is_map)
        .ok_or_else(|| LoadErrors::refused(format!("{name}: {KNOWN}")))?;
    match foreign(&root) {
        Some(mark) => Err(problem(name, mark, NO_TEXT.to_owned())),
        None => Ok(root),
    }
}

fn looks_like_curl(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim);
    let line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
    let mut words = line.unwrap_or_default().split_whitespace();
    words.any(|word| word == "curl" || word.ends_with("/curl"))
        && !line.is_some_and(|line| line.starts_with(['{', '[']))
}
