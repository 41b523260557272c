//! Decoder for the consecutive responses of one connection: their ends, statuses and, if requested,
//! heads and bodies. Does no I/O.

use std::rc::Rc;

use measure::outcome::ProtocolFault;

use super::{
    framing::Framing,
    h2,
    head::{MAX_HEAD, Notable, ResponseHead},
    headers::Headers,
    heads::{DISCARD, Heads},
};

/// Maximum number of body bytes kept per response.
pub const MAX_BODY: usize = 64 << 20;
/// Maximum memory to reserve in advance for a body of known length.
const ROOM: u64 = 64 << 10;

/// The parts of a response to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Keep {
    /// Nothing. The response is only counted.
    #[default]
    Nothing,
    /// The status only.
    Status,
    /// Status and head.
    Head,
    /// Status, head and body.
    Body,
}

/// Decoder for the responses of one connection.
#[derive(Debug, Default)]
pub struct Replies {
    state: ReplyState,
    stash: Vec<u8>,
    /// Parts to keep of the current response. Fixed at its first byte.
    keep: Keep,
    /// Number of body bytes to keep of a response with status 400 or above, to explain the failure.
    pub excerpt: usize,
    /// Maximum number of body bytes to keep of the current response.
    most: usize,
    trailers: Vec<u8>,
    /// Whether the connection can be reused after the current response.
    pub keep_alive: bool,
    /// The current response. After completion, it stays available until the next response starts.
    pub reply: Reply,
}

#[derive(Debug, Default)]
enum ReplyState {
    #[default]
    Head,
    Body(Framing),
}

/// The kept parts of a response that is being received, over any version of HTTP.
#[derive(Debug, Default)]
pub struct Reply {
    /// HTTP status. 0 until the head is complete.
    pub status: u16,
    /// Headers that the client acts on.
    pub notable: Option<Rc<Notable>>,
    /// The head of an HTTP/1.1 response, followed by trailers. Empty unless kept.
    pub head: Vec<u8>,
    /// Length of the head without trailers.
    pub head_length: usize,
    /// Head and trailers of an HTTP/2 response. `None` unless kept.
    pub sections: Option<Box<FieldSections>>,
    /// The body without framing, up to [`MAX_BODY`]. Empty unless kept.
    pub body: Vec<u8>,
    /// Whether the body was longer than the limit.
    pub body_cut: bool,
    /// Number of body bytes without framing, even if the body was not kept.
    pub body_bytes: u64,
    /// Number of bytes read, including head and framing.
    pub bytes: u64,
}

/// The header sections of an HTTP/2 response.
#[derive(Debug)]
pub struct FieldSections {
    /// The head.
    pub head: Rc<h2::ResponseHead>,
    /// The trailers. `None` if there are none so far.
    pub trailers: Option<Rc<h2::ResponseHead>>,
}

impl Reply {
    /// Begins with the head of an HTTP/2 response, which is kept on request.
    pub fn begin_http2(&mut self, head: &Rc<h2::ResponseHead>, keeps_head: bool) {
        self.status = head.status;
        self.notable.clone_from(&head.notable);
        self.sections = keeps_head.then(|| {
            Box::new(FieldSections {
                head: Rc::clone(head),
                trailers: None,
            })
        });
    }

    /// Adds a part of the body, of which at most `most` bytes are kept. `is_needed` says whether
    /// the caller needs the whole body.
    #[inline]
    pub fn add_body(&mut self, data: &[u8], most: usize, is_needed: bool) {
        self.body_bytes += data.len() as u64;
        if most > 0 {
            let room = most.saturating_sub(self.body.len());
            self.body_cut |= is_needed && data.len() > room;
            self.body.extend_from_slice(&data[..data.len().min(room)]);
        }
    }

    /// Returns the headers. Empty unless the head is kept. Takes the head unless it is needed
    /// later.
    pub(super) fn take_headers(&mut self, is_head_needed: bool) -> Headers {
        if self.status == 0 {
            return Headers::default();
        }
        if let Some(sections) = &self.sections {
            return Headers::from_fields(Rc::clone(&sections.head));
        }
        let mut head = if is_head_needed {
            self.head.clone()
        } else {
            std::mem::take(&mut self.head)
        };
        if head.len() != self.head_length {
            // Exclude trailers, which overwrote the empty line after the head.
            head.truncate(self.head_length);
            head.extend_from_slice(b"\r\n");
        }
        Headers::from_lines(head)
    }

    /// Takes the raw head, followed by the lines of trailers. Empty unless the head is kept.
    pub(super) fn take_head(&mut self) -> Vec<u8> {
        let Some(sections) = self.sections.take() else {
            return std::mem::take(&mut self.head);
        };
        let mut raw = format!("HTTP/2 {}\r\n", self.status).into_bytes();
        push_lines(&mut raw, &sections.head);
        if let Some(trailers) = &sections.trailers {
            push_lines(&mut raw, trailers);
        }
        raw.extend_from_slice(b"\r\n");
        raw
    }

    fn forget(&mut self) {
        (self.status, self.bytes, self.head_length) = (0, 0, 0);
        (self.body_cut, self.body_bytes) = (false, 0);
        self.notable = None;
        self.sections = None;
        self.head.clear();
        self.body.clear();
    }
}

fn push_lines(raw: &mut Vec<u8>, head: &h2::ResponseHead) {
    for field in head.fields() {
        raw.extend_from_slice(field.name);
        raw.extend_from_slice(b": ");
        raw.extend_from_slice(field.value);
        raw.extend_from_slice(b"\r\n");
    }
}

/// Result of [`Replies::feed`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fed {
    /// Number of bytes consumed. The rest belongs to the next response.
    pub used: usize,
    /// Whether the response is complete.
    pub done: bool,
}

