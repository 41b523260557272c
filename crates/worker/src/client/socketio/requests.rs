//! The HTTP requests of a session. All of them have the URL and headers of the first request.

use codec::Target;

use super::super::request::{Built, is_named};

/// Creates the requests of a session.
#[derive(Debug, Clone)]
pub(super) struct SessionRequests {
    pub target: Target,
    /// Path and query of the request line, without the Engine.IO parameters.
    resource: String,
    /// Header lines.
    lines: Vec<u8>,
    /// Session ID. Empty before the handshake.
    pub sid: String,
}

impl SessionRequests {
    /// Copies the URL and headers of the request in the plan. Omits `accept-encoding`, because
    /// bodies must not be compressed.
    pub fn new(built: &Built) -> SessionRequests {
        let head = &built.bytes[..built.cookie_at];
        let mut lines = head.split_inclusive(|b| *b == b'\n');
        let first = lines.next().unwrap_or_default();
        let first = String::from_utf8_lossy(first);
        let resource = first.split(' ').nth(1).unwrap_or("/").to_owned();
        let lines = lines.filter(|line| !is_named(line, "accept-encoding"));
        SessionRequests {
            target: built.target.clone(),
            resource,
            lines: lines.flatten().copied().collect(),
            sid: String::new(),
        }
    }

    /// Sets the cookies of all later requests, replacing the previous ones.
    pub fn set_cookie(&mut self, cookie: &str) {
        let lines = self.lines.split_inclusive(|b| *b == b'\n');
        let others = lines.filter(|line| !is_named(line, "cookie"));
        let mut lines: Vec<u8> = others.flatten().copied().collect();
        lines.extend_from_slice(format!("cookie: {cookie}\r\n").as_bytes());
        self.lines = lines;
    }

    /// Creates the request that opens a WebSocket for the session.
    pub fn websocket(&self) -> Built {
        self.request("GET", "websocket", "", "")
    }

    /// Creates a polling request that receives packets.
    pub fn get(&self) -> Built {
        self.request("GET", "polling", "", "")
    }

    /// Creates a polling request that sends packets.
    pub fn post(&self, body: &str) -> Built {
        let lines = format!(
            "content-type: text/plain;charset=UTF-8\r\ncontent-length: {}\r\n",
            body.len()
        );
        self.request("POST", "polling", &lines, body)
    }

    fn request(&self, method: &str, transport: &str, lines: &str, body: &str) -> Built {
        let with_parameters = |resource: &str| {
            let mark = if resource.contains('?') { '&' } else { '?' };
            let mut resource = format!("{resource}{mark}EIO=4&transport={transport}");
            if !self.sid.is_empty() {
                resource.push_str(&format!("&sid={}", self.sid));
            }
            resource
        };
        let mut target = self.target.clone();
        target.path = with_parameters(&target.path);
        let first = format!("{method} {} HTTP/1.1\r\n", with_parameters(&self.resource));
        let mut bytes = first.into_bytes();
        bytes.extend_from_slice(&self.lines);
        bytes.extend_from_slice(lines.as_bytes());
        let cookie_at = bytes.len();
        bytes.extend_from_slice(b"\r\n");
        bytes.extend_from_slice(body.as_bytes());
        Built {
            target,
            bytes,
            cookie_at,
        }
    }
}
