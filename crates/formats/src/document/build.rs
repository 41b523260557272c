//! Builds a document tree from the scanner's events. Enforces limits against malicious files.

use std::collections::HashMap;

use query::value;
use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use super::{
    Dialect, Document, Entry, Mark, Node, NodeData, SyntaxError,
    event::{Scalar, collection_tag},
    scalar,
    surrogates::{self, Joined},
};

/// Maximum nesting depth. It is limited because functions that walk a tree are recursive.
const MAX_DEPTH: usize = 64;
const MAX_NODES: usize = 1_000_000;
const MAX_BYTES: usize = 64 << 20;

/// Parses a single YAML document, which may also be JSON. `file` is the index of the file for
/// marks.
///
/// Fails if the text is not YAML, contains several documents, or exceeds a limit.
pub fn parse(file: usize, text: &str, dialect: Dialect) -> Result<Document, SyntaxError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let joined = surrogates::joined(text);
    let mut builder = Builder::new(file, dialect, &joined);
    let mut parser = Parser::new_from_str(&joined.text);
    while let Some(event) = parser.next_event() {
        let (event, span) = event.map_err(|e| {
            let at = e.marker();
            let mark = Mark {
                file,
                line: at.line().max(1),
                column: joined.column(at.line().max(1), at.col() + 1),
            };
            SyntaxError {
                mark,
                message: format!("this is not valid YAML: {}", e.info()),
            }
        })?;
        if event == Event::StreamEnd {
            break;
        }
        builder.event(event, span)?;
    }
    Ok(Document {
        root: builder.root,
        dates: builder.dates,
    })
}

struct Builder<'a> {
    file: usize,
    joined: &'a Joined<'a>,
    dialect: Dialect,
    documents: usize,
    stack: Vec<Frame>,
    root: Option<Node>,
    anchors: HashMap<usize, (Node, Size)>,
    total: Size,
    dates: Vec<(Mark, String)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
}

struct Frame {
    mark: Mark,
    anchor: usize,
    before: Size,
    content: Content,
}

enum Content {
    List(Vec<Node>),
    Map(MapFrame),
}

#[derive(Default)]
struct MapFrame {
    entries: Vec<Entry>,
    /// For each key, its index in `entries`, and whether it came from a merge and may be
    /// overridden.
    seen: HashMap<String, (usize, bool)>,
    key: Option<MapKey>,
}

enum MapKey {
    Name(String, Mark),
    Merge(Mark),
}

