//! Request heads as bytes. Only the encoding: what stands in them is decided by whoever calls.

use super::url::Origin;

/// Begins a request: request line and Host.
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

/// Adds a header; false when its name or value cannot stand in a head.
#[must_use]
pub fn header(out: &mut Vec<u8>, name: &str, value: &str) -> bool {
    let token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty()
        || !name.bytes().all(token)
        || value.bytes().any(|b| matches!(b, b'\r' | b'\n' | 0))
    {
        return false;
    }
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b": ");
    out.extend_from_slice(value.as_bytes());
    out.extend_from_slice(b"\r\n");
    true
}

/// Adds Content-Length.
pub fn content_length(out: &mut Vec<u8>, length: usize) {
    out.extend_from_slice(b"content-length: ");
    out.extend_from_slice(length.to_string().as_bytes());
    out.extend_from_slice(b"\r\n");
}

/// Whether a request without a body says so, as clients do for methods that usually have one.
#[must_use]
pub fn says_empty(method: &str) -> bool {
    matches!(method, "POST" | "PUT" | "PATCH")
}

/// The value of Basic authentication.
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
    fn heads() {
        let origin = Origin {
            tls: false,
            host: "h".into(),
            port: 81,
        };
        let mut out = Vec::new();
        begin(&mut out, "GET", "/x", &origin, None);
        assert!(header(&mut out, "x-one", "1"));
        assert!(!header(&mut out, "x-two", "1\r\nInjected: 2"));
        assert!(!header(&mut out, "x two", "1"));
        content_length(&mut out, 5);
        assert_eq!(
            out,
            b"GET /x HTTP/1.1\r\nHost: h:81\r\nx-one: 1\r\ncontent-length: 5\r\n"
        );
    }

    #[test]
    fn basic_authentication() {
        assert_eq!(basic("u", "p"), "Basic dTpw");
        assert_eq!(
            basic("Aladdin", "open sesame"),
            "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="
        );
        assert_eq!(base64(b"ab"), "YWI=");
    }
}
