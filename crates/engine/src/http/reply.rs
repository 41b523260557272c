//! Answers on a connection of the batch driver, one after the other: where each ends, its status, and - only if somebody will
//! look - its head and body as bytes. No I/O, no clock.
//!
//! A server's heads are the same from answer to answer but for the date, so they are remembered: a head that is known costs a
//! comparison instead of a parse.

use measure::outcome::ProtocolFault;

use super::{
    decode::{self, Facts, MAX_BODY, MAX_HEAD},
    framing::Framing,
};

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

/// The heads that a worker has seen last.
#[derive(Debug, Default)]
pub struct Heads {
    known: Vec<Known>,
    next: usize,
    /// The length of the last body, if it was told.
    last_body: u64,
    last_head: usize,
}

#[derive(Debug)]
struct Known {
    bytes: Vec<u8>,
    /// Where the date stands, which may differ.
    date: std::ops::Range<usize>,
    facts: Facts,
}

/// So many different heads are remembered: a few lengths of a short body.
const KNOWN: usize = 4;
/// The date's length in every answer that has one.
const DATE: usize = 29;

impl Heads {
    /// The facts of the head at the beginning of these bytes; none: it is not complete.
    #[inline]
    fn read(&mut self, bytes: &[u8], to_head: bool) -> Result<Option<Facts>, ProtocolFault> {
        if !to_head && let Some(known) = self.known.iter().find(|known| known.is_head_of(bytes)) {
            return Ok(Some(known.facts));
        }
        let facts = decode::facts(bytes, to_head)?;
        if let Some(facts) = facts.filter(|facts| !to_head && !facts.interim) {
            self.remember(&bytes[..facts.length], facts);
        }
        Ok(facts)
    }

    #[cold]
    fn remember(&mut self, head: &[u8], facts: Facts) {
        let known = Known {
            date: date_in(head),
            bytes: head.to_vec(),
            facts,
        };
        if self.known.len() < KNOWN {
            self.known.push(known);
        } else {
            self.known[self.next] = known;
            self.next = (self.next + 1) % KNOWN;
        }
    }

    /// How much to ask for first, where a long body is to be expected behind the head that nobody wants copied.
    #[must_use]
    pub fn first_read(&self) -> Option<usize> {
        (self.last_body >= DISCARD).then_some(self.last_head + 64)
    }
}

/// A body of which so much is still to come is worth a call of its own.
const DISCARD: u64 = 16 << 10;

impl Known {
    #[inline]
    fn is_head_of(&self, bytes: &[u8]) -> bool {
        let length = self.bytes.len();
        if bytes.len() < length {
            return false;
        }
        let (date, bytes) = (self.date.clone(), &bytes[..length]);
        // The date differs once a second: the rest is compared around it.
        bytes[date.end..] == self.bytes[date.end..]
            && bytes[..date.start] == self.bytes[..date.start]
            && (bytes[date.clone()] == self.bytes[date.clone()]
                || !bytes[date].iter().any(|b| matches!(b, b'\r' | b'\n')))
    }
}

/// Where the value of `Date` stands in a head; an empty place at its end where there is none.
fn date_in(head: &[u8]) -> std::ops::Range<usize> {
    let mut at = 0;
    for line in head.split_inclusive(|b| *b == b'\n') {
        if line.len() > 6 + DATE && line[..6].eq_ignore_ascii_case(b"date: ") {
            return at + 6..at + 6 + DATE;
        }
        at += line.len();
    }
    head.len()..head.len()
}

/// Reads the answers of one connection.
#[derive(Debug)]
pub struct Replies {
    state: State,
    /// The bytes of an incomplete head.
    stash: Vec<u8>,
    /// What is kept of the answer under way: as its first bytes came.
    keep: Keep,
    /// Lines of its trailers, where its head is kept.
    trailers: Vec<u8>,
    /// The answer under way, and the last one until the next begins.
    pub reply: Reply,
}

