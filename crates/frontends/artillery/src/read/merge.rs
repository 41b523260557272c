//! Merges like lodash's `merge`: maps by key, and lists by index. Other values are replaced.

use formats::document::{Entry, Node, NodeData};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lists {
    ByIndex,
    Replaced,
}

pub(super) fn merge(lower: &mut Node, upper: &Node, lists: Lists) {
    match (&mut lower.data, &upper.data) {
        (NodeData::Map(entries), NodeData::Map(upper)) => {
            for entry in upper {
                match entries.iter_mut().find(|known| known.key == entry.key) {
                    Some(known) => {
                        merge(&mut known.value, &entry.value, lists);
                        known.key_mark = entry.key_mark;
                    }
                    None => entries.push(entry.clone()),
                }
            }
        }
        (NodeData::List(items), NodeData::List(upper)) if lists == Lists::ByIndex => {
            for (i, item) in upper.iter().enumerate() {
                match items.get_mut(i) {
                    Some(known) => merge(known, item, lists),
                    None => items.push(item.clone()),
                }
            }
        }
        // A map that is merged over a list uses its keys as indexes.
        (NodeData::List(items), NodeData::Map(upper)) => merge_numbered(items, upper, lists),
        _ => *lower = upper.clone(),
    }
}

fn merge_numbered(items: &mut Vec<Node>, upper: &[Entry], lists: Lists) {
    for entry in upper {
        match entry.key.parse::<usize>() {
            Ok(i) if i < items.len() => merge(&mut items[i], &entry.value, lists),
            Ok(i) if i == items.len() => items.push(entry.value.clone()),
            // Artillery never reads the named properties of a list.
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use formats::document::{Dialect, parse};
    use serde_json::{Value, json};

    fn merged(lower: &str, upper: &str, lists: Lists) -> Value {
        let node = |text| parse(0, text, Dialect::JsYaml).unwrap().root.unwrap();
        let mut lower = node(lower);
        merge(&mut lower, &node(upper), lists);
        lower.to_value()
    }

    #[test]
    fn as_lodash_merges() {
        let by_index = |lower, upper| merged(lower, upper, Lists::ByIndex);
        assert_eq!(
            by_index("{a: {b: 1, c: 2}}", "{a: {c: 3}, d: 4}"),
            json!({"a": {"b": 1, "c": 3}, "d": 4})
        );
        assert_eq!(
            by_index("{p: [{a: 1}, {b: 2}, 3]}", "{p: [{c: 4}]}"),
            json!({"p": [{"a": 1, "c": 4}, {"b": 2}, 3]})
        );
        assert_eq!(
            by_index("{p: [1]}", "{p: {'0': 5, '1': 6, x: 7}}"),
            json!({"p": [5, 6]})
        );
        assert_eq!(by_index("{p: {a: 1}}", "{p: [5]}"), json!({"p": [5]}));
        assert_eq!(by_index("{p: {a: 1}}", "{p: null}"), json!({"p": null}));
        assert_eq!(by_index("{p: x}", "{p: {a: 1}}"), json!({"p": {"a": 1}}));
        assert_eq!(
            merged("{p: [{a: 1}, 2]}", "{p: [{c: 4}]}", Lists::Replaced),
            json!({"p": [{"c": 4}]})
        );
    }
}
