//! Groups as a tree.

use crate::aggregate::{Check, Section};

/// A group with its checks and nested groups, in order of first use.
#[derive(Debug, Clone, Default)]
pub(super) struct Group<'a> {
    pub name: String,
    pub path: String,
    pub sections: Vec<&'a Section>,
    pub groups: Vec<Group<'a>>,
}

/// Maximum depth. Deeper groups count for the group at this depth, so that no path exhausts the
/// stack.
const MAX_DEPTH: usize = 64;

impl<'a> Group<'a> {
    /// Creates a tree from sections in order of first use. Sections with the same path share a
    /// group.
    pub fn from_sections(sections: impl IntoIterator<Item = &'a Section>) -> Group<'a> {
        let mut root = Group::default();
        for section in sections {
            let mut group = &mut root;
            let names = section.group.split("::");
            for name in names.filter(|name| !name.is_empty()).take(MAX_DEPTH) {
                group = group.child(name);
            }
            group.sections.push(section);
        }
        root
    }

    fn child(&mut self, name: &str) -> &mut Group<'a> {
        let found = self.groups.iter().position(|group| group.name == name);
        let index = found.unwrap_or_else(|| {
            self.groups.push(Group {
                name: name.to_owned(),
                path: format!("{}::{name}", self.path),
                ..Group::default()
            });
            self.groups.len() - 1
        });
        &mut self.groups[index]
    }

    /// Returns the checks directly in the group. Checks with equal names are combined.
    pub fn checks(&self) -> Vec<Check> {
        let mut merged: Vec<Check> = Vec::new();
        for check in self.sections.iter().flat_map(|section| &section.checks) {
            match merged.iter_mut().find(|own| own.name == check.name) {
                Some(own) => {
                    own.passes += check.passes;
                    own.fails += check.fails;
                }
                None => merged.push(check.clone()),
            }
        }
        merged
    }
}
