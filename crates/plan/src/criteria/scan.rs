//! Scanner for the words, names and values of criteria.

use crate::units::GrammarError;

pub(crate) struct Scan<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
}

impl<'a> Scan<'a> {
    pub(super) fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub(crate) fn skip_space(&mut self) -> usize {
        self.at += self.rest().len() - self.rest().trim_start().len();
        self.at
    }

    /// Reads up to one of these characters or the end of the text.
    pub(super) fn until(&mut self, stops: &[char]) -> &'a str {
        let rest = self.rest();
        let end = rest.find(stops).unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim_end()
    }

    pub(super) fn word(&mut self) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let length = rest
            .find(|c: char| c.is_whitespace() || "<>=:\"".contains(c))
            .unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }

    pub(super) fn peek(&mut self) -> &'a str {
        let before = self.at;
        let word = self.word();
        self.at = before;
        word
    }

    pub(super) fn word_is(&mut self, wanted: &str) -> bool {
        let before = self.at;
        if self.word() == wanted {
            return true;
        }
        self.at = before;
        false
    }

    pub(super) fn take(&mut self, symbol: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    pub(crate) fn name(&mut self, what: &str) -> Result<String, GrammarError> {
        if !self.take("\"") {
            return Err(self.error(&format!("expected \"{what}\" in double quotes")));
        }
        let mut name = String::new();
        let mut chars = self.rest().char_indices();
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.at += at + 1;
                    return Ok(name);
                }
                '\\' => name.extend(chars.next().map(|(_, escaped)| escaped)),
                _ => name.push(c),
            }
        }
        Err(self.error("the quote is never closed"))
    }

    /// Reads a value: a number and a unit, optionally separated by a blank.
    pub(super) fn value(&mut self) -> &'a str {
        let rest = self.rest();
        let end = [" for ", ":"]
            .iter()
            .filter_map(|stop| rest.find(stop))
            .min()
            .unwrap_or(rest.len());
        self.at += end;
        rest[..end].trim_end()
    }

    pub(super) fn error(&self, message: &str) -> GrammarError {
        GrammarError {
            offset: self.at.min(self.text.len()),
            message: message.to_owned(),
        }
    }

    pub(crate) fn end(&mut self) -> Result<(), GrammarError> {
        self.skip_space();
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error(&format!(
                "`{}` is not expected here",
                self.rest().trim_end()
            )))
        }
    }
}
