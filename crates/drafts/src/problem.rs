//! Problems that sources of every format can have.

use formats::{
    LoadErrors,
    document::{Mark, Node, NodeData},
};
use plan::{At, Problem};

use crate::placeholders;

pub const NO_TEXT: &str = "U+FDD0 and U+FDD1 are not text: remove them";

pub fn foreign(node: &Node) -> Option<Mark> {
    match &node.data {
        NodeData::Scalar(value) => value
            .as_str()
            .filter(|text| placeholders::is_foreign(text))
            .map(|_| node.mark),
        NodeData::List(items) => items.iter().find_map(foreign),
        NodeData::Map(entries) => entries.iter().find_map(|entry| {
            if placeholders::is_foreign(&entry.key) {
                Some(entry.key_mark)
            } else {
                foreign(&entry.value)
            }
        }),
    }
}

pub fn problem(name: &str, mark: Mark, message: String) -> LoadErrors {
    let at = At {
        file: name.to_owned(),
        line: mark.line,
        column: mark.column,
    };
    LoadErrors::from(Problem {
        at: Some(at),
        message,
    })
}
