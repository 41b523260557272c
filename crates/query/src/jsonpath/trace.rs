//! Evaluation of a path. Keeps ancestors on the stack for `^`, `~` and `@parent`. Limits the number
//! of steps and the depth.

use std::borrow::Cow;

use serde_json::Value;

use super::{JsonMatch, PathSegment};
use crate::path::canonical_index;

/// Maximum number of values that a search visits. A search that exceeds it has no result.
const MAX_STEPS: usize = 1_000_000;
const MAX_DEPTH: usize = 160;

pub(super) struct Hit<'a> {
    pub value: JsonMatch<'a>,
    pub one_of_many: bool,
}

pub(super) struct TracedValue<'a, 'p> {
    pub value: JsonMatch<'a>,
    pub parent: Option<&'p TracedValue<'a, 'p>>,
    name: Option<Name<'a>>,
    root: &'a Value,
    many: bool,
}

enum Name<'a> {
    Key(Cow<'a, str>),
    Index(usize),
}

impl<'a> TracedValue<'a, '_> {
    pub fn root(&self) -> &'a Value {
        self.root
    }

    pub fn name_value(&self) -> Option<Value> {
        self.name.as_ref().map(|name| match name {
            Name::Key(key) => key.as_ref().into(),
            Name::Index(index) => (*index).into(),
        })
    }
}

pub(super) fn find<'a>(segments: &'a [PathSegment], document: &'a Value) -> Vec<Hit<'a>> {
    let root = TracedValue {
        value: Cow::Borrowed(document),
        parent: None,
        name: None,
        root: document,
        many: false,
    };
    let mut search = Search {
        hits: Vec::new(),
        steps: 0,
    };
    search.follow(
        RemainingPath {
            rest: segments,
            many: false,
            depth: 0,
        },
        &root,
    );
    if search.steps > MAX_STEPS {
        Vec::new()
    } else {
        search.hits
    }
}

struct Search<'a> {
    hits: Vec<Hit<'a>>,
    steps: usize,
}

#[derive(Clone, Copy)]
struct RemainingPath<'a> {
    rest: &'a [PathSegment],
    many: bool,
    depth: usize,
}

impl RemainingPath<'_> {
    fn among_many(self) -> Self {
        RemainingPath { many: true, ..self }
    }
}

impl<'a> Search<'a> {
    fn follow(&mut self, remaining: RemainingPath<'a>, place: &TracedValue<'a, '_>) {
        self.steps += 1;
        if self.steps > MAX_STEPS || remaining.depth > MAX_DEPTH {
            return;
        }
        match remaining.rest {
            [] => self.hits.push(Hit {
                value: place.value.clone(),
                one_of_many: remaining.many,
            }),
            [first, rest @ ..] => self.segment(
                first,
                RemainingPath {
                    rest,
                    depth: remaining.depth + 1,
                    ..remaining
                },
                place,
            ),
        }
    }

    fn segment(
        &mut self,
        segment: &'a PathSegment,
        remaining: RemainingPath<'a>,
        place: &TracedValue<'a, '_>,
    ) {
        match segment {
            PathSegment::Child(name) => {
                self.child(name, Name::Key(Cow::Borrowed(name)), remaining, place)
            }
            PathSegment::All => self.children(remaining.among_many(), place, |search, child| {
                search.follow(remaining.among_many(), child)
            }),
            PathSegment::Descend => self.descend(remaining, place),
            PathSegment::Parent => {
                if let Some(parent) = place.parent {
                    self.follow(
                        RemainingPath {
                            many: parent.many,
                            ..remaining
                        },
                        parent,
                    );
                }
            }
            PathSegment::Name => {
                let name = place.name_value().unwrap_or(Value::Null);
                self.hits.push(Hit {
                    value: Cow::Owned(name),
                    one_of_many: remaining.many,
                });
            }
            PathSegment::Slice { start, end, step } => {
                if let Value::Array(items) = place.value.as_ref() {
                    let len = items.len() as i64;
                    let bound = |at: i64| if at < 0 { at.saturating_add(len).max(0) } else { at.min(len) } as usize;
                    for index in (bound(*start)..bound(end.unwrap_or(len))).step_by(*step) {
                        self.child(
                            &index.to_string(),
                            Name::Index(index),
                            remaining.among_many(),
                            place,
                        );
                    }
                }
            }
            PathSegment::Union(members) => members
                .iter()
                .for_each(|member| self.segment(member, remaining.among_many(), place)),
            PathSegment::Filter(expression) => {
                self.children(remaining.among_many(), place, |search, child| {
                    if expression.holds(child) {
                        search.follow(remaining.among_many(), child);
                    }
                })
            }
            PathSegment::Computed(expression) => {
                if let Some(name) = expression.eval(place) {
                    let text = crate::value::text(Some(&name));
                    self.child(&text, Name::Key(Cow::Owned(text.clone())), remaining, place);
                }
            }
        }
    }

