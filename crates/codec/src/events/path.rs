//! JSON paths to a single value, such as `$.choices[0].text`.

use super::json::{Json, NotJson, Text};

/// A path of names and indices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonPath {
    steps: Vec<PathStep>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum PathStep {
    Name(Vec<u8>),
    Index(usize),
}

/// The error for a text that is not a path of names and indices, such as `$.choices[0].text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathError;

impl JsonPath {
    /// Parses a path. `$` alone stands for the whole value.
    pub fn parse(text: &str) -> Result<JsonPath, PathError> {
        let mut rest = text.strip_prefix('$').ok_or(PathError)?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix('.') {
                let end = after.find(['.', '[']).unwrap_or(after.len());
                let (name, after) = after.split_at(end);
                let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
                if name.is_empty() || !name.chars().all(is_plain) {
                    return Err(PathError);
                }
                steps.push(PathStep::Name(name.as_bytes().to_vec()));
                rest = after;
            } else {
                let inside = rest.strip_prefix('[').ok_or(PathError)?;
                let (index, after) = inside.split_once(']').ok_or(PathError)?;
                steps.push(PathStep::Index(index.parse().map_err(|_| PathError)?));
                rest = after;
            }
        }
        Ok(JsonPath { steps })
    }

    /// Returns the value at the path. `None` if the value is missing or empty, or if the text is
    /// not JSON.
    #[must_use]
    pub fn find<'a>(&self, json: &'a [u8]) -> Option<Text<'a>> {
        self.text(json).ok().flatten()
    }

    /// Returns the value at the path. `None` means that the value is missing or empty. Fails if any
    /// part of the text is not JSON.
    pub(super) fn text<'a>(&self, json: &'a [u8]) -> Result<Option<Text<'a>>, NotJson> {
        let mut found = None;
        self.visit(json, |value| {
            found = value.text()?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the integer at the path. Fails if any part of the text is not JSON.
    pub(super) fn unsigned(&self, json: &[u8]) -> Result<Option<u64>, NotJson> {
        let mut found = None;
        self.visit(json, |value| {
            found = value.unsigned()?;
            Ok(())
        })?;
        Ok(found)
    }

    fn visit<'a>(
        &self,
        json: &'a [u8],
        mut on_value: impl FnMut(&mut Json<'a>) -> Result<(), NotJson>,
    ) -> Result<(), NotJson> {
        let mut json = Json::new(json);
        descend(&self.steps, &mut json, &mut on_value)?;
        json.finish()
    }
}

/// Returns the unsigned integers at several paths. They may be numbers or strings of digits.
///
/// Reads the text once, up to the last of the values, and builds no tree. `None` means that a value
/// is missing or not an unsigned integer. A path that continues inside the value of another path
/// finds nothing.
#[must_use]
pub fn find_integers<const N: usize>(paths: &[JsonPath; N], json: &[u8]) -> [Option<u64>; N] {
    let mut search = IntegerSearch {
        found: [None; N],
        missing: N,
    };
    // An error means that the rest of the text is not needed, or is not JSON.
    let _ = search.descend(
        paths.each_ref().map(|path| Some(&path.steps[..])),
        &mut Json::new(json),
    );
    search.found
}

/// The remaining part of each path that leads to the current value. `None` for paths that lead
/// elsewhere.
type Rests<'p, const N: usize> = [Option<&'p [PathStep]>; N];

struct IntegerSearch<const N: usize> {
    found: [Option<u64>; N],
    missing: usize,
}

impl<const N: usize> IntegerSearch<N> {
    fn descend(&mut self, rests: Rests<'_, N>, json: &mut Json<'_>) -> Result<(), NotJson> {
        if rests.iter().flatten().next().is_none() {
            return json.skip();
        }
        if rests.iter().flatten().any(|rest| rest.is_empty()) {
            let value = json.integer()?;
            let ends = rests.map(|rest| rest.is_some_and(<[PathStep]>::is_empty));
            for (found, _) in self.found.iter_mut().zip(ends).filter(|(_, ends)| *ends) {
                if found.is_none() && value.is_some() {
                    *found = value;
                    self.missing -= 1;
                }
            }
            return if self.missing == 0 {
                Err(NotJson)
            } else {
                Ok(())
            };
        }
        match json.peek() {
            Some(b'{') => json.object(|member, json| {
                let within = |step: &PathStep| matches!(step, PathStep::Name(n) if n == member);
                self.descend(enter(rests, within), json)
            }),
            Some(b'[') => json.array(|at, json| {
                let within = |step: &PathStep| matches!(step, PathStep::Index(i) if *i == at);
                self.descend(enter(rests, within), json)
            }),
            _ => json.skip(),
        }
    }
}

fn enter<const N: usize>(rests: Rests<'_, N>, within: impl Fn(&PathStep) -> bool) -> Rests<'_, N> {
    rests.map(|rest| {
        let (first, rest) = rest?.split_first()?;
        within(first).then_some(rest)
    })
}

fn descend<'a>(
    steps: &[PathStep],
    json: &mut Json<'a>,
    on_value: &mut dyn FnMut(&mut Json<'a>) -> Result<(), NotJson>,
) -> Result<(), NotJson> {
    match steps.split_first() {
        None => on_value(json),
        Some((PathStep::Name(name), rest)) => json.object(|member, json| {
            if member == name {
                descend(rest, json, on_value)
            } else {
                json.skip()
            }
        }),
        Some((PathStep::Index(index), rest)) => json.array(|at, json| {
            if at == *index {
                descend(rest, json, on_value)
            } else {
                json.skip()
            }
        }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn paths(texts: [&str; 3]) -> [JsonPath; 3] {
        texts.map(|text| JsonPath::parse(text).unwrap())
    }

    #[test]
    fn integers_are_found_wherever_they_are() {
        let usual = paths(["$.sent", "$.data.from", "$.list[1]"]);
        let find = |json: &str| find_integers(&usual, json.as_bytes());
        let all = [Some(1), Some(2), Some(3)];
        assert_eq!(find(r#"{"sent":1,"data":{"from":"2"},"list":[0,3]}"#), all);
        assert_eq!(
            find(r#"{ "list" : [ {"a":[]}, 3 ], "data":{"x":"\"","from":2}, "sent": 1 }"#),
            all
        );
        assert_eq!(
            find(r#"{"sent":-1,"data":{"from":1.5},"list":[0]}"#),
            [None; 3]
        );
        assert_eq!(find("[]"), [None; 3]);
        assert_eq!(find(r#"{"sent":1,"#), [Some(1), None, None]);
        let same = paths(["$.n", "$.n", "$.n.x"]);
        assert_eq!(
            find_integers(&same, br#"{"n":7}"#),
            [Some(7), Some(7), None]
        );
    }

    proptest! {
        #[test]
        fn any_text_is_handled(text in "[\\[\\]{}\":,a0-9. \\\\]{0,60}") {
            let wanted = paths(["$.a", "$[0]", "$.a[0].a"]);
            let _ = find_integers(&wanted, text.as_bytes());
        }
    }
}
