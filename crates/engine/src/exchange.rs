//! One exchange: a request's bytes out on a connection, its answer in, and the moments at which things happened.
//!
//! It knows no virtual users and keeps no books; the limits that it is given end it, and nothing else does.

use std::{rc::Rc, task::Poll};

use measure::Fault;
use plan::Timeouts;

use crate::{
    deadlines::{Cut, Limit, NEVER},
    http::{Answer, Decoder},
    memory::Held,
    net::{Conn, fault::socket_fault},
    worker::Worker,
};

/// When things happened, in nanoseconds from the start of the test.
#[derive(Debug, Clone, Copy, Default)]
pub struct Moments {
    /// The worker turned to it.
    pub taken_up: u64,
    /// First byte written.
    pub first_write: Option<u64>,
    /// Last byte written.
    pub sent: u64,
    /// First byte of the answer read.
    pub first_read: Option<u64>,
    /// The answer's head complete.
    pub head: u64,
    /// Last byte read, or given up.
    pub done: u64,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// What opening its connection took, if it needed a new one.
    pub opening: measure::door::Opening,
}

/// The limits of a request's life, as moments.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    total_at: u64,
    headers_ns: Option<u64>,
    headers_at: u64,
    idle_ns: Option<u64>,
    idle_at: u64,
}

impl Limits {
    /// The limits of a request that was taken up at this moment.
    #[must_use]
    pub fn from(taken_up: u64, timeouts: &Timeouts) -> Limits {
        let after = |ns: Option<u64>| ns.map_or(NEVER, |ns| taken_up.saturating_add(ns));
        Limits {
            total_at: after(timeouts.total_ns),
            headers_ns: timeouts.headers_ns,
            headers_at: NEVER,
            idle_ns: timeouts.idle_ns,
            idle_at: after(timeouts.idle_ns),
        }
    }

    /// Puts them into force.
    pub fn arm(&self, worker: &Worker, limit: &Rc<Limit>) {
        worker
            .deadlines
            .borrow_mut()
            .limit(limit, self.total_at.min(self.headers_at).min(self.idle_at));
    }

    fn sent(&mut self, now_ns: u64) {
        self.headers_at = self
            .headers_ns
            .map_or(NEVER, |ns| now_ns.saturating_add(ns));
        self.moved(now_ns);
    }

    fn moved(&mut self, now_ns: u64) {
        if let Some(ns) = self.idle_ns {
            self.idle_at = now_ns.saturating_add(ns);
        }
    }

    /// What a wait cut short under these limits is counted as.
    #[must_use]
    pub fn fault(&self, cut: Cut) -> Fault {
        match cut {
            Cut::Aborted => Fault::Unfinished,
            Cut::Expired if self.idle_at < self.total_at.min(self.headers_at) => Fault::IdleTimeout,
            Cut::Expired => Fault::ResponseTimeout,
        }
    }
}

/// What an exchange needs beside its connection.
pub struct Exchange<'a> {
    /// The worker.
    pub worker: &'a Worker,
    /// What ends it.
    pub limit: &'a Rc<Limit>,
    /// When that is.
    pub limits: Limits,
    /// The memory that the answer takes.
    pub kept: &'a Held,
}

impl Exchange<'_> {
    /// Writes the request and reads its answer. The moments are filled in as far as it got.
    ///
    /// # Errors
    /// What kept the answer from being complete.
    pub async fn run(
        &mut self,
        conn: &mut Conn,
        request: &[u8],
        decoder: Decoder,
        answer: &mut Answer,
        moments: &mut Moments,
    ) -> Result<(), Fault> {
        if let Err(fault) = self.write(conn, request, moments).await {
            // Who refuses a large body answers before it has come and hangs up: it is the answer that counts.
            let refused = matches!(fault, Fault::BrokenPipe | Fault::Reset)
                && moments.first_write.is_some()
                && self.read(conn, decoder, answer, moments).await.is_ok();
            answer.keep_alive = false;
            return if refused { Ok(()) } else { Err(fault) };
        }
        self.read(conn, decoder, answer, moments).await
    }

    async fn write(
        &mut self,
        conn: &mut Conn,
        request: &[u8],
        moments: &mut Moments,
    ) -> Result<(), Fault> {
        let mut written = 0;
        std::future::poll_fn(|cx| {
            loop {
                if written == request.len() {
                    return conn.stream.poll_flush(cx).map_err(|e| socket_fault(&e));
                }
                // Read before the call: on loopback the server may have answered by the time it returns.
                let before = if moments.first_write.is_none() {
                    self.worker.clock.now()
                } else {
                    0
                };
                match conn.stream.poll_write(cx, &request[written..]) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(Fault::BrokenPipe)),
                    Poll::Ready(Ok(n)) => {
                        moments.first_write.get_or_insert(before);
                        written += n;
                        moments.bytes_out += n as u64;
                    }
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(socket_fault(&e))),
                    Poll::Pending => {
                        return self.limit.poll(cx).map(|cut| Err(self.limits.fault(cut)));
                    }
                }
            }
        })
        .await?;
        if self.limits.headers_ns.is_some() || self.limits.idle_ns.is_some() {
            moments.sent = self.worker.clock.now();
            self.limits.sent(moments.sent);
            self.limits.arm(self.worker, self.limit);
        }
        Ok(())
    }

    async fn read(
        &mut self,
        conn: &mut Conn,
        mut decoder: Decoder,
        answer: &mut Answer,
        moments: &mut Moments,
    ) -> Result<(), Fault> {
        let worker = self.worker;
        std::future::poll_fn(|cx| {
            loop {
                let mut buffer = worker.buffer.borrow_mut();
                let n = match conn.stream.poll_read(cx, &mut buffer) {
                    Poll::Ready(Ok(0)) => {
                        moments.done = worker.clock.now();
                        return Poll::Ready(if decoder.closed() {
                            Ok(())
                        } else {
                            Err(Fault::ClosedEarly)
                        });
                    }
                    Poll::Ready(Ok(n)) => n,
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(socket_fault(&e))),
                    Poll::Pending => {
                        return self.limit.poll(cx).map(|cut| Err(self.limits.fault(cut)));
                    }
                };
                let now = worker.clock.now();
                moments.first_read.get_or_insert(now);
                moments.bytes_in += n as u64;
                let fed = decoder
                    .feed(&buffer[..n], answer)
                    .map_err(Fault::Protocol)?;
                if !self.kept.hold(answer.body.capacity() as u64) {
                    // Given back at once: it is somebody else's answer that may still fit.
                    answer.body = Vec::new();
                    answer.keep_alive = false;
                    self.kept.hold(0);
                    return Poll::Ready(Err(Fault::OutOfMemory));
                }
                if fed.head && moments.head == 0 {
                    moments.head = now;
                    self.limits.headers_at = NEVER;
                }
                if fed.done {
                    moments.done = now;
                    // Bytes behind the answer would be taken for the next one: such a connection is not used again.
                    answer.keep_alive &= fed.used == n;
                    return Poll::Ready(Ok(()));
                }
                if self.limits.idle_ns.is_some() || self.limits.headers_ns.is_some() {
                    self.limits.moved(now);
                    self.limits.arm(worker, self.limit);
                }
            }
        })
        .await
    }
}