#[derive(Debug)]
enum State {
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
    /// Its head, if it was wanted.
    pub head: Vec<u8>,
    /// Its body without the framing, if it was wanted.
    pub body: Vec<u8>,
    /// Bytes read, head, body and framing.
    pub bytes: u64,
}

impl Default for Replies {
    fn default() -> Self {
        Replies {
            state: State::Head,
            stash: Vec::new(),
            keep: Keep::default(),
            trailers: Vec::new(),
            reply: Reply::default(),
        }
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
        let reply = &mut self.reply;
        (reply.status, reply.bytes) = (0, 0);
        reply.head.clear();
        reply.body.clear();
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
        let State::Body(framing) = &mut self.state else {
            return Ok(Fed { used, done: false });
        };
        let (reply, keep) = (&mut self.reply, self.keep);
        let trailers = &mut self.trailers;
        let data = |data: &[u8]| {
            if keep == Keep::Body {
                let room = MAX_BODY.saturating_sub(reply.body.len());
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
        let head = &mut self.reply.head;
        // The empty line that ends it.
        let end = if head.ends_with(b"\r\n") { 2 } else { 1 };
        head.truncate(head.len().saturating_sub(end));
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
            let facts = if stashed == 0 {
                heads.read(rest, to_head)?
            } else {
                self.stash.extend_from_slice(rest);
                heads.read(&self.stash, to_head)?
            };
            let Some(facts) = facts else {
                if stashed == 0 {
                    self.stash.extend_from_slice(rest);
                }
                return if self.stash.len() > MAX_HEAD {
                    Err(ProtocolFault::HeadTooLarge)
                } else {
                    Ok(Step::More)
                };
            };
            if keep >= Keep::Head && !facts.interim {
                let head = if stashed == 0 { rest } else { &self.stash[..] };
                self.reply.head.extend_from_slice(&head[..facts.length]);
            }
            used += facts.length - stashed;
            self.stash.clear();
            if facts.interim {
                continue;
            }
            self.reply.status = facts.status;
            self.reply.keep_alive = facts.keep_alive;
            (heads.last_head, heads.last_body) = (facts.length, 0);
            let Some(framing) = facts.body else {
                return Ok(Step::Done(used));
            };
            if let Framing::Length(length) = framing {
                heads.last_body = length;
            }
            self.state = State::Body(framing);
            return Ok(Step::Body(used));
        }
    }

    /// How many bytes of a body nobody wants are still to come, where that is known and enough to be worth a call.
    #[must_use]
    pub fn unwanted(&self) -> Option<u64> {
        match self.state {
            State::Body(Framing::Length(left)) if self.keep < Keep::Body && left >= DISCARD => {
                Some(left)
            }
            _ => None,
        }
    }

    /// So many bytes of the body were thrown away unseen; answers whether the answer is complete.
    pub fn discarded(&mut self, n: u64) -> bool {
        self.reply.bytes += n;
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
mod tests {
    use super::*;

    fn answer(date: &str, body: &str) -> Vec<u8> {
        format!(
            "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        )
        .into_bytes()
    }

    const MONDAY: &str = "Mon, 01 Jan 2024 00:00:00 GMT";
    const TUESDAY: &str = "Tue, 02 Jan 2024 00:00:00 GMT";

    #[test]
    fn answers_are_told_apart_in_any_split() {
        let mut stream = answer(MONDAY, "hello");
        stream.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        stream.extend(answer(TUESDAY, "hello"));
        stream.extend_from_slice(
            b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
        );
        for size in 1..=stream.len() {
            let (mut heads, mut replies) = (Heads::default(), Replies::default());
            let mut seen = Vec::new();
            replies.begin();
            for chunk in stream.chunks(size) {
                let mut rest = chunk;
                while !rest.is_empty() {
                    let fed = replies
                        .feed(rest, &mut heads, false, Keep::Body)
                        .expect("HTTP");
                    rest = &rest[fed.used..];
                    if fed.done {
                        let body = String::from_utf8_lossy(&replies.reply.body).into_owned();
                        assert!(replies.reply.head.ends_with(b"\r\n\r\n"));
                        seen.push((replies.reply.status, body, replies.reply.bytes));
                        replies.begin();
                    }
                }
            }
            let bytes: u64 = seen.iter().map(|(_, _, bytes)| bytes).sum();
            assert_eq!(bytes, stream.len() as u64, "size {size}");
            let seen: Vec<_> = seen.iter().map(|(s, b, _)| (*s, b.as_str())).collect();
            assert_eq!(seen, [(200, "hello"), (200, "hello"), (404, "ab")]);
        }
    }

    #[test]
    fn trailers_stand_behind_the_head_in_any_split() {
        let stream = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\nX-T: one\r\nX-U:\r\n\r\n";
        for size in 1..=stream.len() {
            let (mut heads, mut replies) = (Heads::default(), Replies::default());
            replies.begin();
            for piece in stream.chunks(size) {
                replies
                    .feed(piece, &mut heads, false, Keep::Head)
                    .expect("HTTP");
            }
            let head = String::from_utf8_lossy(&replies.reply.head).into_owned();
            let wanted =
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nX-T: one\r\nX-U:\r\n\r\n";
            assert_eq!(head, wanted, "size {size}");
        }
    }

    #[test]
    fn a_known_head_is_known_by_everything_but_its_date() {
        let mut heads = Heads::default();
        let facts = |heads: &mut Heads, bytes: &[u8]| {
            heads
                .read(bytes, false)
                .map(|facts| facts.map(|f| f.status))
        };
        assert_eq!(facts(&mut heads, &answer(MONDAY, "x")), Ok(Some(200)));
        assert_eq!(facts(&mut heads, &answer(TUESDAY, "x")), Ok(Some(200)));
        assert_eq!(heads.known.len(), 1);
        // A head that is cut inside of what is known is not complete; another length is another head.
        assert_eq!(facts(&mut heads, &answer(MONDAY, "x")[..40]), Ok(None));
        assert_eq!(facts(&mut heads, &answer(MONDAY, "xy")), Ok(Some(200)));
        assert_eq!(heads.known.len(), 2);
        // What stands in the date's place must be a value.
        let mut odd = answer(MONDAY, "x");
        odd[23..27].copy_from_slice(b"\r\n\r\n");
        assert_eq!(
            heads.read(&odd, false).map(|f| f.map(|f| f.length)),
            Ok(Some(27))
        );
    }

    #[test]
    fn no_body_where_none_can_be() {
        let (mut heads, mut replies) = (Heads::default(), Replies::default());
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n";
        let fed = replies.feed(head, &mut heads, true, Keep::Status);
        assert_eq!(fed.map(|fed| fed.done), Ok(true));
        // And what was the answer to HEAD is not remembered for GET.
        replies.begin();
        let fed = replies.feed(head, &mut heads, false, Keep::Status);
        assert_eq!(fed.map(|fed| fed.done), Ok(false));
    }

    #[test]
    fn long_bodies_may_go_unseen() {
        let (mut heads, mut replies) = (Heads::default(), Replies::default());
        let head = b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
        replies
            .feed(head, &mut heads, false, Keep::Head)
            .expect("HTTP");
        assert_eq!(replies.unwanted(), Some(100_000));
        assert!(!replies.discarded(99_999) && replies.discarded(1));
        assert_eq!(replies.reply.bytes, head.len() as u64 + 100_000);
        assert_eq!(heads.first_read(), Some(head.len() + 64));
        // What is kept of an answer was decided when it began.
        replies.begin();
        for keep in [Keep::Body, Keep::Nothing] {
            let half = if keep == Keep::Body {
                &head[..20]
            } else {
                &head[20..]
            };
            replies.feed(half, &mut heads, false, keep).expect("HTTP");
        }
        assert_eq!(replies.unwanted(), None);
        assert_eq!(replies.reply.head, head);
    }
}
