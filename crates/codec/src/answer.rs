//! A response as a client receives it, with the requested parts and the headers that the client
//! acts on.

use std::rc::Rc;

use super::{
    head::Notable,
    headers::Headers,
    reply::{Keep, Reply},
};

/// The parts of a response that the caller needs. The decoder skips all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Want {
    /// Whether the headers are needed.
    pub headers: bool,
    /// Whether the body is needed.
    pub body: bool,
    /// Whether the `total` of `Server-Timing` is needed.
    pub timing: bool,
    /// Whether the raw head is needed.
    pub head: bool,
}

impl Want {
    /// Requests all parts.
    pub const ALL: Want = Want {
        headers: true,
        body: true,
        timing: true,
        head: true,
    };

    /// Returns which parts the decoder must keep.
    #[must_use]
    pub fn keep(self) -> Keep {
        match self {
            Want { body: true, .. } => Keep::Body,
            Want { headers: true, .. } | Want { head: true, .. } => Keep::Head,
            _ => Keep::Nothing,
        }
    }
}

/// The requested parts of a response.
#[derive(Debug, Default)]
pub struct Response {
    /// HTTP status code, or 0 until the head is complete.
    pub status: u16,
    /// The headers without trailers. Empty unless requested.
    pub headers: Headers,
    /// The raw head, followed by the trailers. Empty unless requested.
    pub head: Vec<u8>,
    /// The `total` of `Server-Timing` in milliseconds. `None` if it is missing or was not
    /// requested.
    pub server_ms: Option<f64>,
    /// The body as received, up to [`super::reply::MAX_BODY`]. Empty unless requested.
    pub body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub body_cut: bool,
    /// Length of the body in bytes, even if the body was not kept.
    pub body_bytes: u64,
    /// Headers that the client acts on, such as redirects and cookies.
    pub notable: Option<Rc<Notable>>,
}

impl Response {
    /// Extracts the requested parts from a complete or partial reply.
    #[must_use]
    pub fn from_reply(reply: &mut Reply, want: Want) -> Response {
        let notable = reply.notable.take();
        let server_ms = notable.as_ref().and_then(|notable| notable.server_ms);
        Response {
            status: reply.status,
            headers: if want.headers {
                reply.take_headers(want.head)
            } else {
                Headers::default()
            },
            head: if want.head {
                reply.take_head()
            } else {
                Vec::new()
            },
            server_ms: server_ms.filter(|_| want.timing),
            body: std::mem::take(&mut reply.body),
            body_cut: reply.body_cut,
            body_bytes: reply.body_bytes,
            notable,
        }
    }

    /// Creates a response whose body has the given content encoding.
    #[must_use]
    pub fn encoded(encoding: &str, body: Vec<u8>) -> Response {
        let notable = Notable {
            encoding: Some(encoding.to_owned()),
            ..Notable::default()
        };
        Response {
            notable: Some(Rc::new(notable)),
            body,
            ..Response::default()
        }
    }

    /// Returns the values of `Set-Cookie`.
    #[must_use]
    pub fn set_cookies(&self) -> &[String] {
        self.notable
            .as_ref()
            .map_or(&[], |notable| &notable.set_cookies)
    }

    /// Returns the `Location` of a redirect.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.notable.as_ref()?.location.as_deref()
    }

    /// Returns the raw value of `Content-Encoding`.
    #[must_use]
    pub fn encoding(&self) -> Option<&str> {
        self.notable.as_ref()?.encoding.as_deref()
    }
}
