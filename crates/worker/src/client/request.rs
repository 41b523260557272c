//! Encoded requests, and the changes that redirects make to them.

use codec::{Target, encode::Charset};

/// An encoded request.
#[derive(Debug, Clone)]
pub struct Built {
    /// Destination of the request.
    pub target: Target,
    /// Head and body.
    pub bytes: Vec<u8>,
    /// Offset at the end of the header lines, where a `cookie` header can be inserted.
    pub cookie_at: usize,
}

impl Built {
    /// Returns the URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.target.origin.text(), self.target.path)
    }

    /// Returns the body.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.cookie_at + 2..).unwrap_or_default()
    }

    /// Returns the bytes with cookies from the jar, which replace any `cookie` header of the
    /// request.
    #[must_use]
    pub fn with_cookie(&self, cookie: &str, charset: Charset) -> Vec<u8> {
        let (head, rest) = self.bytes.split_at(self.cookie_at);
        let mut bytes = Vec::with_capacity(self.bytes.len() + cookie.len() + 10);
        let is_cookie = |line: &&[u8]| {
            line.get(..7)
                .is_some_and(|name| name.eq_ignore_ascii_case(b"cookie:"))
        };
        let lines = head.split_inclusive(|b| *b == b'\n');
        lines
            .filter(|line| !is_cookie(line))
            .for_each(|line| bytes.extend_from_slice(line));
        bytes.extend_from_slice(b"cookie: ");
        // Cookies from servers may contain invalid characters.
        let _ = charset.write(&mut bytes, cookie);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(rest);
        bytes
    }
}

impl Built {
    /// Returns the bytes with more header lines, each with its line break.
    #[must_use]
    pub fn with_lines(&self, lines: &str) -> Vec<u8> {
        let (head, rest) = self.bytes.split_at(self.cookie_at);
        [head, lines.as_bytes(), rest].concat()
    }
}

/// The reason why a request could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The URL is invalid.
    Url(String),
    /// A header value contains an invalid character, such as a line break.
    Header(String),
    /// A file cannot be read.
    File(std::io::ErrorKind),
}

/// Changes to a request for a redirect.
#[derive(Debug, Clone, Copy)]
pub struct Override<'a> {
    /// The new URL.
    pub url: &'a str,
    /// The new method.
    pub method: &'a str,
    /// Whether the redirected request keeps the body.
    pub body: bool,
    /// Whether the redirected request keeps credentials.
    pub credentials: bool,
}
