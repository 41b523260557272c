//! Selects the reader of a file by the file's name or content.

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
        let known: Vec<&str> = readers.iter().map(|reader| reader.reads()).collect();
        format!(
            "{}: not a supported test file: {}",
            path.display(),
            known.join(", ")
        )
    })
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
        let reason = "is not a native plan, and nothing else has stages";
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
