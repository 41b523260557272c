//! Combines an OpenAPI description of several files into one tree.

use std::path::{Component, Path, PathBuf};

use formats::{
    document::{self, Dialect, Entry, Mark, Node, NodeData},
    files::ReadFile,
};
use serde_json::Value;

use super::reference::BrokenReference;
use crate::problem;

const FILES: &str = "x-loadline-files";
const MAX_FILES: usize = 500;

pub fn bundled(name: &str, root: &Node, read: ReadFile<'_>) -> Result<Node, BrokenReference> {
    let mut root = root.clone();
    let mut bundle = Bundle {
        paths: Vec::new(),
        read,
    };
    bundle.rewrite(&mut root, Path::new(name), None)?;
    let mut files = Vec::new();
    while files.len() < bundle.paths.len() {
        let (path, mark) = bundle.paths[files.len()].clone();
        let mut file = bundle.open(&path, mark)?;
        bundle.rewrite(&mut file, &path, Some(files.len()))?;
        files.push(file);
    }
    if !files.is_empty()
        && let NodeData::Map(entries) = &mut root.data
    {
        let mark = root.mark;
        entries.push(Entry {
            key: FILES.to_owned(),
            key_mark: mark,
            value: Node {
                data: NodeData::List(files),
                ..Node::scalar(mark, Value::Null)
            },
        });
    }
    Ok(root)
}

struct Bundle<'r> {
    paths: Vec<(PathBuf, Mark)>,
    read: ReadFile<'r>,
}

impl Bundle<'_> {
    fn rewrite(
        &mut self,
        node: &mut Node,
        file: &Path,
        number: Option<usize>,
    ) -> Result<(), BrokenReference> {
        match &mut node.data {
            NodeData::Scalar(_) => Ok(()),
            NodeData::List(items) => items
                .iter_mut()
                .try_for_each(|item| self.rewrite(item, file, number)),
            NodeData::Map(entries) => entries.iter_mut().try_for_each(|entry| {
                match entry.value.as_str().filter(|_| entry.key == "$ref") {
                    Some(reference) => {
                        let target = self.target(reference, file, number, entry.value.mark)?;
                        entry.value = Node::scalar(entry.value.mark, Value::String(target));
                        Ok(())
                    }
                    None => self.rewrite(&mut entry.value, file, number),
                }
            }),
        }
    }

    fn target(
        &mut self,
        reference: &str,
        file: &Path,
        number: Option<usize>,
        mark: Mark,
    ) -> Result<String, BrokenReference> {
        let (path, pointer) = reference.split_once('#').unwrap_or((reference, ""));
        if path.is_empty() {
            return Ok(match number {
                None => reference.to_owned(),
                Some(number) => format!("#/{FILES}/{number}{pointer}"),
            });
        }
        if path.contains("://") {
            let reason = format!(
                "`{reference}` is on the network: download the file, and use its path here"
            );
            return Err((mark, reason));
        }
        let folder = file.parent().unwrap_or(Path::new(""));
        let path = normalized(&folder.join(crate::address::decoded(path)));
        let known = self.paths.iter().position(|(known, _)| *known == path);
        let number = known.unwrap_or_else(|| {
            self.paths.push((path, mark));
            self.paths.len() - 1
        });
        if number >= MAX_FILES {
            return Err((
                mark,
                format!("this OpenAPI description has more than {MAX_FILES} files"),
            ));
        }
        Ok(format!("#/{FILES}/{number}{pointer}"))
    }

    fn open(&self, path: &Path, mark: Mark) -> Result<Node, BrokenReference> {
        let rendered = path.display();
        let bytes = (self.read)(path).map_err(|reason| (mark, format!("{rendered}: {reason}")))?;
        let text = String::from_utf8(bytes)
            .map_err(|_| (mark, format!("{rendered} is not UTF-8 text")))?;
        let document = document::parse(0, &text, Dialect::Core).map_err(|error| {
            let (line, column) = (error.mark.line, error.mark.column);
            (
                mark,
                format!("{rendered}:{line}:{column}: {}", error.message),
            )
        })?;
        let root = document
            .root
            .ok_or_else(|| (mark, format!("{rendered} is empty")))?;
        match problem::foreign(&root) {
            Some(_) => Err((mark, format!("{rendered}: {}", problem::NO_TEXT))),
            None => Ok(root),
        }
    }
}

fn normalized(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if parts.file_name().is_some() => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    parts
}
