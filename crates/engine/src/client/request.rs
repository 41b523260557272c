//! A request as a client takes it: bytes that are ready, made before the run or while it goes on, and what a redirect changes of them.

use codec::{Target, encode::Charset};

/// A request as bytes.
#[derive(Debug, Clone)]
pub struct Built {
    /// To whom.
    pub target: Target,
    /// Head and body.
    pub bytes: Vec<u8>,
    /// Where in the bytes a Cookie header may be put in: the end of the header lines.
    pub cookie_at: usize,
}

impl Built {
    /// The URL that is asked for.
    #[must_use]
    pub fn url(&self) -> String {
        format!("{}{}", self.target.origin.text(), self.target.path)
    }

    /// What is sent behind the head.
    #[must_use]
    pub fn body(&self) -> &[u8] {
        self.bytes.get(self.cookie_at + 2..).unwrap_or_default()
    }

    /// The bytes with the jar's cookies; a `cookie` header of the request's own gives way to them.
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
        // What a server set may hold anything; a step's own was looked at before.
        let _ = charset.write(&mut bytes, cookie);
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(rest);
        bytes
    }
}

/// Why a request could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The URL that came out cannot be requested.
    Url(String),
    /// A header's value holds a line break or the like.
    Header(String),
    /// A file to send cannot be read: the operating system's name for why.
    File(&'static str),
}

/// What a redirect changes.
#[derive(Debug, Clone, Copy)]
pub struct Override<'a> {
    /// Where to.
    pub url: &'a str,
    /// The method.
    pub method: &'a str,
    /// Whether the body goes along.
    pub body: bool,
    /// Whether credentials go along.
    pub credentials: bool,
}
