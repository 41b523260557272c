//! Answers on one connection, one after the other: where each ends, its status, and - only if somebody will look - its head and
//! body as bytes. No I/O, no clock.

use std::rc::Rc;

use measure::outcome::ProtocolFault;

use super::{
    framing::Framing,
    head::{self, Head, MAX_HEAD, Notable},
    heads::{DISCARD, Heads},
};

/// So much of a body is kept for those who look at it.
pub const MAX_BODY: usize = 64 << 20;
/// So much room is made at once for a body of known length; more comes as it is filled.
const ROOM: u64 = 64 << 10;

/// What of an answer somebody will look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Keep {
    /// Nothing: it is only counted.
    #[default]
    Nothing,
    /// Its status.
    Status,
    /// Its head too.
    Head,
    /// Everything.
    Body,
}

/// Reads the answers of one connection.
#[derive(Debug, Default)]
pub struct Replies {
    state: State,
    /// The bytes of an incomplete head.
    stash: Vec<u8>,
    /// What is kept of the answer under way: as its first bytes came.
    keep: Keep,
    /// So many bytes are kept of the body of an answer with a status of 400 and above that nobody wants: what a server says of
    /// its refusal explains it.
    pub excerpt: usize,
    /// The most that is kept of the body under way.
    most: usize,
    /// Lines of its trailers, where its head is kept.
    trailers: Vec<u8>,
    /// The answer under way, and the last one until the next begins.
    pub reply: Reply,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Head,
    Body(Framing),
}

/// An answer, as far as it was wanted.
#[derive(Debug, Default)]
pub struct Reply {
    /// Its status; 0 until the head is complete.
    pub status: u16,
    /// Whether the connection may be used again.
    pub keep_alive: bool,
    /// Headers that a client acts upon.
    pub notable: Option<Rc<Notable>>,
    /// Its head, if it was wanted, and trailers behind the head's lines.
    pub head: Vec<u8>,
    /// Bytes of the head; with trailers behind them, of its lines alone.
    pub head_length: usize,
    /// Its body without the framing, if it was wanted, up to [`MAX_BODY`].
    pub body: Vec<u8>,
    /// Whether the body was longer than is kept.
    pub body_cut: bool,
    /// Bytes of the body, without the framing, whether kept or not.
    pub body_bytes: u64,
    /// Bytes read, head, body and framing.
    pub bytes: u64,
}

impl Reply {
    /// The lines of its head, names in lower case, if it was wanted.
    #[must_use]
    pub fn headers(&self) -> Vec<(String, String)> {
        if self.head.len() == self.head_length {
            return head::lines(&self.head);
        }
        // Trailers are no headers; the empty line gave way to them.
        let lines = self.head_length.min(self.head.len());
        head::lines(&[&self.head[..lines], b"\r\n"].concat())
    }

    fn forget(&mut self) {
        (self.status, self.bytes, self.head_length) = (0, 0, 0);
        (self.body_cut, self.body_bytes) = (false, 0);
        self.notable = None;
        self.head.clear();
        self.body.clear();
    }
}

/// How far [`Replies::feed`] got.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fed {
    /// Bytes used up; the rest belongs to the next answer.
    pub used: usize,
    /// Whether the answer is complete.
    pub done: bool,
}

impl Replies {
    /// Makes ready for the next answer.
    #[inline]
    pub fn begin(&mut self) {
        self.state = State::Head;
        self.stash.clear();
        self.trailers.clear();
        self.reply.forget();
    }

    /// Takes bytes of the answer under way.
    ///
    /// # Errors
    /// When they are no HTTP/1 answer.
    #[inline]
    pub fn feed(
        &mut self,
        bytes: &[u8],
        heads: &mut Heads,
        to_head: bool,
        keep: Keep,
    ) -> Result<Fed, ProtocolFault> {
        let mut used = 0;
        if let State::Head = self.state {
            if self.reply.bytes == 0 {
                self.keep = keep;
            }
            match self.head(bytes, heads, to_head, self.keep)? {
                Step::More => {
                    self.reply.bytes += bytes.len() as u64;
                    return Ok(Fed {
                        used: bytes.len(),
                        done: false,
                    });
                }
                Step::Done(n) => {
                    self.reply.bytes += n as u64;
                    return Ok(Fed {
                        used: n,
                        done: true,
                    });
                }
                Step::Body(n) => used = n,
            }
        }
        self.body(bytes, used)
    }

