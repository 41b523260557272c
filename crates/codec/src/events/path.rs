//! Paths to one value in JSON, such as `$.choices[0].text`.

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

/// The text is not a path of names and indices, such as `$.choices[0].text`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PathError;

impl JsonPath {
    /// Parses a path. `$` alone is the whole value.
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

    /// Returns the value at the path. `None` if it is absent or empty, or if the text is not JSON.
    #[must_use]
    pub fn find<'a>(&self, json: &'a [u8]) -> Option<Text<'a>> {
        self.text(json).ok().flatten()
    }

    /// Returns the value at the path, or fails if the whole text is not JSON. `None` means that the
    /// value is absent or empty.
    pub(super) fn text<'a>(&self, json: &'a [u8]) -> Result<Option<Text<'a>>, NotJson> {
        let mut found = None;
        self.visit(json, |value| {
            found = value.text()?;
            Ok(())
        })?;
        Ok(found)
    }

    /// Returns the integer at the path, or fails if the whole text is not JSON.
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