    /// Evaluates `..`: continues with this value, and with every nested list and mapping.
    fn descend(&mut self, remaining: RemainingPath<'a>, place: &TracedValue<'a, '_>) {
        self.follow(remaining, place);
        let below = RemainingPath {
            depth: remaining.depth + 1,
            ..remaining.among_many()
        };
        if self.steps > MAX_STEPS || below.depth > MAX_DEPTH {
            return;
        }
        self.children(below, place, |search, child| {
            if matches!(child.value.as_ref(), Value::Array(_) | Value::Object(_)) {
                search.descend(below, child);
            }
        });
    }

    fn child(
        &mut self,
        name: &str,
        as_name: Name<'a>,
        remaining: RemainingPath<'a>,
        place: &TracedValue<'a, '_>,
    ) {
        if let Some(value) = child(&place.value, name) {
            let child = TracedValue {
                value,
                parent: Some(place),
                name: Some(as_name),
                root: place.root,
                many: remaining.many,
            };
            self.follow(remaining, &child);
        }
    }

    fn children(
        &mut self,
        remaining: RemainingPath<'a>,
        place: &TracedValue<'a, '_>,
        mut visit: impl FnMut(&mut Self, &TracedValue<'a, '_>),
    ) {
        let Cow::Borrowed(value) = place.value else {
            return;
        };
        let mut see = |search: &mut Self, name: Name<'a>, value: &'a Value| {
            let value = Cow::Borrowed(value);
            visit(
                search,
                &TracedValue {
                    value,
                    parent: Some(place),
                    name: Some(name),
                    root: place.root,
                    many: remaining.many,
                },
            );
        };
        match value {
            Value::Array(items) => items
                .iter()
                .enumerate()
                .for_each(|(i, item)| see(self, Name::Index(i), item)),
            Value::Object(map) => map
                .iter()
                .for_each(|(key, item)| see(self, Name::Key(Cow::Borrowed(key.as_str())), item)),
            _ => {}
        }
    }
}

pub(super) fn child<'a>(value: &JsonMatch<'a>, name: &str) -> Option<JsonMatch<'a>> {
    match value {
        Cow::Borrowed(value) => match value {
            Value::Object(map) => map.get(name).map(Cow::Borrowed),
            Value::Array(items) if name == "length" => Some(Cow::Owned(items.len().into())),
            Value::Array(items) => items.get(canonical_index(name)?).map(Cow::Borrowed),
            Value::String(text) => of_text(text, name),
            _ => None,
        },
        Cow::Owned(Value::String(text)) => of_text(text, name),
        Cow::Owned(_) => None,
    }
}

fn of_text<'a>(text: &str, name: &str) -> Option<JsonMatch<'a>> {
    match name {
        "length" => Some(Cow::Owned(text.encode_utf16().count().into())),
        _ => text
            .chars()
            .nth(canonical_index(name)?)
            .map(|c| Cow::Owned(c.to_string().into())),
    }
}
