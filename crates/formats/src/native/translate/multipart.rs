//! Reads `multipart`: the parts of a form, possibly with files. Reads the files before the run.

use std::path::Path;

use plan::scenario::{MultipartPart, PartContent};

use super::{Translator, model};
use crate::{
    document::Node,
    native::read::{self, entries},
};

impl Translator<'_> {
    pub(super) fn multipart(&mut self, node: &Node) -> Vec<MultipartPart> {
        let mut parts = Vec::new();
        for entry in read::map(node, "multipart", self.findings) {
            let items = entry.value.as_list();
            for item in items.unwrap_or(std::slice::from_ref(&entry.value)) {
                parts.extend(self.part(&entry.key, item));
            }
        }
        parts
    }

    fn part(&mut self, name: &str, node: &Node) -> Option<MultipartPart> {
        if !node.is_map() {
            read::scalar(node, name, self.findings)?;
            return Some(MultipartPart {
                name: name.to_owned(),
                content: PartContent::Text(self.template(node)),
                content_type: None,
            });
        }
        entries(node, "multipart", model::PART, self.findings);
        let content = match (node.get("file"), node.get("value")) {
            (Some(file), None) => self.part_file(file, node.get("filename"))?,
            (None, Some(value)) => {
                read::scalar(value, "value", self.findings)?;
                PartContent::Text(self.template(value))
            }
            _ => {
                let text = format!(
                    "the part `{name}` must be exactly one of text, {{ value: … }} and {{ file: … }}"
                );
                self.findings.problem(node.mark, text);
                return None;
            }
        };
        if let (Some(entry), PartContent::Text(_)) = (node.get("filename"), &content) {
            let text = "`filename` is only for a `file`: remove it, or replace the value by a file";
            self.findings.problem(entry.mark, text);
        }
        let content_type = node.get("type").map(|entry| self.template(entry));
        Some(MultipartPart {
            name: name.to_owned(),
            content,
            content_type,
        })
    }

    /// Reads the file of a part. The file name must be known before the run, so that no response
    /// can select a file.
    fn part_file(&mut self, node: &Node, called: Option<&Node>) -> Option<PartContent> {
        let text = read::text(node, "file", self.findings)?;
        let own = || {
            let name = Path::new(&text).file_name();
            name.map_or_else(|| text.clone(), |name| name.to_string_lossy().into_owned())
        };
        let name = match called {
            Some(called) => read::text(called, "filename", self.findings)?,
            None => own(),
        };
        if text.contains("{{") || name.contains("{{") {
            let text =
                "files are read before the run: remove the variables from `file` and `filename`";
            self.findings.problem(node.mark, text);
            return None;
        }
        let path = self.inputs.files.first();
        let folder = path.and_then(|path| path.parent()).unwrap_or(Path::new(""));
        match (self.read)(&folder.join(&text)) {
            Ok(bytes) => Some(PartContent::File {
                name,
                bytes: bytes.into(),
            }),
            Err(reason) => {
                let text = format!("`file: {text}`: {reason}");
                self.findings.problem(node.mark, text);
                None
            }
        }
    }
}
