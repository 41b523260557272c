//! A cursor over the text of a JSONPath.

use super::JsonPathError;

pub(super) struct Cursor<'a> {
    pub text: &'a str,
    pub at: usize,
}

impl<'a> Cursor<'a> {
    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn eat(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    pub fn space(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    pub fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    pub fn error<T>(&self, message: impl Into<String>) -> Result<T, JsonPathError> {
        Err(JsonPathError {
            offset: self.at,
            message: message.into(),
        })
    }

    pub fn until(&mut self, stops: &[char]) -> &'a str {
        let rest = self.rest();
        let end = rest.find(stops).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    pub fn quoted(&mut self, quote: char) -> Result<String, JsonPathError> {
        let mut out = String::new();
        let start = self.at;
        let mut chars = self.rest().char_indices();
        while let Some((i, c)) = chars.next() {
            match c {
                '\\' => out.extend(chars.next().map(|(_, c)| c)),
                c if c == quote => {
                    self.at = start + i + c.len_utf8();
                    return Ok(out);
                }
                c => out.push(c),
            }
        }
        self.error(format!("the quote {quote} is not closed"))
    }
}
