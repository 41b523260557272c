//! First pass of templates: expands `config` once before the run.
//!
//! Variables of virtual users are undefined in this pass.

use plan::{
    Template,
    rng::{Purpose, Rng},
    template::Piece,
};
use query::{path::Path, value};
use serde_json::{Map, Value};

use formats::{
    document::{Entry, Node, NodeData},
    findings::Findings,
};

pub(super) struct KnownValues {
    variables: Map<String, Value>,
    rng: Rng,
}

impl KnownValues {
    pub fn new(variables: Map<String, Value>, test_id: &str) -> KnownValues {
        let seed = test_id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            });
        KnownValues {
            variables,
            rng: Rng::keyed(seed, Purpose::Variable, 0, 0),
        }
    }

    fn knows(&self, path: &Path) -> bool {
        self.variables.contains_key(path.root()) || self.variables.contains_key(path.text())
    }
}

pub(super) fn config(config: &Node, known: &mut KnownValues, findings: &mut Findings) -> Node {
    let mut pass = FirstPass { known, findings };
    pass.node(config, ExpandScope::Config)
        .unwrap_or_else(|| config.clone())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ExpandScope {
    Config,
    Defaults,
    /// Default headers and cookies. Their unknown values stay templates.
    Kept,
    Left,
}

impl ExpandScope {
    fn below(self, key: &str) -> ExpandScope {
        match (self, key) {
            (ExpandScope::Config, "environments") => ExpandScope::Left,
            (ExpandScope::Config, "defaults") => ExpandScope::Defaults,
            (ExpandScope::Defaults, "headers" | "cookie") => ExpandScope::Kept,
            (place, _) => place,
        }
    }
}

struct FirstPass<'a> {
    known: &'a mut KnownValues,
    findings: &'a mut Findings,
}

impl FirstPass<'_> {
    fn node(&mut self, node: &Node, place: ExpandScope) -> Option<Node> {
        let data = match &node.data {
            _ if place == ExpandScope::Left => node.data.clone(),
            NodeData::Scalar(Value::String(text)) if text.contains("{{") => {
                let value = self.text(text, node, place)?;
                return Some(Node {
                    inset: None,
                    ..Node::from_value(node.mark, value)
                });
            }
            NodeData::Scalar(value) => NodeData::Scalar(value.clone()),
            NodeData::List(items) => {
                let item = |item: &Node| {
                    self.node(item, place)
                        .unwrap_or_else(|| Node::scalar(item.mark, Value::Null))
                };
                NodeData::List(items.iter().map(item).collect())
            }
            NodeData::Map(entries) => {
                let entry = |entry: &Entry| {
                    let key = self.key(entry);
                    let value = self.node(&entry.value, place.below(&key))?;
                    Some(Entry {
                        key,
                        key_mark: entry.key_mark,
                        value,
                    })
                };
                NodeData::Map(entries.iter().filter_map(entry).collect())
            }
        };
        Some(Node {
            mark: node.mark,
            inset: node.inset,
            data,
        })
    }

    fn key(&mut self, entry: &Entry) -> String {
        if !entry.key.contains("{{") {
            return entry.key.clone();
        }
        let key = Node::scalar(entry.key_mark, entry.key.clone());
        value::text(self.text(&entry.key, &key, ExpandScope::Config).as_ref())
    }

    fn text(&mut self, text: &str, node: &Node, place: ExpandScope) -> Option<Value> {
        let template = match Template::parse_text(text) {
            Ok(template) => template,
            Err(error) => {
                self.findings
                    .problem(node.mark_at(error.offset), error.message);
                return None;
            }
        };
        if let Some(fakery) = template.made_up() {
            let text = format!(
                "${fakery:?}() is not available when Artillery reads `config`: use it in `scenarios`"
            );
            self.findings.problem(node.mark, text);
            return None;
        }
        let unknown = template.variables().filter(|path| !self.known.knows(path));
        let unknown: Vec<String> = unknown
            .map(|path| format!("{{{{ {} }}}}", path.text()))
            .collect();
        if !unknown.is_empty() {
            match &template {
                Template::Variable(_) if place == ExpandScope::Kept => return Some(text.into()),
                Template::Text(pieces) if place == ExpandScope::Kept => return Some(self.half_expanded(pieces).into()),
                _ => self.findings.note(
                    node.mark,
                    format!(
                        "{} is not available when Artillery reads `config`, so it is undefined for the whole run: use it in `scenarios`",
                        unknown.join(", ")
                    ),
                ),
            }
        }
        template.eval(&self.known.variables, &mut self.known.rng)
    }

    fn half_expanded(&mut self, pieces: &[Piece]) -> String {
        let mut out = String::new();
        for piece in pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                // This pass refuses a script's functions, and the built-in functions exist.
                Piece::Call(function) => {
                    let _ = function.write(&self.known.variables, &mut self.known.rng, &mut out);
                }
                Piece::Variable(path) if self.known.knows(path) => {
                    value::write_text(path.get(&self.known.variables).as_deref(), &mut out);
                }
                Piece::Variable(path) => out.push_str(&format!("{{{{ {} }}}}", path.text())),
            }
        }
        out
    }
}
