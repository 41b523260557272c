//! HTTP/1.1 on one connection: writing requests and reading responses.

use std::task::{Context, Poll, ready};

use measure::Fault;

use super::observer::{ExchangeError, ExchangeObserver, ExchangeStage, WorkerBuffers};
use crate::{
    deadlines::Limit,
    net::{Stream, fault::socket_fault},
};
use codec::reply::{Keep, Replies};

/// Maximum number of body bytes to discard per call.
const SCRATCH: usize = 1 << 20;

/// An HTTP/1.1 connection.
#[derive(Debug)]
pub struct Http1 {
    stream: Stream,
    replies: Replies,
    /// Bytes received after a response that ends HTTP on the connection.
    after_upgrade: Option<Box<[u8]>>,
}

#[derive(Debug, Default)]
struct Outgoing {
    written: usize,
    flushed: bool,
    broken: Option<Fault>,
}

impl Http1 {
    /// Creates a connection on a new stream.
    #[must_use]
    pub fn over(stream: Stream) -> Http1 {
        Http1 {
            stream,
            replies: Replies::default(),
            after_upgrade: None,
        }
    }

    /// Returns the number of bytes that were read after a response with status 101.
    #[must_use]
    pub fn bytes_after_upgrade(&self) -> u64 {
        self.after_upgrade
            .as_ref()
            .map_or(0, |read| read.len() as u64)
    }

    /// Returns the stream after a response with status 101, and the bytes that were read after the
    /// response.
    #[must_use]
    pub fn into_upgraded(self) -> (Stream, Vec<u8>) {
        let read = self.after_upgrade.map(Vec::from);
        (self.stream, read.unwrap_or_default())
    }

    /// Returns the decoder, which contains the current or last response.
    #[must_use]
    pub fn replies(&mut self) -> &mut Replies {
        &mut self.replies
    }

    fn poll_write<W: ExchangeObserver>(
        &mut self,
        cx: &mut Context<'_>,
        io: &WorkerBuffers<'_>,
        request: &[u8],
        out: &mut Outgoing,
        watch: &mut W,
    ) -> Poll<()> {
        while out.written < request.len() {
            if out.written == 0 {
                // On loopback, the response may arrive before the call returns.
                watch.on_begin(io.clock);
            }
            match ready!(self.stream.poll_write(cx, &request[out.written..])) {
                Ok(0) => out.broken = Some(Fault::BrokenPipe),
                Ok(n) => {
                    out.written += n;
                    watch.wrote(n);
                    continue;
                }
                Err(e) => out.broken = Some(socket_fault(&e)),
            }
            return Poll::Ready(());
        }
        match ready!(self.stream.poll_flush(cx)) {
            Ok(()) => watch.sent(io.clock),
            Err(e) => out.broken = Some(socket_fault(&e)),
        }
        out.flushed = true;
        Poll::Ready(())
    }

    fn poll_answers<W: ExchangeObserver>(
        &mut self,
        cx: &mut Context<'_>,
        io: &WorkerBuffers<'_>,
        limit: &Limit,
        watch: &mut W,
    ) -> Poll<Result<u64, Fault>> {
        loop {
            let rest = self.replies.unwanted();
            let thrown = rest.and_then(|rest| self.poll_discard(cx, io, rest));
            let step = match thrown {
                Some(thrown) => thrown.map(|n| self.thrown(n, io, watch)),
                None => self.poll_some(cx, io, watch),
            };
            match step {
                Poll::Ready(Ok(None)) => {}
                Poll::Ready(Ok(Some(now))) => return Poll::Ready(Ok(now)),
                Poll::Ready(Err(fault)) => return Poll::Ready(Err(fault)),
                Poll::Pending => return waits(cx, limit, watch).map(Err),
            }
        }
    }