    /// Takes bytes of the body, behind so many that were the head's.
    fn body(&mut self, bytes: &[u8], mut used: usize) -> Result<Fed, ProtocolFault> {
        let State::Body(framing) = &mut self.state else {
            return Ok(Fed { used, done: false });
        };
        let (reply, keep, most) = (&mut self.reply, self.keep, self.most);
        let trailers = &mut self.trailers;
        let data = |data: &[u8]| {
            reply.body_bytes += data.len() as u64;
            if most > 0 {
                let room = most.saturating_sub(reply.body.len());
                reply.body_cut |= keep == Keep::Body && data.len() > room;
                reply.body.extend_from_slice(&data[..data.len().min(room)]);
            }
        };
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

    /// Puts the trailers behind the head's lines, where wrk's scripts look for them.
    #[cold]
    fn add_trailers(&mut self) {
        let reply = &mut self.reply;
        let head = &mut reply.head;
        // The empty line that ends it.
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
    ) -> Result<Step, ProtocolFault> {
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
                    Ok(Step::More)
                };
            };
            if keep >= Keep::Head && !head.interim {
                let bytes = if stashed == 0 { rest } else { &self.stash[..] };
                self.reply.head.extend_from_slice(&bytes[..head.length]);
            }
            used += head.length - stashed;
            self.stash.clear();
            if !head.interim {
                return Ok(self.behind(head, heads, used));
            }
        }
    }

    /// What comes behind a head that ends after so many bytes.
    #[inline]
    fn behind(&mut self, head: Head, heads: &mut Heads, used: usize) -> Step {
        let reply = &mut self.reply;
        (reply.status, reply.keep_alive) = (head.status, head.keep_alive);
        (reply.notable, reply.head_length) = (head.notable, head.length);
        self.most = match self.keep {
            Keep::Body => MAX_BODY,
            _ if head.status >= 400 => self.excerpt,
            _ => 0,
        };
        heads.seen(head.length, 0);
        let Some(framing) = head.body else {
            return Step::Done(used);
        };
        if let Framing::Length(length) = framing {
            heads.seen(head.length, length);
            if self.keep == Keep::Body {
                self.reply.body.reserve(length.min(ROOM) as usize);
            }
        }
        self.state = State::Body(framing);
        Step::Body(used)
    }

    /// How many bytes of a body nobody wants are still to come, where that is known and enough to be worth a call.
    #[must_use]
    pub fn unwanted(&self) -> Option<u64> {
        match self.state {
            State::Body(Framing::Length(left))
                if self.keep < Keep::Body
                    && left >= DISCARD
                    && self.reply.body.len() >= self.most =>
            {
                Some(left)
            }
            _ => None,
        }
    }

    /// So many bytes of the body were thrown away unseen; answers whether the answer is complete.
    pub fn discarded(&mut self, n: u64) -> bool {
        self.reply.bytes += n;
        self.reply.body_bytes += n;
        match &mut self.state {
            State::Body(Framing::Length(left)) => {
                *left = left.saturating_sub(n);
                *left == 0
            }
            _ => false,
        }
    }

    /// The connection was closed: whether that completes the answer under way.
    #[must_use]
    pub fn closed(&self) -> bool {
        matches!(self.state, State::Body(Framing::UntilClose))
    }
}

enum Step {
    /// The head is not complete.
    More,
    /// The head is all there is; so many bytes.
    Done(usize),
    /// A body comes behind so many bytes.
    Body(usize),
}

#[cfg(test)]
#[path = "reply_tests.rs"]
mod tests;
