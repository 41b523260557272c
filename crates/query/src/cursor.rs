//! A place in a text that is read from left to right, and why it could not be read: what the readers of small languages
//! (conditions, XPath, CSS selectors) share. It knows no language; how names look and how deep one may nest is told to it.

/// Why a text cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misread {
    /// Bytes from the start of the text.
    pub offset: usize,
    /// One line.
    pub message: String,
}

impl std::fmt::Display for Misread {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// More operators than this would go deep too: each stands on all before it.
const MOST_OPERATORS: usize = 250;

/// The place.
pub(crate) struct Cursor<'a> {
    text: &'a str,
    /// Bytes read so far.
    pub at: usize,
    depth: usize,
    deepest: usize,
    operators: usize,
    in_name: fn(char) -> bool,
}

impl<'a> Cursor<'a> {
    /// At the beginning of a text whose language nests no deeper than this, and has such characters in its names.
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

    /// Skips space; whether there was any.
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

    /// Takes a symbol, behind space or not.
    pub fn take(&mut self, symbol: &str) -> bool {
        self.space();
        let found = self.rest().starts_with(symbol);
        if found {
            self.at += symbol.len();
        }
        found
    }

    /// Takes a word, but not the beginning of a longer one.
    pub fn word(&mut self, word: &str) -> bool {
        self.space();
        let behind = self.rest().strip_prefix(word);
        let found = behind.is_some_and(|rest| !rest.starts_with(self.in_name));
        if found {
            self.at += word.len();
        }
        found
    }

    /// One level down; [`Cursor::up`] leads back.
    ///
    /// # Errors
    /// When nobody would nest so deep.
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

    /// One operator more.
    ///
    /// # Errors
    /// When there are too many of them.
    pub fn operator(&mut self) -> Result<(), Misread> {
        self.operators += 1;
        if self.operators > MOST_OPERATORS {
            return Err(self.error(format!("more than {MOST_OPERATORS} operators")));
        }
        Ok(())
    }

    /// Everything must have been read.
    ///
    /// # Errors
    /// When something is left.
    pub fn end(&mut self, message: &str) -> Result<(), Misread> {
        self.space();
        if self.rest().is_empty() {
            Ok(())
        } else {
            Err(self.error(message))
        }
    }
}
