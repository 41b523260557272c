//! Reads the folders and requests of a collection, including inherited settings.

use formats::document::{Mark, Node};

use super::script::{LeftStatement, ScriptKind, TranslatedScript, translate};

/// Maximum nesting of folders to read.
const DEEPEST: usize = 32;

pub enum CollectionItem<'n> {
    Folder(CollectionFolder<'n>),
    Request(Box<CollectionRequest<'n>>),
}

pub struct CollectionFolder<'n> {
    pub name: String,
    pub variables: Option<&'n Node>,
    pub items: Vec<CollectionItem<'n>>,
}

pub struct CollectionRequest<'n> {
    pub name: String,
    /// Request node: a mapping, or only a URL.
    pub node: &'n Node,
    pub auth: Option<&'n Node>,
    /// Scripts that run before the request: those of the collection, of its folders and of the
    /// request.
    pub before: TranslatedScript,
    pub after: TranslatedScript,
}

/// A script statement that could not be translated, with its item.
pub struct LeftScript {
    pub item: String,
    pub kind: ScriptKind,
    pub statement: LeftStatement,
}

#[derive(Clone, Default)]
struct Inherited<'n> {
    auth: Option<&'n Node>,
    before: TranslatedScript,
    after: TranslatedScript,
}

pub struct Collection<'n> {
    pub items: Vec<CollectionItem<'n>>,
    pub left: Vec<LeftScript>,
}

/// An error in a collection, with its position and reason.
pub struct BrokenItem {
    pub mark: Mark,
    pub message: String,
}

impl<'n> Collection<'n> {
    pub fn read(root: &'n Node) -> Result<Collection<'n>, BrokenItem> {
        let mut left = Vec::new();
        let inherited = Inherited::default().with(root, "the collection", &mut left);
        let items = items(root, &inherited, &mut left, DEEPEST)?;
        Ok(Collection { items, left })
    }

    /// Returns all requests, in order.
    pub fn requests<'c>(&'c self) -> Vec<&'c CollectionRequest<'n>> {
        fn collect<'c, 'n>(
            items: &'c [CollectionItem<'n>],
            out: &mut Vec<&'c CollectionRequest<'n>>,
        ) {
            for item in items {
                match item {
                    CollectionItem::Folder(folder) => collect(&folder.items, out),
                    CollectionItem::Request(request) => out.push(request),
                }
            }
        }
        let mut out = Vec::new();
        collect(&self.items, &mut out);
        out
    }
}

fn items<'n>(
    node: &'n Node,
    inherited: &Inherited<'n>,
    left: &mut Vec<LeftScript>,
    depth: usize,
) -> Result<Vec<CollectionItem<'n>>, BrokenItem> {
    let list = node.get("item").and_then(Node::as_list).unwrap_or_default();
    let mut found = Vec::new();
    for item in list {
        let name = item.get("name").map(Node::text).unwrap_or_default();
        let name = name.trim().replace(char::is_control, " ");
        let inherited = inherited.clone().with(item, &name, left);
        match item.get("request").filter(|request| !request.is_null()) {
            Some(request) => {
                let request = CollectionRequest {
                    name,
                    node: request,
                    auth: own_auth(request).or(inherited.auth),
                    before: inherited.before,
                    after: inherited.after,
                };
                found.push(CollectionItem::Request(Box::new(request)));
            }
            None if item.get("item").is_some() => {
                let Some(depth) = depth.checked_sub(1) else {
                    return Err(BrokenItem {
                        mark: item.mark,
                        message: format!(
                            "folders are nested more than {DEEPEST} levels deep: flatten them"
                        ),
                    });
                };
                found.push(CollectionItem::Folder(CollectionFolder {
                    variables: item.get("variable"),
                    items: items(item, &inherited, left, depth)?,
                    name,
                }));
            }
            None => {
                return Err(BrokenItem {
                    mark: item.mark,
                    message: "this item has neither `request` nor `item`: remove it".to_owned(),
                });
            }
        }
    }
    Ok(found)
}

fn own_auth(node: &Node) -> Option<&Node> {
    node.get("auth").filter(|auth| auth.is_map())
}

impl<'n> Inherited<'n> {
    /// Adds the settings that an item defines for itself and the items below it.
    fn with(mut self, item: &'n Node, name: &str, left: &mut Vec<LeftScript>) -> Inherited<'n> {
        self.auth = own_auth(item).or(self.auth);
        let events = item
            .get("event")
            .and_then(Node::as_list)
            .unwrap_or_default();
        for event in events {
            let kind = match event.get("listen").and_then(Node::as_str) {
                Some("prerequest") => ScriptKind::Prerequest,
                Some("test") => ScriptKind::Test,
                _ => continue,
            };
            let is_off = event.get("disabled").and_then(Node::as_bool) == Some(true);
            let exec = event.get("script").and_then(|script| script.get("exec"));
            let Some(exec) = exec.filter(|_| !is_off) else {
                continue;
            };
            let translated = translate(kind, exec);
            left.extend(translated.left.iter().map(|statement| LeftScript {
                item: name.to_owned(),
                kind,
                statement: statement.clone(),
            }));
            match kind {
                ScriptKind::Prerequest => self.before.extend(&translated),
                ScriptKind::Test => self.after.extend(&translated),
            }
        }
        self
    }
}