impl<'a> Builder<'a> {
    fn new(file: usize, dialect: Dialect, joined: &'a Joined<'a>) -> Builder<'a> {
        Builder {
            file,
            joined,
            dialect,
            documents: 0,
            stack: Vec::new(),
            root: None,
            anchors: HashMap::new(),
            total: Size::default(),
            dates: Vec::new(),
        }
    }

    fn mark(&self, span: Span) -> Mark {
        Mark {
            file: self.file,
            line: span.start.line().max(1),
            column: self
                .joined
                .column(span.start.line().max(1), span.start.col() + 1),
        }
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), SyntaxError> {
        let mark = self.mark(span);
        match event {
            Event::DocumentStart(_) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(SyntaxError {
                        mark,
                        message: "a second document starts here: a test file may have only one"
                            .into(),
                    });
                }
                Ok(())
            }
            Event::SequenceStart(anchor, tag) => {
                collection_tag(tag.as_deref(), "seq", mark)?;
                self.open(mark, anchor, Content::List(Vec::new()))
            }
            Event::MappingStart(anchor, tag) => {
                collection_tag(tag.as_deref(), "map", mark)?;
                self.open(mark, anchor, Content::Map(MapFrame::default()))
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Scalar(text, style, anchor, tag) => self.scalar(
                Scalar {
                    text: &text,
                    style,
                    tag: tag.as_deref(),
                    span,
                },
                anchor,
            ),
            Event::Alias(id) => {
                let Some((node, size)) = self.anchors.get(&id).cloned() else {
                    return Err(SyntaxError {
                        mark,
                        message: "this alias is inside the value it refers to".into(),
                    });
                };
                self.count(size, mark)?;
                self.add(node, mark)
            }
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => Ok(()),
        }
    }

    fn open(&mut self, mark: Mark, anchor: usize, content: Content) -> Result<(), SyntaxError> {
        if self.stack.len() >= MAX_DEPTH {
            return Err(SyntaxError {
                mark,
                message: format!("nested more than {MAX_DEPTH} levels deep"),
            });
        }
        let before = self.total;
        self.count(Size { nodes: 1, bytes: 0 }, mark)?;
        self.stack.push(Frame {
            mark,
            anchor,
            before,
            content,
        });
        Ok(())
    }

    fn close(&mut self) -> Result<(), SyntaxError> {
        let Some(Frame {
            mark,
            anchor,
            before,
            content,
        }) = self.stack.pop()
        else {
            return Ok(());
        };
        let data = match content {
            Content::List(items) => NodeData::List(items),
            Content::Map(map) => NodeData::Map(map.entries),
        };
        let node = Node {
            mark,
            inset: None,
            data,
        };
        if anchor > 0 {
            let size = Size {
                nodes: self.total.nodes - before.nodes,
                bytes: self.total.bytes - before.bytes,
            };
            self.anchors.insert(anchor, (node.clone(), size));
        }
        self.add(node, mark)
    }

    fn scalar(&mut self, scalar: Scalar<'_>, anchor: usize) -> Result<(), SyntaxError> {
        let mut mark = self.mark(scalar.span);
        let is_key = matches!(self.stack.last(), Some(Frame { content: Content::Map(map), .. }) if map.key.is_none());
        if is_key
            && scalar.style == ScalarStyle::Plain
            && scalar.text == "<<"
            && scalar.tag.is_none()
        {
            if let Some(Frame {
                content: Content::Map(map),
                ..
            }) = self.stack.last_mut()
            {
                map.key = Some(MapKey::Merge(mark));
            }
            return Ok(());
        }
        if let (true, Some(key)) = (
            scalar.is_plain() && scalar.text.is_empty(),
            self.pending_key(),
        ) {
            // If the value is missing, use the position of the key.
            mark = key;
        }
        let value = scalar.resolve(self.dialect, mark)?;
        if self.dialect == Dialect::JsYaml
            && scalar.is_plain()
            && scalar::looks_like_a_date(scalar.text)
        {
            self.dates.push((mark, scalar.text.to_owned()));
        }
        let size = Size {
            nodes: 1,
            bytes: scalar.text.len(),
        };
        self.count(size, mark)?;
        let node = Node {
            mark,
            inset: scalar.inset(),
            data: NodeData::Scalar(value),
        };
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), size));
        }
        self.add(node, mark)
    }

    fn pending_key(&self) -> Option<Mark> {
        match self.stack.last() {
            Some(Frame {
                content: Content::Map(map),
                ..
            }) => map.key.as_ref().map(|key| match key {
                MapKey::Name(_, mark) | MapKey::Merge(mark) => *mark,
            }),
            _ => None,
        }
    }

    fn count(&mut self, size: Size, mark: Mark) -> Result<(), SyntaxError> {
        self.total.nodes += size.nodes;
        self.total.bytes += size.bytes;
        if self.total.nodes > MAX_NODES || self.total.bytes > MAX_BYTES {
            return Err(SyntaxError {
                mark,
                message: "the file is too large after its aliases are expanded".into(),
            });
        }
        Ok(())
    }

    /// Adds a finished node. `mark` is the position at which the node is used. For an alias, it
    /// differs from the position of the definition.
    fn add(&mut self, node: Node, mark: Mark) -> Result<(), SyntaxError> {
        match self.stack.last_mut() {
            None => self.root = Some(node),
            Some(Frame {
                content: Content::List(items),
                ..
            }) => items.push(node),
            Some(Frame {
                content: Content::Map(map),
                ..
            }) => match map.key.take() {
                None => map.key = Some(key_of(&node, mark)?),
                Some(MapKey::Merge(key_mark)) => map.merge(&node, key_mark)?,
                Some(MapKey::Name(key, key_mark)) => map.insert(key, key_mark, node)?,
            },
        }
        Ok(())
    }
}

fn key_of(node: &Node, mark: Mark) -> Result<MapKey, SyntaxError> {
    match node.as_scalar() {
        Some(key) => Ok(MapKey::Name(value::text(Some(key)), mark)),
        None => Err(SyntaxError {
            mark,
            message: format!("a key must be text, not {}", node.kind()),
        }),
    }
}

impl MapFrame {
    fn insert(&mut self, key: String, key_mark: Mark, value: Node) -> Result<(), SyntaxError> {
        match self.seen.get_mut(&key) {
            Some((index, merged @ true)) => {
                *merged = false;
                self.entries[*index] = Entry {
                    key,
                    key_mark,
                    value,
                };
            }
            Some((index, false)) => {
                let line = self.entries[*index].key_mark.line;
                let message =
                    format!("`{key}` is defined twice (first on line {line}): remove one");
                return Err(SyntaxError {
                    mark: key_mark,
                    message,
                });
            }
            None => {
                self.seen.insert(key.clone(), (self.entries.len(), false));
                self.entries.push(Entry {
                    key,
                    key_mark,
                    value,
                });
            }
        }
        Ok(())
    }

    /// Handles `<<`: adds missing keys from one or several mappings.
    fn merge(&mut self, source: &Node, mark: Mark) -> Result<(), SyntaxError> {
        match &source.data {
            NodeData::Map(entries) => {
                for entry in entries {
                    if !self.seen.contains_key(&entry.key) {
                        self.seen
                            .insert(entry.key.clone(), (self.entries.len(), true));
                        self.entries.push(entry.clone());
                    }
                }
                Ok(())
            }
            NodeData::List(items) if items.iter().all(Node::is_map) => {
                items.iter().try_for_each(|item| self.merge(item, mark))
            }
            _ => Err(SyntaxError {
                mark,
                message: format!(
                    "`<<` merges a mapping or a list of them, not {}",
                    source.kind()
                ),
            }),
        }
    }
}
