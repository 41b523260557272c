//! Detection of a test file's format by its name or content.

use std::path::Path;

use plan::{Plan, Template};

use crate::{
    Inputs, LoadErrors,
    document::{self, Dialect, Document, Node, SyntaxError},
    files,
};

pub trait TestFileReader: Sync {
    fn reads(&self) -> &'static str;

    fn suffixes(&self) -> &'static [&'static str] {
        &[]
    }

    fn detects(&self, file: &FileSample<'_>) -> bool {
        let _ = file;
        false
    }

    fn load(&self, inputs: &Inputs) -> Result<Plan, LoadErrors>;

    fn has_stages(&self) -> bool {
        false
    }

    fn user_agents(&self) -> &'static [&'static str] {
        &[]
    }
}

pub struct FileSample<'a> {
    suffix: String,
    text: &'a str,
    document: Result<Document, SyntaxError>,
}

impl<'a> FileSample<'a> {
    fn new(path: &Path, text: &'a str) -> FileSample<'a> {
        FileSample {
            suffix: suffix(path),
            text,
            document: document::parse(0, text, Dialect::Core),
        }
    }

    #[must_use]
    pub fn root(&self) -> Option<&Node> {
        self.document.as_ref().ok()?.root.as_ref()
    }

    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.document.is_err()
    }

    #[must_use]
    pub fn has_suffix(&self, suffixes: &[&str]) -> bool {
        suffixes.contains(&self.suffix.as_str())
    }

    /// Returns the first word outside of comments, without quotes.
    #[must_use]
    pub fn first_word(&self) -> &str {
        let mut lines = self.text.lines().map(str::trim);
        let line = lines.find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
        line.and_then(|line| line.split(':').next())
            .unwrap_or_default()
            .trim_matches(['{', '"', '\'', ' '])
    }
}

fn suffix(path: &Path) -> String {
    let suffix = path.extension().and_then(|suffix| suffix.to_str());
    suffix.unwrap_or_default().to_ascii_lowercase()
}

pub fn detect<'r>(
    path: &Path,
    text: &str,
    readers: &[&'r dyn TestFileReader],
) -> Result<&'r dyn TestFileReader, String> {
    let suffix = suffix(path);
    let named = |reader: &&&dyn TestFileReader| reader.suffixes().contains(&suffix.as_str());
    if let Some(reader) = readers.iter().find(named) {
        return Ok(*reader);
    }
    let file = FileSample::new(path, text);
    let found = readers.iter().find(|reader| reader.detects(&file));
    found.copied().ok_or_else(|| {
        if let Some(advice) = foreign(&file) {
            return format!("{}: {advice}", path.display());
        }
        let known: Vec<&str> = readers.iter().map(|reader| reader.reads()).collect();
        format!(
            "{}: not a supported test file: {}",
            path.display(),
            known.join(", ")
        )
    })
}

/// Returns advice for a file of a tool that no reader supports.
fn foreign(file: &FileSample<'_>) -> Option<&'static str> {
    let has = |key: &str| file.root().is_some_and(|root| root.get(key).is_some());
    let is_module = file.has_suffix(&["js", "mjs", "ts"]);
    if is_module && file.text.contains("k6/") {
        return Some("this is a k6 script: use `loadline k6 run FILE`");
    }
    if is_module {
        return Some(
            "this is JavaScript: name the test file that uses it, or use `loadline init` with a HAR file or an OpenAPI document",
        );
    }
    if file.has_suffix(&["jmx"]) || file.text.contains("<jmeterTestPlan") {
        return Some("this is a JMeter plan: use `loadline init FILE.jmx` to write a plan from it");
    }
    let is_postman = file
        .root()
        .and_then(|root| root.get("info"))
        .is_some_and(|info| {
            info.get("_postman_id").is_some()
                || info
                    .get("schema")
                    .is_some_and(|node| node.text().contains("getpostman.com"))
        });
    if is_postman {
        return Some(
            "this is a Postman collection: use `loadline init FILE` to write a plan from it",
        );
    }
    if has("swagger") {
        return Some(
            "this is a Swagger 2 document: convert it to OpenAPI 3, for example with `npx swagger2openapi`, and use `loadline init FILE`",
        );
    }
    if has("openapi") {
        return Some(
            "this is an OpenAPI document: use `loadline init FILE` to write a plan from it",
        );
    }
    let is_har = file
        .root()
        .and_then(|root| root.get("log"))
        .is_some_and(|log| log.get("entries").is_some());
    is_har.then_some("this is a HAR file: use `loadline init FILE` to write a plan from it")
}

pub fn load(inputs: &Inputs, readers: &[&dyn TestFileReader]) -> Result<Plan, LoadErrors> {
    let Some(path) = inputs.files.first() else {
        return Err(LoadErrors::refused("no test file was named"));
    };
    let bytes = files::from_disk(path)
        .map_err(|reason| LoadErrors::refused(format!("{}: {reason}", path.display())))?;
    let text = files::text(bytes)
        .map_err(|reason| LoadErrors::from(reason.problem(path.display().to_string())))?;
    let reader = detect(path, &text, readers).map_err(LoadErrors::refused)?;
    if let Some(stage) = inputs.stage.as_ref().filter(|_| !reader.has_stages()) {
        let reason = "is not a native plan, and only native plans have stages";
        return Err(LoadErrors::refused(format!(
            "--stage {stage}: {} {reason}",
            path.display()
        )));
    }
    reader.load(inputs)
}

#[must_use]
pub fn is_usual_user_agent(value: &Template, readers: &[&dyn TestFileReader]) -> bool {
    let mut usual = readers.iter().flat_map(|reader| reader.user_agents());
    usual.any(|usual| *value == Template::from(*usual))
}