impl Replies {
    /// Prepares the decoder for the next response.
    #[inline]
    pub fn begin(&mut self) {
        self.state = ReplyState::Head;
        self.stash.clear();
        self.trailers.clear();
        self.reply.forget();
    }

    /// Consumes bytes of the current response. Fails if they are not part of an HTTP/1 response.
    #[inline]
    pub fn feed(
        &mut self,
        bytes: &[u8],
        heads: &mut Heads,
        to_head: bool,
        keep: Keep,
    ) -> Result<Fed, ProtocolFault> {
        let mut used = 0;
        if let ReplyState::Head = self.state {
            if self.reply.bytes == 0 {
                self.keep = keep;
            }
            match self.head(bytes, heads, to_head, self.keep)? {
                ReplyStep::More => {
                    self.reply.bytes += bytes.len() as u64;
                    return Ok(Fed {
                        used: bytes.len(),
                        done: false,
                    });
                }
                ReplyStep::Done(n) => {
                    self.reply.bytes += n as u64;
                    return Ok(Fed {
                        used: n,
                        done: true,
                    });
                }
                ReplyStep::Body(n) => used = n,
            }
        }
        self.body(bytes, used)
    }

    /// Consumes bytes of the body. `used` is the number of preceding bytes that belong to the head.
    fn body(&mut self, bytes: &[u8], mut used: usize) -> Result<Fed, ProtocolFault> {
        let ReplyState::Body(framing) = &mut self.state else {
            return Ok(Fed { used, done: false });
        };
        let (reply, keep, most) = (&mut self.reply, self.keep, self.most);
        let trailers = &mut self.trailers;
        let data = |data: &[u8]| reply.add_body(data, most, keep == Keep::Body);
        let taken = framing.take_all(&bytes[used..], data, |byte| {
            if keep >= Keep::Head && trailers.len() < MAX_HEAD {
                trailers.push(byte);
            }
        })?;
        if taken.done && !self.trailers.is_empty() {
            self.add_trailers();
        }
        let reply = &mut self.reply;
        used += taken.used;
        reply.bytes += used as u64;
        Ok(Fed {
            used,
            done: taken.done,
        })
    }

    #[cold]
    fn add_trailers(&mut self) {
        let reply = &mut self.reply;
        let head = &mut reply.head;
        let end = if head.ends_with(b"\r\n") { 2 } else { 1 };
        head.truncate(head.len().saturating_sub(end));
        reply.head_length = head.len();
        head.append(&mut self.trailers);
        head.extend_from_slice(b"\r\n");
    }

    fn head(
        &mut self,
        bytes: &[u8],
        heads: &mut Heads,
        to_head: bool,
        keep: Keep,
    ) -> Result<ReplyStep, ProtocolFault> {
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let stashed = self.stash.len();
            let read = if stashed == 0 {
                heads.read(rest, to_head)?
            } else {
                self.stash.extend_from_slice(rest);
                heads.read(&self.stash, to_head)?
            };
            let Some(head) = read else {
                if stashed == 0 {
                    self.stash.extend_from_slice(rest);
                }
                return if self.stash.len() > MAX_HEAD {
                    Err(ProtocolFault::HeadTooLarge)
                } else {
                    Ok(ReplyStep::More)
                };
            };
            if keep >= Keep::Head && !head.interim {
                let bytes = if stashed == 0 { rest } else { &self.stash[..] };
                self.reply.head.extend_from_slice(&bytes[..head.length]);
            }
            used += head.length - stashed;
            self.stash.clear();
            if !head.interim {
                return Ok(self.after_head(head, heads, used));
            }
        }
    }

    #[inline]
    fn after_head(&mut self, head: ResponseHead, heads: &mut Heads, used: usize) -> ReplyStep {
        let reply = &mut self.reply;
        self.keep_alive = head.keep_alive;
        reply.status = head.status;
        (reply.notable, reply.head_length) = (head.notable, head.length);
        self.most = match self.keep {
            Keep::Body => MAX_BODY,
            _ if head.status >= 400 => self.excerpt,
            _ => 0,
        };
        heads.seen(head.length, 0);
        let Some(framing) = head.body else {
            return ReplyStep::Done(used);
        };
        if let Framing::Length(length) = framing {
            heads.seen(head.length, length);
            if self.keep == Keep::Body {
                self.reply.body.reserve(length.min(ROOM) as usize);
            }
        }
        self.state = ReplyState::Body(framing);
        ReplyStep::Body(used)
    }

    /// Returns the number of remaining body bytes that the caller does not need. `None` if the
    /// number is unknown or too small for discarding to be worthwhile.
    #[must_use]
    pub fn unwanted(&self) -> Option<u64> {
        match self.state {
            ReplyState::Body(Framing::Length(left))
                if self.keep < Keep::Body
                    && left >= DISCARD
                    && self.reply.body.len() >= self.most =>
            {
                Some(left)
            }
            _ => None,
        }
    }

    /// Reports that `n` bytes of the body were discarded without reading. Returns whether the
    /// response is complete.
    pub fn discarded(&mut self, n: u64) -> bool {
        self.reply.bytes += n;
        self.reply.body_bytes += n;
        match &mut self.state {
            ReplyState::Body(Framing::Length(left)) => {
                *left = left.saturating_sub(n);
                *left == 0
            }
            _ => false,
        }
    }

    /// Reports that the connection was closed. Returns whether this completes the response.
    #[must_use]
    pub fn closed(&self) -> bool {
        matches!(self.state, ReplyState::Body(Framing::UntilClose))
    }
}

enum ReplyStep {
    More,
    /// A response without a body. Contains the length of the head in bytes.
    Done(usize),
    Body(usize),
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
