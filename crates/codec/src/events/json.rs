//! A cursor over JSON text. It validates the text and returns individual values, without building a
//! tree.

/// The error for text that is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NotJson;

type Parsed<T> = Result<T, NotJson>;

/// Maximum depth of nested arrays and objects.
const MAX_DEPTH: u32 = 128;

/// A text value of an event, as received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Text<'a> {
    /// The content of a JSON string, with escape sequences.
    Escaped(&'a [u8]),
    /// Bytes without escape sequences.
    Plain(&'a [u8]),
}

impl Text<'_> {
    /// Returns whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let (Text::Escaped(bytes) | Text::Plain(bytes)) = self;
        bytes.is_empty()
    }

    /// Appends the text with escape sequences decoded. Invalid UTF-8 becomes U+FFFD.
    pub fn append_to(&self, out: &mut String) {
        match self {
            Text::Plain(bytes) => out.push_str(&String::from_utf8_lossy(bytes)),
            Text::Escaped(bytes) => unescape(bytes, out),
        }
    }
}

fn unescape(mut bytes: &[u8], out: &mut String) {
    while let Some(at) = memchr::memchr(b'\\', bytes) {
        out.push_str(&String::from_utf8_lossy(&bytes[..at]));
        bytes = &bytes[at + 1..];
        let Some((kind, rest)) = bytes.split_first() else {
            return;
        };
        bytes = rest;
        out.push(match kind {
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'n' => '\n',
            b'r' => '\r',
            b't' => '\t',
            b'u' => unescape_unicode(&mut bytes),
            other => char::from(*other),
        });
    }
    out.push_str(&String::from_utf8_lossy(bytes));
}

