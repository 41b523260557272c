//! Detects the type of a source by its content.

use formats::{
    LoadErrors,
    document::{self, Dialect, Mark, Node},
    files::ReadFile,
};

use crate::{
    curl,
    draft::Draft,
    har, jmeter, openapi, placeholders, postman,
    problem::{NO_TEXT, foreign, problem},
};

const KNOWN: &str = "`loadline init` reads URLs, command lines that start with `curl`, HAR files (`log` with `entries`), OpenAPI 3 (`openapi: 3…`), Postman collections and JMeter plans (.jmx)";

/// The content of a file, and its name for messages.
#[derive(Debug, Clone, Copy)]
pub struct SourceText<'t> {
    pub name: &'t str,
    pub text: &'t str,
}

pub fn from_text(name: &str, text: &str, read: ReadFile<'_>) -> Result<Draft, LoadErrors> {
    from_source(SourceText { name, text }, None, read)
}

/// Creates a draft like [`from_text`], with the environment of a Postman collection. Fails if a
/// source of another kind has an environment.
pub fn from_source(
    source: SourceText<'_>,
    environment: Option<SourceText<'_>>,
    read: ReadFile<'_>,
) -> Result<Draft, LoadErrors> {
    let name = source.name;
    let text = checked(source)?;
    if is_k6_script(name, text) {
        return Err(LoadErrors::refused(format!(
            "{name} is a k6 script, which needs no plan: use `loadline k6 run {name}`"
        )));
    }
    let root = if looks_like_curl(text) || jmeter::is_plan(text) {
        None
    } else {
        Some(tree(name, text)?)
    };
    if let Some(root) = root.as_ref().filter(|root| postman::is_collection(root)) {
        let values = environment.map(environment_tree).transpose()?;
        return postman::from_document(name, root, values.as_ref());
    }
    if let Some(environment) = environment {
        return Err(LoadErrors::refused(format!(
            "--environment {}: only Postman collections have environments, and {name} is not one",
            environment.name
        )));
    }
    let Some(root) = root else {
        return if jmeter::is_plan(text) {
            jmeter::from_text(name, text, read)
        } else {
            curl::from_text(name, text, read)
        };
    };
    if postman::is_environment(&root) {
        return Err(LoadErrors::refused(format!(
            "{name} is a Postman environment: use loadline init COLLECTION --environment {name}"
        )));
    }
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
        let reason = "this is Swagger 2: convert it to OpenAPI 3 first, for example with `npx swagger2openapi`";
        return Err(problem(name, version.key_mark, reason.to_owned()));
    }
    if root.get("loadline").is_some() {
        return Err(LoadErrors::refused(format!(
            "{name} is already a plan: use loadline run {name}"
        )));
    }
    Err(LoadErrors::refused(format!("{name}: {KNOWN}")))
}

fn is_k6_script(name: &str, text: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_module = [".js", ".mjs", ".ts"].iter().any(|end| name.ends_with(end));
    is_module && (text.contains("k6/") || text.contains("'k6'") || text.contains("\"k6\""))
}

/// Returns the text without a byte order mark. Fails if it contains reserved characters.
fn checked(source: SourceText<'_>) -> Result<&str, LoadErrors> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let Some(at) = text.find(placeholders::is_mark) else {
        return Ok(text);
    };
    let before = &text[..at];
    let line = before.rsplit('\n').next().unwrap_or_default();
    let mark = Mark {
        file: 0,
        line: before.matches('\n').count() + 1,
        column: line.chars().count() + 1,
    };
    Err(problem(source.name, mark, NO_TEXT.to_owned()))
}

fn environment_tree(source: SourceText<'_>) -> Result<Node, LoadErrors> {
    let root = tree(source.name, checked(source)?)?;
    if root
        .get("values")
        .is_some_and(|values| values.as_list().is_some())
    {
        return Ok(root);
    }
    Err(LoadErrors::refused(format!(
        "{}: this is not a Postman environment: it has no list of `values`",
        source.name
    )))
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