    /// Reads available bytes, up to the end of the last response. Returns the time at which the
    /// last response was complete.
    fn poll_some<W: ExchangeObserver>(
        &mut self,
        cx: &mut Context<'_>,
        io: &WorkerBuffers<'_>,
        watch: &mut W,
    ) -> Poll<Result<Option<u64>, Fault>> {
        let (mut buffer, mut heads) = (io.buffer.borrow_mut(), io.heads.borrow_mut());
        let next = watch.next();
        // Read only the head, so that the kernel can discard a long body.
        let awaits_head = self.replies.reply.status == 0;
        let unseen = awaits_head && next.keep < Keep::Body && self.stream.can_discard();
        let short = heads.first_read().filter(|_| unseen);
        let room = short.map_or(buffer.len(), |n| n.min(buffer.len()));
        let n = match ready!(self.stream.poll_read(cx, &mut buffer[..room])) {
            Ok(n) => n,
            Err(e) => return Poll::Ready(Err(socket_fault(&e))),
        };
        let now = io.clock.now();
        if n == 0 {
            let complete = !next.more && self.replies.closed();
            return Poll::Ready(if complete {
                watch
                    .answered(&mut self.replies.reply, now)
                    .map(|_| Some(now))
            } else {
                Err(Fault::ClosedEarly)
            });
        }
        watch.on_read(now, n);
        let mut bytes = &buffer[..n];
        while !bytes.is_empty() {
            let next = watch.next();
            let fed = self
                .replies
                .feed(bytes, &mut heads, next.to_head, next.keep)
                .map_err(Fault::Protocol)?;
            bytes = &bytes[fed.used..];
            if !fed.done {
                watch.on_partial(&mut self.replies.reply, now)?;
            } else if watch.answered(&mut self.replies.reply, now)? {
                // Bytes after the last response would corrupt the next response.
                self.replies.keep_alive &= bytes.is_empty();
                if self.replies.reply.status == 101 && !bytes.is_empty() {
                    self.after_upgrade = Some(bytes.into());
                }
                // After an upgrade, more bytes may have arrived.
                if n == room && self.replies.reply.status != 101 {
                    self.stream.drained();
                }
                return Poll::Ready(Ok(Some(now)));
            } else {
                self.replies.begin();
            }
        }
        Poll::Ready(Ok(None))
    }

    /// Discards available bytes of a body. Returns `None` if the stream does not support
    /// discarding.
    fn poll_discard(
        &mut self,
        cx: &mut Context<'_>,
        io: &WorkerBuffers<'_>,
        rest: u64,
    ) -> Option<Poll<std::io::Result<usize>>> {
        let mut scratch = io.scratch.borrow_mut();
        if scratch.is_empty() {
            scratch.resize(SCRATCH, 0);
        }
        let rest = usize::try_from(rest).unwrap_or(usize::MAX);
        self.stream.poll_discard(cx, &mut scratch, rest)
    }

    /// Counts discarded bytes. Returns the time at which the last response was complete.
    fn thrown<W: ExchangeObserver>(
        &mut self,
        thrown: std::io::Result<usize>,
        io: &WorkerBuffers<'_>,
        watch: &mut W,
    ) -> Result<Option<u64>, Fault> {
        let n = thrown.map_err(|e| socket_fault(&e))?;
        if n == 0 {
            return Err(Fault::ClosedEarly);
        }
        watch.on_discarded(n, io.clock);
        if !self.replies.discarded(n as u64) {
            return Ok(None);
        }
        let now = io.clock.now();
        if watch.answered(&mut self.replies.reply, now)? {
            self.stream.drained();
            return Ok(Some(now));
        }
        self.replies.begin();
        Ok(None)
    }
}

/// Waits until reading or writing is possible again. Returns `Ready` only when the limit expires.
fn waits<W: ExchangeObserver>(cx: &Context<'_>, limit: &Limit, watch: &mut W) -> Poll<Fault> {
    loop {
        let cut = ready!(limit.poll(cx));
        if let Some(fault) = watch.on_deadline(cut) {
            return Poll::Ready(fault);
        }
    }
}

impl Http1 {
    /// Writes requests, and reads and reports each response. Returns when the last response was
    /// complete.
    pub async fn exchange<W: ExchangeObserver>(
        &mut self,
        io: &WorkerBuffers<'_>,
        request: &[u8],
        limit: &Limit,
        watch: &mut W,
    ) -> Result<u64, ExchangeError> {
        let mut out = Outgoing::default();
        self.replies.begin();
        let ended = std::future::poll_fn(|cx| {
            // Read while writing, because a server may respond early. Otherwise, both peers could
            // wait forever.
            if !out.flushed && out.broken.is_none() {
                let _ = self.poll_write(cx, io, request, &mut out, watch);
            }
            let Some(broken) = out.broken else {
                let read = ready!(self.poll_answers(cx, io, limit, watch));
                // The unsent rest of the request would corrupt the next request.
                self.replies.keep_alive &= out.flushed;
                return Poll::Ready(
                    read.map_err(|fault| ExchangeError(fault, ExchangeStage::Read)),
                );
            };
            let lost = Err(ExchangeError(broken, ExchangeStage::Write));
            // A server that rejects a large body may respond and close the connection early. Such a
            // response counts.
            let hung_up = matches!(broken, Fault::BrokenPipe | Fault::Reset) && out.written > 0;
            if !hung_up || !watch.accepts_early_response() {
                return Poll::Ready(lost);
            }
            let read = ready!(self.poll_answers(cx, io, limit, watch));
            self.replies.keep_alive = false;
            Poll::Ready(read.or(lost))
        })
        .await;
        watch.on_end(&mut self.replies.reply, ended);
        ended
    }

    /// Whether the connection can be used again.
    #[must_use]
    pub fn is_reusable(&self) -> bool {
        self.replies.keep_alive
    }

    /// Whether the peer has closed an idle connection, as far as known without a system call.
    #[must_use]
    pub fn is_stale(&mut self) -> bool {
        self.stream.is_stale()
    }
}
