//! Parses JSON, keeping positions and limiting the nesting.

use super::{
    figure::{Position, PrintedFigure},
    number::{self, Rounding},
};

const DEEPEST: usize = 64;

#[derive(Debug, Clone, PartialEq)]
pub struct JsonNode {
    pub place: Position,
    pub value: JsonValue,
}

#[derive(Debug, Clone, PartialEq)]
pub enum JsonValue {
    Number(String),
    Text(String),
    Word(&'static str),
    List(Vec<JsonNode>),
    Map(Vec<(String, JsonNode)>),
}

impl JsonNode {
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&JsonNode> {
        self.members().find(|(name, _)| *name == key).map(|m| m.1)
    }

    pub fn members(&self) -> impl Iterator<Item = (&str, &JsonNode)> {
        let members: &[(String, JsonNode)] = match &self.value {
            JsonValue::Map(members) => members,
            _ => &[],
        };
        members.iter().map(|(name, node)| (name.as_str(), node))
    }

    pub fn items(&self) -> impl Iterator<Item = &JsonNode> {
        let items: &[JsonNode] = match &self.value {
            JsonValue::List(items) => items,
            _ => &[],
        };
        items.iter()
    }

    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            JsonValue::Text(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn figure(&self, name: &str, rounding: Rounding, scale: f64) -> Option<PrintedFigure> {
        let JsonValue::Number(text) = &self.value else {
            return None;
        };
        number::figure(name, text, self.place, rounding, |unit| {
            unit.is_empty().then_some(scale)
        })
    }
}

pub fn parse(text: &str) -> Result<JsonNode, Position> {
    let mut reader = JsonReader {
        rest: text,
        place: Position { line: 1, column: 1 },
    };
    let node = reader.value(0).ok_or(reader.place)?;
    reader.blanks();
    if reader.rest.is_empty() {
        Ok(node)
    } else {
        Err(reader.place)
    }
}

struct JsonReader<'a> {
    rest: &'a str,
    place: Position,
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, depth: usize) -> Option<JsonNode> {
        self.blanks();
        let place = self.place;
        let value = match self.rest.chars().next()? {
            _ if depth > DEEPEST => return None,
            '{' => self.map(depth)?,
            '[' => self.list(depth)?,
            '"' => JsonValue::Text(self.string()?),
            '-' | '0'..='9' => JsonValue::Number(self.number()?.to_owned()),
            _ => {
                let word = ["true", "false", "null"]
                    .into_iter()
                    .find(|word| self.rest.starts_with(word))?;
                self.skip(word.len());
                JsonValue::Word(word)
            }
        };
        Some(JsonNode { place, value })
    }

    fn map(&mut self, depth: usize) -> Option<JsonValue> {
        let mut members = Vec::new();
        self.skip(1);
        self.blanks();
        if self.eat('}') {
            return Some(JsonValue::Map(members));
        }
        loop {
            self.blanks();
            let name = self.string()?;
            self.blanks();
            if !self.eat(':') {
                return None;
            }
            members.push((name, self.value(depth + 1)?));
            self.blanks();
            if self.eat('}') {
                return Some(JsonValue::Map(members));
            }
            if !self.eat(',') {
                return None;
            }
        }
    }

    fn list(&mut self, depth: usize) -> Option<JsonValue> {
        let mut items = Vec::new();
        self.skip(1);
        self.blanks();
        if self.eat(']') {
            return Some(JsonValue::List(items));
        }
        loop {
            items.push(self.value(depth + 1)?);
            self.blanks();
            if self.eat(']') {
                return Some(JsonValue::List(items));
            }
            if !self.eat(',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let body = self.rest.strip_prefix('"')?;
        let mut escaped = false;
        let end = body.bytes().position(|b| {
            let ends = b == b'"' && !escaped;
            escaped = b == b'\\' && !escaped;
            ends
        })?;
        let text = serde_json::from_str(&self.rest[..end + 2]).ok()?;
        self.skip(end + 2);
        Some(text)
    }

    fn number(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-')))
            .unwrap_or(self.rest.len());
        let text = &self.rest[..end];
        serde_json::from_str::<f64>(text).ok()?;
        self.skip(end);
        Some(text)
    }

    fn eat(&mut self, wanted: char) -> bool {
        let is_there = self.rest.starts_with(wanted);
        if is_there {
            self.skip(wanted.len_utf8());
        }
        is_there
    }

    fn blanks(&mut self) {
        let rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.skip(self.rest.len() - rest.len());
    }

    fn skip(&mut self, bytes: usize) {
        let (gone, rest) = self.rest.split_at(bytes);
        for c in gone.chars() {
            if c == '\n' {
                self.place.line += 1;
                self.place.column = 1;
            } else {
                self.place.column += 1;
            }
        }
        self.rest = rest;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_have_locations() {
        let node =
            parse("{\n  \"a\": [1, 2.5e3],\n  \"b\": {\"ü\": \"x\\\"y\", \"c\": -1}\n}\n").unwrap();
        let second = node.get("a").unwrap().items().nth(1).unwrap();
        assert_eq!((second.place.line, second.place.column), (2, 12));
        assert_eq!(
            second.figure("n", Rounding::Exact, 1.0).unwrap().value,
            2500.0
        );
        let inner = node.get("b").unwrap();
        assert_eq!(inner.get("ü").unwrap().text(), Some("x\"y"));
        assert_eq!(inner.get("c").unwrap().place.column, 27);
        assert_eq!(
            inner.get("c").unwrap().figure("n", Rounding::Exact, 1.0),
            None
        );
        assert_eq!(parse("{\"a\": 1,}").unwrap_err().column, 9);
        assert!(parse(&"[".repeat(1000)).is_err());
    }

    proptest! {
        #[test]
        fn it_agrees_with_serde_json_on_what_is_json(text in "[\\[\\]{}\",:0-9a-u.\\\\ -]{0,40}|.*") {
            let theirs = serde_json::from_str::<serde_json::Value>(&text);
            prop_assert_eq!(parse(&text).is_ok(), theirs.is_ok(), "{}", text);
        }
    }
}
