//! CSS selectors: types, ids, classes, attributes, combinators, structural pseudo-classes, `:not`,
//! `:contains`, and jQuery's `:first`, `:last` and `:eq` at the end.

mod parse;

use serde_json::{Map, Value};

use super::{NodeId, ROOT, Tree};
use crate::Misread;

#[derive(Debug, Clone, PartialEq)]
pub struct Selector {
    alternatives: Vec<Complex>,
}

#[derive(Debug, Clone, PartialEq)]
struct Complex {
    /// Compound selectors, each with its preceding combinator. The first combinator is always
    /// [`Combinator::Descendant`].
    compounds: Vec<(Combinator, Vec<Simple>)>,
    pick: Option<Pick>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Combinator {
    Descendant,
    Child,
    Next,
    Later,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pick {
    At(i64),
}

#[derive(Debug, Clone, PartialEq)]
enum Simple {
    Any,
    Type(String),
    Attribute {
        name: String,
        test: AttributeTest,
        value: String,
        any_case: bool,
    },
    /// Position a·n + b among siblings, optionally counted from the end, or only among siblings of
    /// the same type.
    Nth {
        a: i64,
        b: i64,
        from_end: bool,
        of_type: bool,
    },
    Only {
        of_type: bool,
    },
    Empty,
    Contains(String),
    Not(Vec<Simple>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AttributeTest {
    Exists,
    Equals,
    Word,
    Dash,
    Starts,
    Ends,
    Holds,
}

impl Selector {
    pub fn parse(text: &str) -> Result<Selector, Misread> {
        parse::parse(text).map(|alternatives| Selector { alternatives })
    }

    /// Returns the attribute of every matching element in document order. `None` stands for an
    /// element without the attribute. Without a name, returns all attributes as a mapping.
    #[must_use]
    pub fn find(&self, tree: &Tree, attribute: Option<&str>) -> Vec<Option<Value>> {
        let found = self.elements(tree).into_iter();
        let value = |id: NodeId| match attribute {
            Some(name) => tree.attribute(id, name).map(Value::from),
            None => {
                let all = tree.attributes(id).iter();
                let all = all.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
                Some(Value::Object(all.collect::<Map<_, _>>()))
            }
        };
        found.map(value).collect()
    }

    /// Returns every matching element in document order.
    #[must_use]
    pub fn elements(&self, tree: &Tree) -> Vec<NodeId> {
        let all = tree.below(ROOT);
        let all: Vec<NodeId> = all
            .into_iter()
            .filter(|id| tree.name(*id).is_some())
            .collect();
        let mut matching = vec![false; tree.nodes.len()];
        for complex in &self.alternatives {
            let fitting = all.iter().copied().filter(|id| complex.matches(tree, *id));
            let fitting: Vec<NodeId> = fitting.collect();
            match complex.pick {
                None => fitting.iter().for_each(|id| matching[*id] = true),
                Some(Pick::At(index)) => {
                    let index = if index < 0 {
                        index + fitting.len() as i64
                    } else {
                        index
                    };
                    if let Some(id) = usize::try_from(index).ok().and_then(|i| fitting.get(i)) {
                        matching[*id] = true;
                    }
                }
            }
        }
        all.into_iter().filter(|id| matching[*id]).collect()
    }
}

impl Complex {
    fn matches(&self, tree: &Tree, id: NodeId) -> bool {
        self.matches_up_to(tree, id, self.compounds.len())
    }

    fn matches_up_to(&self, tree: &Tree, id: NodeId, count: usize) -> bool {
        let Some((combinator, simples)) = count.checked_sub(1).map(|last| &self.compounds[last])
        else {
            return true;
        };
        if !fits(tree, id, simples) {
            return false;
        }
        if count == 1 {
            return true;
        }
        let before = |id| self.matches_up_to(tree, id, count - 1);
        match combinator {
            Combinator::Child => tree.parent(id).is_some_and(before),
            Combinator::Descendant => {
                let mut above = tree.parent(id);
                while let Some(id) = above {
                    if before(id) {
                        return true;
                    }
                    above = tree.parent(id);
                }
                false
            }
            Combinator::Next | Combinator::Later => {
                let siblings = tree.siblings(id);
                let at = siblings.iter().position(|other| *other == id).unwrap_or(0);
                let mut earlier = siblings[..at].iter().rev();
                match combinator {
                    Combinator::Next => earlier.next().is_some_and(|id| before(*id)),
                    _ => earlier.any(|id| before(*id)),
                }
            }
        }
    }
}

fn fits(tree: &Tree, id: NodeId, simples: &[Simple]) -> bool {
    let Some(name) = tree.name(id) else {
        return false;
    };
    simples.iter().all(|simple| match simple {
        Simple::Any => true,
        Simple::Type(wanted) => name.eq_ignore_ascii_case(wanted),
        Simple::Attribute {
            name,
            test,
            value,
            any_case,
        } => tree
            .attribute(id, name)
            .is_some_and(|has| passes(has, *test, value, *any_case)),
        Simple::Nth {
            a,
            b,
            from_end,
            of_type,
        } => {
            let place = place(tree, id, *from_end, *of_type);
            let steps = place - b;
            if *a == 0 {
                steps == 0
            } else {
                steps % a == 0 && steps / a >= 0
            }
        }
        Simple::Only { of_type } => {
            place(tree, id, false, *of_type) == 1 && place(tree, id, true, *of_type) == 1
        }
        Simple::Empty => tree.children(id).is_empty(),
        Simple::Contains(text) => tree.text(id).contains(text),
        Simple::Not(inner) => !fits(tree, id, inner),
    })
}

fn place(tree: &Tree, id: NodeId, from_end: bool, of_type: bool) -> i64 {
    let mut siblings = tree.siblings(id);
    if of_type {
        siblings.retain(|other| tree.name(*other) == tree.name(id));
    }
    if from_end {
        siblings.reverse();
    }
    siblings
        .iter()
        .position(|other| *other == id)
        .map_or(0, |at| at as i64 + 1)
}

fn passes(has: &str, test: AttributeTest, value: &str, any_case: bool) -> bool {
    let (has, value) = if any_case {
        (has.to_lowercase(), value.to_lowercase())
    } else {
        (has.to_owned(), value.to_owned())
    };
    match test {
        AttributeTest::Exists => true,
        AttributeTest::Equals => has == value,
        AttributeTest::Word => has.split_whitespace().any(|word| word == value),
        AttributeTest::Dash => {
            has == value
                || has
                    .strip_prefix(&value)
                    .is_some_and(|rest| rest.starts_with('-'))
        }
        AttributeTest::Starts => !value.is_empty() && has.starts_with(&value),
        AttributeTest::Ends => !value.is_empty() && has.ends_with(&value),
        AttributeTest::Holds => !value.is_empty() && has.contains(&value),
    }
}

#[cfg(test)]
mod tests;
