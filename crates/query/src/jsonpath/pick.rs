//! Extracts the results of simple paths from JSON text in one pass, without building the document.
//! The results are equal to those of [`JsonPath::find`]. The rest of the text is only checked to be
//! valid JSON.

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{JsonPath, PathSegment, trace};
use crate::path::canonical_index;

pub const MOST: usize = 8;

/// Returns the result of each path in the JSON text of a list or mapping. `None` if the text is
/// anything else.
///
/// Paths after the first [`MOST`] have no result.
#[must_use]
pub fn pick<'p>(
    text: &str,
    paths: impl Iterator<Item = &'p JsonPath>,
) -> Option<[Option<Value>; MOST]> {
    let mut patterns: [&[PathSegment]; MOST] = [&[]; MOST];
    let mut these = 0;
    for (number, path) in paths.take(MOST).enumerate() {
        patterns[number] = &path.segments;
        these |= 1 << number;
    }
    let mut found = [const { None }; MOST];
    let mut json = serde_json::Deserializer::from_str(text);
    let walk = Walk {
        patterns: &patterns,
        at: 0,
        these,
        found: &mut found,
    };
    let has_parts = walk.deserialize(&mut json).ok()?;
    json.end().ok()?;
    has_parts.then_some(found)
}

impl JsonPath {
    #[must_use]
    pub fn is_plain(&self) -> bool {
        let is_child = |segment: &PathSegment| matches!(segment, PathSegment::Child(_));
        !self.segments.is_empty() && self.segments.iter().all(is_child)
    }
}

type Some8 = u8;

struct Walk<'w> {
    patterns: &'w [&'w [PathSegment]; MOST],
    at: usize,
    these: Some8,
    found: &'w mut [Option<Value>; MOST],
}

impl Walk<'_> {
    fn each(&self) -> impl Iterator<Item = usize> + use<> {
        let these = self.these;
        (0..MOST).filter(move |remaining| these & 1 << remaining != 0)
    }

    fn next(&self, remaining: usize) -> Option<&str> {
        match self.patterns[remaining].get(self.at) {
            Some(PathSegment::Child(name)) => Some(name),
            _ => None,
        }
    }

    fn by(&self, name: &str) -> Some8 {
        let each = self
            .each()
            .filter(|remaining| self.next(*remaining) == Some(name));
        each.fold(0, |these, remaining| these | 1 << remaining)
    }

    /// Advances the given paths by one step. Drops their earlier results, because the last of
    /// several duplicate properties counts.
    fn further(&mut self, these: Some8) -> Walk<'_> {
        for remaining in (0..MOST).filter(|remaining| these & 1 << remaining != 0) {
            self.found[remaining] = None;
        }
        Walk {
            patterns: self.patterns,
            at: self.at + 1,
            these,
            found: self.found,
        }
    }

    fn end_in(&mut self, value: &Value) {
        for remaining in self.each() {
            let rest = self.patterns[remaining].get(self.at..).unwrap_or_default();
            let hits = trace::find(rest, value);
            self.found[remaining] = hits.into_iter().next().map(|hit| hit.value.into_owned());
        }
    }
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(mut self, json: D) -> Result<bool, D::Error> {
        if self.each().all(|remaining| self.next(remaining).is_some()) {
            return json.deserialize_any(self);
        }
        let value: Value = serde::Deserialize::deserialize(json)?;
        let has_parts = value.is_object() || value.is_array();
        match self.these.count_ones() {
            1 => self.found[self.these.trailing_zeros() as usize] = Some(value),
            _ => self.end_in(&value),
        }
        Ok(has_parts)
    }
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<bool, A::Error> {
        while let Some(these) = map.next_key_seed(Key(&self))? {
            if these == 0 {
                map.next_value::<IgnoredAny>()?;
            } else {
                map.next_value_seed(self.further(these))?;
            }
        }
        Ok(true)
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<bool, A::Error> {
        let mut wanted = [None; MOST];
        for remaining in self.each() {
            wanted[remaining] = self.next(remaining).and_then(canonical_index);
        }
        let mut items = 0;
        loop {
            let here = self
                .each()
                .filter(|remaining| wanted[*remaining] == Some(items));
            let these = here.fold(0, |these, remaining| these | 1 << remaining);
            let is_one = if these == 0 {
                list.next_element::<IgnoredAny>()?.is_some()
            } else {
                list.next_element_seed(self.further(these))?.is_some()
            };
            if !is_one {
                break;
            }
            items += 1;
        }
        for remaining in self.each() {
            let is_last = self.patterns[remaining].len() == self.at + 1;
            if is_last && self.next(remaining) == Some("length") {
                self.found[remaining] = Some(items.into());
            }
        }
        Ok(true)
    }

    fn visit_str<E>(mut self, text: &str) -> Result<bool, E> {
        self.end_in(&text.into());
        Ok(false)
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(false)
    }
}

