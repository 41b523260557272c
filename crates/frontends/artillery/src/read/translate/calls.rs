//! Translates the processor and all references to its functions.

use std::path::{Path, PathBuf};

use plan::{ScriptFile, scenario::Call};

use super::Translator;
use crate::{read::prepare, refusal};
use formats::document::Node;

/// Functions that run before and after each request of a scenario.
#[derive(Default)]
pub(super) struct Around {
    pub before: Vec<Call>,
    pub after: Vec<Call>,
}

impl Translator<'_> {
    /// Finds the file of the processor. Artillery fails if it is missing.
    pub(super) fn processor(&mut self, config: &Node) -> Option<ScriptFile> {
        let node = config.get("processor").filter(|node| node.is_truthy())?;
        let name = node.text();
        let mut folders = vec![self.folder.clone()];
        // A processor next to the file of `--config` takes precedence.
        let beside = self.inputs.config.as_deref().and_then(Path::parent);
        folders.splice(0..0, beside.map(Path::to_owned));
        let found = folders
            .iter()
            .find_map(|folder| self.find_processor(folder, &name));
        let Some(path) = found else {
            let path = prepare::absolute(&self.folder.join(&name));
            let message = format!("Error: Cannot find module '{}'", path.display());
            let advice =
                format!("`processor: {name}` does not exist: remove it, or correct its path");
            self.findings
                .fatal(refusal::worker(&message), Some(node.mark), advice);
            return None;
        };
        let at = Some(self.findings.at(node.mark));
        Some(ScriptFile {
            path,
            at,
            writes: None,
        })
    }

    fn find_processor(&self, folder: &Path, name: &str) -> Option<PathBuf> {
        let path = prepare::absolute(&folder.join(name));
        let endings = ["", ".js", ".json", ".node", "/index.js"];
        let mut places = endings.iter().map(|ending| {
            let mut place = path.clone().into_os_string();
            place.push(ending);
            PathBuf::from(place)
        });
        places.find(|place| (self.read)(place).is_ok())
    }

    /// Reads the name of a function.
    pub(super) fn call(&mut self, node: &Node) -> Option<Call> {
        let Some(function) = node.as_str().filter(|name| !name.is_empty()) else {
            let text = format!("the name of a function must be text, not {}", node.kind());
            self.findings.problem(node.mark, text);
            return None;
        };
        if !self.has_processor {
            let text = format!(
                "`{function}` is undefined: set `config.processor` to the file that exports it"
            );
            self.findings.note(node.mark, text);
        }
        Some(Call {
            function: function.to_owned(),
            at: Some(self.findings.at(node.mark)),
        })
    }

    /// Reads a condition, which may be the name of a function.
    pub(super) fn condition_call(&mut self, node: &Node) -> Option<Call> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        let name = node.as_str().filter(|name| name.chars().all(is_name))?;
        self.has_processor.then(|| Call {
            function: name.to_owned(),
            at: Some(self.findings.at(node.mark)),
        })
    }

    /// Reads the names of one or more functions.
    pub(super) fn calls(&mut self, node: Option<&Node>) -> Vec<Call> {
        let Some(node) = node.filter(|node| node.is_truthy()) else {
            return Vec::new();
        };
        let names = node.as_list().unwrap_or(std::slice::from_ref(node));
        names.iter().filter_map(|name| self.call(name)).collect()
    }
}
