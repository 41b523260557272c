//! Cursor and error type shared by the parsers of conditions, XPath and CSS selectors.

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    pub offset: usize,
    pub message: String,
}

impl std::fmt::Display for Misread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Maximum number of operators in an expression, because each operator adds a nesting level.
const MOST_OPERATORS: usize = 250;

pub(crate) struct Cursor<'a> {
    text: &'a str,
    pub at: usize,
    depth: usize,
    deepest: usize,
    operators: usize,
    in_name: fn(char) -> bool,
}

impl<'a> Cursor<'a> {
    /// Creates a cursor. `deepest` is the maximum nesting depth, and `in_name` decides which
    /// characters belong to names.
    pub fn new(text: &'a str, deepest: usize, in_name: fn(char) -> bool) -> Cursor<'a> {
        Cursor {
            text,
            at: 0,
            depth: 0,
            deepest,
            operators: 0,
            in_name,
        }
    }

    pub fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    pub fn space(&mut self) -> bool {
        let skipped = self.rest().len() - self.rest().trim_start().len();
        self.at += skipped;
        skipped > 0
    }

    pub fn error(&self, message: impl Into<String>) -> Misread {
        Misread {
            offset: self.at,
            message: message.into(),
        }
    }

    pub fn take(&mut self, symbol: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    pub fn word(&mut self, word: &str) -> bool {
        self.space();
        let after = self.rest().strip_prefix(word);
        let found = after.is_some_and(|rest| !rest.starts_with(self.in_name));
        if found {
            self.at += word.len();
        }
        found
    }

    /// Enters a nesting level, which [`Cursor::up`] leaves. Fails at the maximum depth.
    pub fn down(&mut self) -> Result<(), Misread> {
        self.depth += 1;
        if self.depth > self.deepest {
            return Err(self.error("nested too deeply"));
        }
        Ok(())
    }

    pub fn up(&mut self) {
        self.depth -= 1;
    }

    pub fn operator(&mut self) -> Result<(), Misread> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(self.error(format!("more than {MOST_OPERATORS} operators")));
        }
        Ok(())
    }

    pub fn end(&mut self, message: &str) -> Result<(), Misread> {
        self.space();
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error(message))
        }
    }
}
