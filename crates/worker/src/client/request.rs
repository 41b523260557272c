//! Requests, as parts and encoded, and the changes that redirects make to them.

use std::borrow::Cow;

use codec::{
    Origin, Target,
    encode::{self, Charset},
};
use measure::SpanContext;

/// The head of a request in the parts that all versions of HTTP have.
#[derive(Debug, Clone)]
pub struct RequestHead<'a> {
    /// HTTP method.
    pub method: &'a str,
    /// Scheme, authority and path.
    pub target: Target,
    /// Names and values. `host` replaces the target's authority, and `content-length` the body's
    /// length.
    pub headers: &'a [(&'a str, String)],
}

impl RequestHead<'_> {
    /// Encodes a request with this head. `None` means that it has no body.
    ///
    /// # Errors
    ///
    /// Fails with the name of a header whose value cannot be sent.
    pub fn encode(self, body: Option<&[u8]>, charset: Charset) -> Result<Built, BuildError> {
        let RequestHead {
            method,
            target,
            headers,
        } = self;
        let mut bytes = Vec::with_capacity(256 + body.map_or(0, <[u8]>::len));
        let is_host = |name: &str| name.eq_ignore_ascii_case("host");
        let host = headers.iter().find(|(name, _)| is_host(name));
        let host = host.map(|(_, value)| value.as_str());
        encode::begin(&mut bytes, method, &target.path, &target.origin, host);
        for (name, value) in headers.iter().filter(|(name, _)| !is_host(name)) {
            if !encode::header(&mut bytes, name, value, charset) {
                return Err(BuildError::Header((*name).to_owned()));
            }
        }
        let is_length = |name: &str| name.eq_ignore_ascii_case("content-length");
        match body {
            _ if headers.iter().any(|(name, _)| is_length(name)) => {}
            Some(body) => encode::content_length(&mut bytes, body.len()),
            None if encode::says_empty(method) => encode::content_length(&mut bytes, 0),
            None => {}
        }
        let cookie_at = bytes.len();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.unwrap_or_default());
        Ok(Built {
            target,
            bytes,
            cookie_at,
        })
    }
}

/// A request as encoded for HTTP/1.1. HTTP/2 uses the same bytes, with a template of its header
/// lines.
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
    /// Takes a request that its sender has encoded for HTTP/1.1. Returns `None` if its head is
    /// incomplete.
    #[must_use]
    pub fn from_wire(origin: Origin, bytes: Vec<u8>) -> Option<Built> {
        let first = lines(&bytes).next()?;
        let mut words = first.split(|byte| *byte == b' ');
        let path = words.nth(1).filter(|_| words.next().is_some())?;
        let path = std::str::from_utf8(path).ok()?.to_owned();
        let mut cookie_at = 0;
        lines(&bytes).find(|line| {
            let is_empty = *line == b"\r\n";
            cookie_at += if is_empty { 0 } else { line.len() };
            is_empty
        })?;
        Some(Built {
            target: Target {
                origin,
                path,
                userinfo: None,
            },
            bytes,
            cookie_at,
        })
    }

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

#[cfg(test)]
mod tests {
    use super::*;

    fn origin() -> Origin {
        codec::url::parse("http://a.test/").expect("a URL").origin
    }

    #[test]
    fn encoded_request_of_a_sender_has_all_parts() {
        let bytes = b"POST /x?y HTTP/1.1\r\nHost: a.test\r\n\r\nhi\r\n\r\n";
        let built = Built::from_wire(origin(), bytes.to_vec()).expect("a request");
        assert_eq!(built.url(), "http://a.test/x?y");
        assert_eq!(built.body(), b"hi\r\n\r\n");
        assert!(built.bytes[..built.cookie_at].ends_with(b"a.test\r\n"));
        for cut in 0..b"POST /x?y HTTP/1.1\r\nHost: a.test\r\n\r\n".len() {
            let cut = bytes[..cut].to_vec();
            assert!(Built::from_wire(origin(), cut).is_none());
        }
        assert!(Built::from_wire(origin(), b"GET\r\n\r\n".to_vec()).is_none());
    }

    #[test]
    fn encoded_head_equals_what_a_sender_writes() {
        let target = codec::url::parse("http://a.test/x").expect("a URL");
        let headers = [("x-a", "1".to_owned()), ("Host", "b.test".to_owned())];
        let head = RequestHead {
            method: "POST",
            target: target.clone(),
            headers: &headers,
        };
        let built = head.encode(None, Charset::Utf8).expect("a request");
        let expected = "POST /x HTTP/1.1\r\nHost: b.test\r\nx-a: 1\r\ncontent-length: 0\r\n\r\n";
        assert_eq!(
            String::from_utf8_lossy(&built.bytes).to_lowercase(),
            expected.to_lowercase()
        );
        let again = Built::from_wire(origin(), built.bytes.clone()).expect("a request");
        assert_eq!(
            (&again.target, again.cookie_at),
            (&built.target, built.cookie_at)
        );
        let bad = [("x-a", "1\r\n".to_owned())];
        let head = RequestHead {
            method: "GET",
            target,
            headers: &bad,
        };
        assert_eq!(
            head.encode(None, Charset::Utf8).err(),
            Some(BuildError::Header("x-a".to_owned()))
        );
    }
}
