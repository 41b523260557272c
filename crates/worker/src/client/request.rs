//! Encoded requests, and how redirects change them.

use std::borrow::Cow;

use codec::{Target, encode::Charset};
use measure::SpanContext;

/// An encoded request.
#[derive(Debug, Clone)]
pub struct Built {
    /// Destination of the request.
    pub target: Target,
    /// Head and body in HTTP/1.1 encoding.
    pub bytes: Vec<u8>,
    /// Offset of the end of the header lines, where a `cookie` header can be inserted.
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

    /// Returns the bytes with a cookie header and a trace context. The cookie header replaces an
    /// existing one.
    #[must_use]
    pub fn completed(
        &self,
        cookie: Option<(String, Charset)>,
        trace: Option<SpanContext>,
    ) -> Cow<'_, [u8]> {
        if cookie.is_none() && trace.is_none() {
            return Cow::Borrowed(&self.bytes);
        }
        let (head, rest) = self.bytes.split_at(self.cookie_at);
        let cookie_length = cookie.as_ref().map_or(0, |(cookie, _)| cookie.len() + 10);
        let mut bytes = Vec::with_capacity(self.bytes.len() + cookie_length + TRACEPARENT);
        if let Some((cookie, charset)) = cookie {
            lines(head)
                .filter(|line| !is_named(line, "cookie"))
                .for_each(|line| bytes.extend_from_slice(line));
            bytes.extend_from_slice(b"cookie: ");
            // Cookies from servers may contain invalid characters.
            let _ = charset.write(&mut bytes, &cookie);
            bytes.extend_from_slice(b"\r\n");
        } else {
            bytes.extend_from_slice(head);
        }
        if let Some(trace) = trace {
            trace.write_header(&mut bytes);
        }
        bytes.extend_from_slice(rest);
        Cow::Owned(bytes)
    }

    /// Returns whether the test sets the trace context of this request itself.
    pub(super) fn has_traceparent(&self) -> bool {
        lines(&self.bytes[..self.cookie_at]).any(|line| is_named(line, "traceparent"))
    }
}

/// Length of the header line for a trace context.
const TRACEPARENT: usize = 70;

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split_inclusive(|byte| *byte == b'\n')
}

/// Returns whether a header line has this name.
pub(super) fn is_named(line: &[u8], name: &str) -> bool {
    let has_name = line.get(..name.len());
    line.get(name.len()) == Some(&b':')
        && has_name.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
}

/// Why a request could not be built.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BuildError {
    /// The URL is invalid.
    Url(String),
    /// A header value contains an invalid character, such as a line break.
    Header(String),
    /// A file cannot be read.
    File(std::io::ErrorKind),
}

/// Changes that a redirect makes to a request.
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