/// Decodes the digits after `\u`, and the second half of a surrogate pair.
fn unescape_unicode(bytes: &mut &[u8]) -> char {
    let Some(unit) = take_unit(bytes) else {
        return char::REPLACEMENT_CHARACTER;
    };
    let high = unit.wrapping_sub(0xd800);
    let mut rest = *bytes;
    if high < 0x400
        && let Some(after) = rest.strip_prefix(b"\\u")
    {
        rest = after;
        let low = take_unit(&mut rest).map_or(u32::MAX, |low| low.wrapping_sub(0xdc00));
        if low < 0x400 {
            *bytes = rest;
            return char::from_u32(0x1_0000 + (high << 10) + low)
                .unwrap_or(char::REPLACEMENT_CHARACTER);
        }
    }
    char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn take_unit(bytes: &mut &[u8]) -> Option<u32> {
    let (digits, rest) = bytes.split_first_chunk::<4>()?;
    *bytes = rest;
    u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// A position in JSON text. Each method consumes exactly one value.
pub(super) struct Json<'a> {
    bytes: &'a [u8],
    at: usize,
    depth: u32,
}

impl<'a> Json<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Json<'a> {
        Json {
            bytes,
            at: 0,
            depth: 0,
        }
    }

    /// Fails if anything follows the last value.
    pub(super) fn finish(mut self) -> Parsed<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(NotJson),
        }
    }

    /// Calls `on_member` for each member of an object. It must consume the member's value. A value
    /// of another type is skipped.
    pub(super) fn object(
        &mut self,
        mut on_member: impl FnMut(&'a [u8], &mut Json<'a>) -> Parsed<()>,
    ) -> Parsed<()> {
        if self.peek() != Some(b'{') {
            return self.skip();
        }
        self.nested(b'}', |json| {
            let name = json.quoted()?;
            json.expect(b':')?;
            on_member(name, json)
        })
    }

    /// Calls `on_element` with the index of each element of an array. It must consume the element.
    /// A value of another type is skipped.
    pub(super) fn array(
        &mut self,
        mut on_element: impl FnMut(usize, &mut Json<'a>) -> Parsed<()>,
    ) -> Parsed<()> {
        if self.peek() != Some(b'[') {
            return self.skip();
        }
        let mut index = 0;
        self.nested(b']', |json| {
            on_element(index, json)?;
            index += 1;
            Ok(())
        })
    }

    /// Returns a string. A value of another type is skipped and gives `None`.
    pub(super) fn string(&mut self) -> Parsed<Option<Text<'a>>> {
        if self.peek() == Some(b'"') {
            return Ok(Some(Text::Escaped(self.quoted()?)));
        }
        self.skip().map(|()| None)
    }

    /// Returns an unsigned integer. A value of another type is skipped and gives `None`.
    pub(super) fn unsigned(&mut self) -> Parsed<Option<u64>> {
        let raw = self.raw()?;
        Ok(std::str::from_utf8(raw)
            .ok()
            .and_then(|text| text.parse().ok()))
    }

    /// Returns an unsigned integer, which may be in quotes. A value of another type is skipped and
    /// gives `None`.
    pub(super) fn integer(&mut self) -> Parsed<Option<u64>> {
        let raw = self.raw()?;
        let digits = match raw {
            [b'"', inside @ .., b'"'] => inside,
            other => other,
        };
        Ok(std::str::from_utf8(digits)
            .ok()
            .and_then(|text| text.parse().ok()))
    }

    /// Returns whether the value is `true`.
    pub(super) fn is_true(&mut self) -> Parsed<bool> {
        Ok(self.raw()? == b"true")
    }

    /// Returns whether the value is present: not null, and not an empty string, array or object.
    pub(super) fn is_present(&mut self) -> Parsed<bool> {
        Ok(!is_empty(self.raw()?))
    }

    /// Returns a value as text. `None` means null, or an empty string, array or object.
    pub(super) fn text(&mut self) -> Parsed<Option<Text<'a>>> {
        let raw = self.raw()?;
        if is_empty(raw) {
            return Ok(None);
        }
        Ok(Some(match raw {
            [b'"', inside @ .., b'"'] => Text::Escaped(inside),
            other => Text::Plain(other),
        }))
    }

    /// Returns a value as written in the JSON text.
    fn raw(&mut self) -> Parsed<&'a [u8]> {
        self.peek();
        let start = self.at;
        self.skip()?;
        Ok(&self.bytes[start..self.at])
    }

    /// Consumes any value.
    pub(super) fn skip(&mut self) -> Parsed<()> {
        match self.peek().ok_or(NotJson)? {
            b'{' => self.nested(b'}', |json| {
                json.quoted()?;
                json.expect(b':')?;
                json.skip()
            }),
            b'[' => self.nested(b']', Json::skip),
            b'"' => self.quoted().map(|_| ()),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => self.number(),
        }
    }

    /// Consumes a list of items up to the closing bracket. The next item must be the first one.
    fn nested(
        &mut self,
        end: u8,
        mut on_item: impl FnMut(&mut Json<'a>) -> Parsed<()>,
    ) -> Parsed<()> {
        self.at += 1;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(NotJson);
        }
        if self.peek() == Some(end) {
            self.at += 1;
        } else {
            loop {
                on_item(self)?;
                match self.peek() {
                    Some(b',') => self.at += 1,
                    Some(byte) if byte == end => {
                        self.at += 1;
                        break;
                    }
                    _ => return Err(NotJson),
                }
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// Consumes a string and returns its content without the quotes.
    fn quoted(&mut self) -> Parsed<&'a [u8]> {
        self.expect(b'"')?;
        let start = self.at;
        loop {
            let byte = *self.bytes.get(self.at).ok_or(NotJson)?;
            self.at += 1;
            match byte {
                b'"' => return Ok(&self.bytes[start..self.at - 1]),
                b'\\' => self.escape()?,
                0..0x20 => return Err(NotJson),
                _ => {}
            }
        }
    }

    fn escape(&mut self) -> Parsed<()> {
        let rest = &self.bytes[self.at..];
        let length = match rest.first() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 1,
            Some(b'u') if rest.len() > 4 && rest[1..5].iter().all(u8::is_ascii_hexdigit) => 5,
            _ => return Err(NotJson),
        };
        self.at += length;
        Ok(())
    }

    fn number(&mut self) -> Parsed<()> {
        if self.bytes[self.at..].starts_with(b"-") {
            self.at += 1;
        }
        match self.digits() {
            0 => return Err(NotJson),
            1 => {}
            more if self.bytes[self.at - more] == b'0' => return Err(NotJson),
            _ => {}
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(NotJson);
            }
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(NotJson);
            }
        }
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let rest = &self.bytes[self.at..];
        let is_digit = |byte: &&u8| byte.is_ascii_digit();
        let count = rest.iter().take_while(is_digit).count();
        self.at += count;
        count
    }

    fn word(&mut self, word: &[u8]) -> Parsed<()> {
        if !self.bytes[self.at..].starts_with(word) {
            return Err(NotJson);
        }
        self.at += word.len();
        Ok(())
    }

    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.peek() != Some(byte) {
            return Err(NotJson);
        }
        self.at += 1;
        Ok(())
    }

    /// Skips white space and returns the next byte.
    pub(super) fn peek(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.bytes.get(self.at) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }
}

fn is_empty(raw: &[u8]) -> bool {
    match raw {
        b"null" | b"\"\"" => true,
        [b'[' | b'{', inside @ .., _] => inside.trim_ascii().is_empty(),
        _ => false,
    }
}
