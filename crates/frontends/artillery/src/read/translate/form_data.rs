//! Translates `formData` to multipart parts. A file named by a variable is read when the request is
//! sent, but never if a response can set the name.

use std::path::Path;

use plan::{
    Template,
    scenario::{MultipartPart, PartContent},
};

use super::Translator;
use crate::read::keys::KeyLevel;
use formats::document::Node;

impl Translator<'_> {
    pub(super) fn form_data(&mut self, node: &Node) -> Vec<MultipartPart> {
        let mut parts = Vec::new();
        for entry in self.map(node, "formData") {
            let value = &entry.value;
            let file = value.get("fromFile").filter(|path| path.is_truthy());
            let inner = value.get("value");
            let content = match (file, inner) {
                (Some(path), _) => self.upload(path),
                (None, Some(inner)) => Some(PartContent::Text(self.template(inner))),
                (None, None) if value.is_map() || value.as_list().is_some() => {
                    let text = format!(
                        "the part `{}` must be text, {{ value: … }} or {{ fromFile: … }}",
                        entry.key
                    );
                    self.findings.problem(value.mark, text);
                    None
                }
                (None, None) => Some(PartContent::Text(self.template(value))),
            };
            if value.is_map() {
                self.check_keys(value, KeyLevel::FormData);
            }
            let content_type = value
                .get("contentType")
                .map(|entry| self.template(&Node::scalar(entry.mark, entry.text())));
            parts.extend(content.map(|content| MultipartPart {
                name: entry.key.clone(),
                content,
                content_type,
            }));
        }
        parts
    }

    /// Rejects uploads whose file name comes from a response, because a server must not select
    /// files on this machine.
    pub(super) fn check_uploads(&mut self) {
        loop {
            let before = self.captured.len();
            for (element, list) in &self.loops_over {
                if self.captured.contains(list) {
                    self.captured.insert(element.clone());
                }
            }
            if self.captured.len() == before {
                break;
            }
        }
        for (roots, mark) in std::mem::take(&mut self.uploads) {
            if let Some(root) = roots.iter().find(|root| self.captured.contains(*root)) {
                let text = format!(
                    "`{root}` is captured from a response, which must not choose a file on this machine: use a variable, a CSV column or a loop instead"
                );
                self.findings.problem(mark, text);
            }
        }
    }

    fn upload(&mut self, path: &Node) -> Option<PartContent> {
        let text = path.text();
        let named = self.template(&Node::scalar(path.mark, text.as_str()));
        if named.as_literal().is_none() {
            let roots = named.variables().map(|path| path.root().to_owned());
            self.uploads.push((roots.collect(), path.mark));
            return Some(PartContent::Named {
                folder: self.folder.clone(),
                path: named,
            });
        }
        let path = self.folder.join(&text);
        let name = Path::new(&text)
            .file_name()
            .map_or_else(|| text.clone(), |name| name.to_string_lossy().into_owned());
        match (self.read)(&path) {
            Ok(bytes) => Some(PartContent::File {
                name,
                bytes: bytes.into(),
            }),
            Err(reason) => {
                self.missing_files.push(format!("{text}: {reason}"));
                Some(PartContent::Text(Template::from("")))
            }
        }
    }
}
