//! An answer as a client hands it on: what was wanted of it, and what it tells the client to do. It reads no bytes.

use std::rc::Rc;

use super::{
    head::Notable,
    reply::{Keep, Reply},
};

/// What of an answer somebody will look at; the rest is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Want {
    /// All headers.
    pub headers: bool,
    /// The body.
    pub body: bool,
    /// The total of `Server-Timing`.
    pub timing: bool,
    /// The head as it came.
    pub head: bool,
}

impl Want {
    /// Everything.
    pub const ALL: Want = Want {
        headers: true,
        body: true,
        timing: true,
        head: true,
    };

    /// What of the bytes has to be kept for it.
    #[must_use]
    pub fn keep(self) -> Keep {
        match self {
            Want { body: true, .. } => Keep::Body,
            Want { headers: true, .. } | Want { head: true, .. } => Keep::Head,
            _ => Keep::Nothing,
        }
    }
}

/// An answer, as far as it was wanted.
#[derive(Debug, Default)]
pub struct Answer {
    /// The status; 0 until the head is complete.
    pub status: u16,
    /// Header names in lower case with their values, when wanted.
    pub headers: Vec<(String, String)>,
    /// The head as it came, when wanted; of trailers behind it the lines alone.
    pub head: Vec<u8>,
    /// The total of `Server-Timing` in milliseconds, when wanted and there.
    pub server_ms: Option<f64>,
    /// The body as it came over the wire, when wanted, up to [`super::reply::MAX_BODY`].
    pub body: Vec<u8>,
    /// Whether the body was longer than is kept.
    pub body_cut: bool,
    /// Bytes of the body on the wire, kept or not.
    pub body_bytes: u64,
    /// Headers that a client acts upon.
    pub notable: Option<Rc<Notable>>,
}

impl Answer {
    /// What was wanted of a reply, whole or as far as it came; its body is taken out of it.
    #[must_use]
    pub fn of(reply: &mut Reply, want: Want) -> Answer {
        let notable = reply.notable.take();
        let server_ms = notable.as_ref().and_then(|notable| notable.server_ms);
        Answer {
            status: reply.status,
            headers: if want.headers && reply.status > 0 {
                reply.headers()
            } else {
                Vec::new()
            },
            head: if want.head {
                std::mem::take(&mut reply.head)
            } else {
                Vec::new()
            },
            server_ms: server_ms.filter(|_| want.timing),
            // Nothing of it was kept where nobody wanted it.
            body: std::mem::take(&mut reply.body),
            body_cut: reply.body_cut,
            body_bytes: reply.body_bytes,
            notable,
        }
    }

    /// An answer with this body in this encoding.
    #[must_use]
    pub fn encoded(encoding: &str, body: Vec<u8>) -> Answer {
        let notable = Notable {
            encoding: Some(encoding.to_owned()),
            ..Notable::default()
        };
        Answer {
            notable: Some(Rc::new(notable)),
            body,
            ..Answer::default()
        }
    }

    /// Values of `Set-Cookie`.
    #[must_use]
    pub fn set_cookies(&self) -> &[String] {
        self.notable
            .as_ref()
            .map_or(&[], |notable| &notable.set_cookies)
    }

    /// `Location` of a redirect.
    #[must_use]
    pub fn location(&self) -> Option<&str> {
        self.notable.as_ref()?.location.as_deref()
    }

    /// `Content-Encoding` as it stands.
    #[must_use]
    pub fn encoding(&self) -> Option<&str> {
        self.notable.as_ref()?.encoding.as_deref()
    }
}
