//! Reads the plan's script and the names of its functions.

use std::path::Path;

use plan::{ScriptFile, scenario::Call, template::Functions};

use super::Translator;
use crate::{document::Node, native::read};

impl Translator<'_> {
    /// Finds the file of the script. Templates may call its functions.
    pub(super) fn script(&mut self, node: Option<&Node>, folder: &Path) -> Option<ScriptFile> {
        let node = node?;
        self.has_script = true;
        self.templates.functions = plan::template::Functions::Script;
        let name = read::text(node, "script", self.findings)?;
        let path = folder.join(&name);
        if let Err(reason) = (self.read)(&path) {
            let text = format!("`script: {name}` cannot be read: {reason}");
            self.findings.problem(node.mark, text);
            return None;
        }
        self.templates.functions = Functions::Script;
        Some(ScriptFile {
            writes: None,
            path: std::path::absolute(&path).unwrap_or(path),
            at: Some(self.findings.at(node.mark)),
        })
    }

    /// Reads the name of a function.
    pub(super) fn call(&mut self, node: &Node) -> Option<Call> {
        let function = read::text(node, "call", self.findings)?;
        if !self.has_script {
            let text =
                format!("`{function}` is not defined: add `script` with the file that exports it");
            self.findings.problem(node.mark, text);
            return None;
        }
        Some(Call {
            function,
            at: Some(self.findings.at(node.mark)),
        })
    }

    /// Reads the names of one or more functions.
    pub(super) fn calls(&mut self, node: Option<&Node>) -> Vec<Call> {
        let Some(node) = node else { return Vec::new() };
        let names = node.as_list().unwrap_or(std::slice::from_ref(node));
        names.iter().filter_map(|name| self.call(name)).collect()
    }
}
