//! Encoding of HTTP/1.1 request heads.

use super::url::Origin;

/// Starts a request by appending the request line and the `host` header.
pub fn begin(out: &mut Vec<u8>, method: &str, path: &str, origin: &Origin, host: Option<&str>) {
    out.extend_from_slice(method.as_bytes());
    out.push(b' ');
    out.extend_from_slice(path.as_bytes());
    out.extend_from_slice(b" HTTP/1.1\r\nHost: ");
    match host {
        Some(host) => out.extend_from_slice(host.as_bytes()),
        None => out.extend_from_slice(origin.host_header().as_bytes()),
    }
    out.extend_from_slice(b"\r\n");
}

/// Character encoding of header values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charset {
    /// UTF-8, which most clients and servers use.
    Utf8,
    /// Latin-1, which Node.js uses. Other characters are invalid.
    Latin1,
}

impl Charset {
    /// Returns Latin-1 if `latin1` is true, otherwise UTF-8.
    #[must_use]
    pub fn from_latin1(latin1: bool) -> Charset {
        if latin1 {
            Charset::Latin1
        } else {
            Charset::Utf8
        }
    }

    /// Appends a string. Returns `false` if a character cannot be encoded. Part of the string may
    /// then have been appended.
    #[must_use]
    pub fn write(self, out: &mut Vec<u8>, text: &str) -> bool {
        if self == Charset::Utf8 || text.is_ascii() {
            out.extend_from_slice(text.as_bytes());
            return true;
        }
        out.extend(text.chars().map(|c| u8::try_from(c).unwrap_or(b'?')));
        text.chars().all(|c| c <= '\u{ff}')
    }
}

/// Appends a header. Returns `false` if the name or value is invalid.
#[must_use]
pub fn header(out: &mut Vec<u8>, name: &str, value: &str, charset: Charset) -> bool {
    if !is_token(name) || !is_one_line(value) {
        return false;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    let written = charset.write(out, value);
    out.extend_from_slice(b"\r\n");
    written
}

/// Appends the value of a header. Returns `false` if the value is invalid. Part of the value may
/// then have been appended.
#[must_use]
pub fn value(out: &mut Vec<u8>, value: &str, charset: Charset) -> bool {
    is_one_line(value) && charset.write(out, value)
}

/// Returns whether a text is a token (RFC 9110), such as the name of a header or a subprotocol.
#[must_use]
pub fn is_token(text: &str) -> bool {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    !text.is_empty() && text.bytes().all(is_allowed)
}

fn is_one_line(value: &str) -> bool {
    // The loop has no early exit, so that the compiler can vectorize it.
    let ends = |ends, b| ends | matches!(b, b'\r' | b'\n' | 0);
    !value.bytes().fold(false, ends)
}

/// Appends a `Content-Length` header.
pub fn content_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"content-length: ");
    push_number(out, length);
    out.extend_from_slice(b"\r\n");
}

fn push_number(out: &mut Vec<u8>, mut number: usize) {
    let from = out.len();
    loop {
        out.push(b'0' + (number % 10) as u8);
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out[from..].reverse();
}

/// Returns whether a request without a body sends `Content-Length: 0`, as clients do for methods
/// that usually have a body.
#[must_use]
pub fn says_empty(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// Returns the value of an `Authorization` header for Basic authentication.
#[must_use]
pub fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", base64(format!("{user}:{password}").as_bytes()))
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk
            .iter()
            .fold(0u32, |group, byte| group << 8 | u32::from(*byte))
            << (8 * (3 - chunk.len()));
        for i in 0..4 {
            let digit = DIGITS[(group >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= chunk.len() { digit as char } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_encoded() {
        let origin = Origin {
            tls: false,
            host: "h".into(),
            port: 81,
        };
        let mut out = Vec::new();
        begin(&mut out, "GET", "/x", &origin, None);
        let utf8 = Charset::Utf8;
        assert!(header(&mut out, "x-one", "1", utf8));
        assert!(!header(&mut out, "x-two", "1\r\nInjected: 2", utf8));
        assert!(!header(&mut out, "x two", "1", utf8));
        assert!(!header(&mut out, "", "1", utf8));
        content_length(&mut out, 5);
        assert_eq!(
            out,
            b"GET /x HTTP/1.1\r\nHost: h:81\r\nx-one: 1\r\ncontent-length: 5\r\n"
        );
    }

    #[test]
    fn values_are_encoded_in_either_charset() {
        let mut out = Vec::new();
        assert!(header(&mut out, "a", "né€", Charset::Utf8));
        assert!(header(&mut out, "b", "né", Charset::Latin1));
        assert_eq!(out, b"a: n\xc3\xa9\xe2\x82\xac\r\nb: n\xe9\r\n");
        assert!(!header(&mut out, "c", "€", Charset::Latin1));
    }

    #[test]
    fn basic_authentication_is_encoded() {
        assert_eq!(basic("u", "p"), "Basic dTpw");
        assert_eq!(
            basic("Aladdin", "open sesame"),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        assert_eq!(base64(b"ab"), "YWI=");
    }
}