struct Key<'k, 'w>(&'k Walk<'w>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = Some8;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Some8, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = Some8;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E>(self, name: &str) -> Result<Some8, E> {
        Ok(self.0.by(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn same(text: &str, paths: &[&str]) {
        let paths: Vec<JsonPath> = paths.iter().map(|p| JsonPath::parse(p).unwrap()).collect();
        assert!(paths.iter().all(JsonPath::is_plain));
        let paths: Vec<&JsonPath> = paths.iter().collect();
        let document = serde_json::from_str::<Value>(text).ok();
        let document = document.filter(|document| document.is_object() || document.is_array());
        let wanted = document.as_ref().map(|document| {
            let mut all = Vec::new();
            for path in &paths {
                let first = path.find(document).into_iter().next();
                all.push(first.map(std::borrow::Cow::into_owned));
            }
            all
        });
        let found = pick(text, paths.iter().copied()).map(|found| found[..paths.len()].to_vec());
        assert_eq!(found, wanted, "{text}");
    }

    #[test]
    fn values_are_extracted_from_text() {
        let text = r#" {"id":"p1","n":[{"f":"x"},{"f":2.5}],"o":{"id":null,"o":{"id":[1,2]}},"s":"hé\"y","id2":1e3}"#;
        same(text, &["$.id"]);
        same(
            text,
            &[
                "$.id",
                "$.n[0].f",
                "$.n[1].f",
                "$.n.length",
                "$.n[2]",
                "$.o.id",
                "$.o.o",
                "$.o.o.id[1]",
            ],
        );
        same(
            text,
            &[
                "$.o",
                "$.o.o.id",
                "$.s.length",
                "$.s[1]",
                "$.id.x",
                "$.id2.x",
                "$.n.f",
                "$.n.length.x",
            ],
        );
        same("[[1,[2]]]", &["$[0][1][0]", "$[0].length", "$.x", "$[1]"]);
        same(r#"{"a":1,"a":{"b":2},"b":3}"#, &["$.a", "$.a.b", "$['b']"]);
        same(r#"{"a":{"b":2},"a":1}"#, &["$.a", "$.a.b"]);
        for text in [
            "",
            "1",
            "\"id\"",
            "null",
            "{",
            "{\"id\":1}x",
            "{\"id\":}",
            "[1,]",
            "{\"x\":tru,\"id\":1}",
        ] {
            same(text, &["$.id", "$[0]"]);
        }
    }

    fn document() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f32>().prop_map(|n| json!(n)),
            "[a-c0é\"\\\\]{0,3}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 24, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::vec(("[abl01]|length", inner), 0..4)
                    .prop_map(|pairs| Value::Object(pairs.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn extraction_matches_find_for_any_document(
            document in document(),
            paths in proptest::collection::vec(proptest::collection::vec("[abl01]|length", 1..4), 1..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let paths: Vec<String> = paths.iter().map(|names| format!("$['{}']", names.join("']['"))).collect();
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let text = document.to_string();
            same(&text, &paths);
            let cut = cut.index(text.len() + 1);
            if text.is_char_boundary(cut) {
                same(&text[..cut], &paths);
            }
        }
    }
}
