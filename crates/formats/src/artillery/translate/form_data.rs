//! `formData`: the parts of a multipart body. Files are read here, before the run; one that is not there fails its request.

use std::path::Path;

use plan::{
    Template,
    scenario::{Part, PartContent},
};

use super::Translator;
use crate::{artillery::keys::Level, yaml::Node};

impl Translator<'_> {
    pub(super) fn form_data(&mut self, node: &Node) -> Vec<Part> {
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
                        "the part `{}` is text, or {{ value: … }}, or {{ fromFile: … }}",
                        entry.key
                    );
                    self.findings.problem(value.mark, text);
                    None
                }
                (None, None) => Some(PartContent::Text(self.template(value))),
            };
            if value.is_map() {
                self.check_keys(value, Level::FormData);
            }
            let said = value.get("contentType").map(Node::text);
            let content_type = said.or_else(|| match &content {
                Some(PartContent::File { name, .. }) => Some(content_type(name).to_owned()),
                _ => None,
            });
            parts.extend(content.map(|content| Part {
                name: entry.key.clone(),
                content,
                content_type,
            }));
        }
        parts
    }

    fn upload(&mut self, path: &Node) -> Option<PartContent> {
        let text = path.text();
        if text.contains("{{") {
            let message =
                "the name of a file to upload cannot be templated: files are read before the run";
            self.findings.problem(path.mark, message);
            return None;
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
            Err(why) => {
                self.missing_files.push(format!("{text}: {why}"));
                // Stands where the file would: the request never goes out.
                Some(PartContent::Text(Template::from("")))
            }
        }
    }
}

/// By the name's ending; the kinds that tests upload.
fn content_type(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    match ending.to_ascii_lowercase().as_str() {
        "txt" | "log" => "text/plain",
        "csv" => "text/csv",
        "htm" | "html" => "text/html",
        "css" => "text/css",
        "md" => "text/markdown",
        "js" => "application/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "yml" | "yaml" => "text/yaml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "tar" => "application/x-tar",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "bmp" => "image/bmp",
        "ico" => "image/vnd.microsoft.icon",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "doc" => "application/msword",
        "docx" => "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "xls" => "application/vnd.ms-excel",
        "xlsx" => "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        _ => "application/octet-stream",
    }
}
