//! Prepares the bytes of responses in advance, so that they only need to be written when they are
//! released.

use std::sync::Arc;

pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

#[derive(Clone)]
pub(super) struct WholeResponse {
    pub(super) code: u16,
    pub(super) bytes: Arc<[u8]>,
    head: usize,
}

impl WholeResponse {
    pub(super) fn new(code: u16, kind: &str, body: &[u8], keep_alive: bool) -> Self {
        let connection = if keep_alive {
            ""
        } else {
            "connection: close\r\n"
        };
        let mut bytes = format!(
            "HTTP/1.1 {code} {}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{connection}\r\n",
            reason(code),
            body.len()
        )
        .into_bytes();
        let head = bytes.len();
        bytes.extend_from_slice(body);
        Self {
            code,
            bytes: bytes.into(),
            head,
        }
    }

    pub(super) fn length(&self, is_head: bool) -> usize {
        if is_head { self.head } else { self.bytes.len() }
    }

    /// Returns the length of a truncated response: half of the body, or all but one byte of the
    /// head.
    pub(super) fn half(&self, is_head: bool) -> usize {
        match self.length(is_head) - self.head {
            0 => self.head - 1,
            body => self.head + body / 2,
        }
    }
}

pub(super) struct Answers {
    ok: [WholeResponse; 2],
    error: [WholeResponse; 2],
}

impl Answers {
    pub(super) fn new(body: usize, error_code: u16) -> Self {
        let body: Vec<u8> = b"lab truth: 0".iter().copied().cycle().take(body).collect();
        let both =
            |code| [true, false].map(|keep| WholeResponse::new(code, "text/plain", &body, keep));
        Self {
            ok: both(200),
            error: both(error_code),
        }
    }

    pub(super) fn ok(&self, keep_alive: bool) -> &WholeResponse {
        &self.ok[usize::from(!keep_alive)]
    }

    pub(super) fn error(&self, keep_alive: bool) -> &WholeResponse {
        &self.error[usize::from(!keep_alive)]
    }
}

fn reason(code: u16) -> &'static str {
    match code {
        200 => "OK",
        400 => "Bad Request",
        404 => "Not Found",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_has_length_and_connection_header() {
        let answers = Answers::new(14, 418);
        let text =
            |answer: &WholeResponse, n: usize| String::from_utf8(answer.bytes[..n].into()).unwrap();
        let ok = answers.ok(true);
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 14\r\n\r\n";
        assert_eq!(text(ok, ok.length(false)), format!("{head}lab truth: 0la"));
        assert_eq!(text(ok, ok.length(true)), head);
        assert_eq!(text(ok, ok.half(false)), format!("{head}lab tru"));
        assert_eq!(text(ok, ok.half(true)), head[..head.len() - 1]);
        let error = answers.error(false);
        let text = text(error, error.length(true));
        assert!(text.starts_with("HTTP/1.1 418 Error\r\n"), "{text}");
        assert!(text.ends_with("connection: close\r\n\r\n"), "{text}");
    }

    #[test]
    fn shortest_response_can_be_truncated() {
        for body in [0, 1] {
            let answers = Answers::new(body, 503);
            let ok = answers.ok(true);
            assert!(ok.half(false) < ok.length(false), "{body}");
        }
    }
}
