//! Which reader a file belongs to, by its content where that tells, else by its name.

use std::path::Path;

use crate::document::{self, Dialect, Node};

/// The kinds of test files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plan whose first key is `loadline`.
    Native,
    /// A mapping with `scenarios` or `config`.
    Artillery,
    /// A Python file.
    Locust,
    /// A Lua script for wrk.
    WrkLua,
}

/// What a file is, from its name and text.
///
/// # Errors
/// One line that names the kinds, if it is none of them.
pub fn detect(path: &Path, text: &str) -> Result<Kind, String> {
    let suffix = path
        .extension()
        .and_then(|suffix| suffix.to_str())
        .unwrap_or_default()
        .to_ascii_lowercase();
    match suffix.as_str() {
        "py" => return Ok(Kind::Locust),
        "lua" => return Ok(Kind::WrkLua),
        _ => {}
    }
    let is_yaml = matches!(suffix.as_str(), "yml" | "yaml" | "json");
    match document::parse(0, text, Dialect::Core) {
        Ok(document) => by_keys(document.root.as_ref()),
        // What is broken still goes to the reader that it was meant for, because that one says where.
        Err(_) if first_word(text) == "loadline" => Some(Kind::Native),
        Err(_) if is_yaml => Some(Kind::Artillery),
        Err(_) => None,
    }
    .ok_or_else(|| {
        format!(
            "{}: not a test that Loadline knows: a native plan begins with `loadline: 1`, an Artillery script has `config` and \
             `scenarios`, a locustfile ends in .py, a wrk script in .lua",
            path.display()
        )
    })
}

fn by_keys(root: Option<&Node>) -> Option<Kind> {
    let root = root?;
    if root.entries().first()?.key == "loadline" {
        return Some(Kind::Native);
    }
    (root.get("scenarios").is_some() || root.get("config").is_some()).then_some(Kind::Artillery)
}

fn first_word(text: &str) -> &str {
    let line = text
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with('#') && *line != "---");
    line.and_then(|line| line.split(':').next())
        .unwrap_or_default()
        .trim_matches(['{', '"', '\'', ' '])
}
