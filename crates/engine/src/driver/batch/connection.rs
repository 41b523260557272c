//! One connection of the batch driver: opens it when there is none, writes a batch, reads its answers. What is written down of
//! them is the books' business.

use std::{rc::Rc, task::Poll};

use measure::{Fault, Kind, Outcome, sample::Intended};

use super::{
    Batch, Due, Shared,
    books::{Lost, Moments, Stage},
};
use crate::{
    deadlines::{Cut, Limit},
    http::reply::{Keep, Replies},
    net::{fault::socket_fault, pool::OpenCount, stream::Stream},
};

/// A connection and its state.
pub(super) struct Connection {
    pub number: usize,
    /// When its last batch ended.
    pub free_at: u64,
    stream: Option<Stream>,
    open: Option<OpenCount>,
    batch: Batch,
    /// How many requests the next batch probably is, while its connection is being opened: as many as the last one.
    expected: u32,
    replies: Replies,
    /// Whether anything has come since the time-out was set, and how many time-outs have passed without.
    heard: bool,
    silent: u32,
}

/// A server that says nothing for so many time-outs is given up, where a driver is patient.
const SILENT: u32 = 4;

/// What became of a batch.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// All answers came.
    Answered,
    /// Some did not.
    Broken,
    /// There is no connection to be had.
    Refused,
    /// The source, or the run, wants no more.
    Finished,
}

impl Connection {
    pub(super) fn new(number: usize) -> Connection {
        Connection {
            number,
            free_at: 0,
            stream: None,
            open: None,
            batch: Batch::default(),
            expected: 1,
            replies: Replies::default(),
            heard: false,
            silent: 0,
        }
    }

    /// Sends the next batch and reads its answers.
    pub(super) async fn batch(&mut self, shared: &Shared, due: Due, limit: &Rc<Limit>) -> Ended {
        let worker = &shared.worker;
        let mut moments = Moments {
            intended: due.intended,
            taken_up: due.taken_up,
            first_write: None,
            first_read: None,
            bytes_out: 0,
        };
        let kept = self.stream.is_some();
        // From when on it is under way: what waits for its source, or for its connection, has been taken up.
        let mut since = due.taken_up;
        let connected = if kept {
            Ok(())
        } else {
            self.arm(shared, worker.clock.now(), limit);
            self.wait_begins(shared, since);
            let connected = self.connect(shared, limit).await;
            since = worker.clock.now();
            self.wait_ends(shared, since);
            connected
        };
        if let Err(fault) = connected {
            // Nobody has said what it would have been: one request.
            shared.books.begin(due.intended, since, since, 1);
            self.take(shared, 1);
            self.expected = 1;
            return self.lost(shared, &moments, Lost(fault, Stage::Connect), 1, limit);
        }
        let source = &shared.driver.source;
        if !source.borrow_mut().next(self.number, &mut self.batch) {
            limit.disarm();
            self.free(shared);
            return Ended::Finished;
        }
        shared.keep.set(self.batch.keep);
        let answers = self.batch.answers.max(1);
        let begun = worker.clock.now();
        shared.books.begin(due.intended, since, begun, answers);
        self.take(shared, answers);
        self.expected = answers;
        moments.bytes_out = self.batch.bytes.len() as u64 / u64::from(answers);
        self.arm(shared, begun, limit);
        (self.heard, self.silent) = (false, 0);
        let mut left = answers;
        let result = self
            .exchange(shared, begun, limit, &mut moments, &mut left)
            .await;
        match result {
            Ok(now) => {
                limit.disarm();
                self.free(shared);
                self.free_at = now;
                if !self.replies.reply.keep_alive {
                    self.close();
                }
                worker.turn(now);
                Ended::Answered
            }
            Err(Lost(fault, stage)) => {
                let untouched = self.replies.reply.bytes == 0;
                let fault = if kept && untouched {
                    fault.on_kept()
                } else {
                    fault
                };
                self.lost(shared, &moments, Lost(fault, stage), left, limit)
            }
        }
    }

    fn close(&mut self) {
        self.stream = None;
        self.open = None;
    }

    fn take(&self, shared: &Shared, requests: u32) {
        if shared.driver.pace.is_some() {
            let turn = &mut shared.turns.borrow_mut()[self.number];
            turn.taken += u64::from(requests);
            turn.busy = true;
        }
    }

    /// A batch that was taken up waits for its connection, and is under way as its times will say.
    #[cold]
    fn wait_begins(&self, shared: &Shared, since: u64) {
        if shared.driver.pace.is_some() {
            // It is due, so it is in the backlog of whoever is busy.
            shared.turns.borrow_mut()[self.number].busy = true;
        } else {
            let requests = u64::from(self.expected);
            shared.worker.requests_began(since, requests);
        }
    }

    /// It waits no longer: the books count what it really is.
    #[cold]
    fn wait_ends(&self, shared: &Shared, now: u64) {
        if shared.driver.pace.is_none() {
            let requests = u64::from(self.expected);
            shared.worker.requests_uncounted(now, requests);
        } else {
            shared.worker.look(now);
        }
    }

    fn free(&self, shared: &Shared) {
        if shared.driver.pace.is_some() {
            shared.turns.borrow_mut()[self.number].busy = false;
        }
    }

    fn arm(&self, shared: &Shared, now: u64, limit: &Rc<Limit>) {
        let worker = &shared.worker;
        if let Some(ns) = worker.program.http.timeouts.total_ns {
            worker
                .deadlines
                .borrow_mut()
                .limit(limit, now.saturating_add(ns));
        }
    }

    #[cold]
    fn lost(
        &mut self,
        shared: &Shared,
        moments: &Moments,
        lost: Lost,
        left: u32,
        limit: &Limit,
    ) -> Ended {
        let worker = &shared.worker;
        limit.disarm();
        self.close();
        let now = worker.clock.now();
        let reply = &self.replies.reply;
        shared.books.lost(moments, lost, left, reply, now);
        self.free_at = now;
        worker.turn(now);
        if limit.is_aborted() {
            Ended::Finished
        } else if lost.1 == Stage::Connect {
            Ended::Refused
        } else {
            Ended::Broken
        }
    }

    async fn connect(&mut self, shared: &Shared, limit: &Limit) -> Result<(), Fault> {
        let (worker, driver) = (&shared.worker, &shared.driver);
        self.replies.begin();
        let address = driver.source.borrow_mut().address();
        let opened = worker
            .connector
            .open_at(&driver.origin, address, limit)
            .await?;
        self.open = Some(OpenCount::new(&worker.open));
        let now = worker.clock.now();
        worker.look(now);
        let mut recorder = worker.recorder.borrow_mut();
        recorder.run.opened += 1;
        let mut time = |kind, ns| {
            let intended = Intended::after_previous(now, 0);
            recorder.time(now, driver.label, intended, (kind, Outcome::Ok), ns);
        };
        time(Kind::Connect, opened.connect_ns);
        if let Some(ns) = opened.tls_ns {
            time(Kind::Tls, ns);
        }
        self.stream = Some(
            opened
                .stream
                .with_read_interest()
                .map_err(|e| socket_fault(&e))?,
        );
        Ok(())
    }

    /// Writes the batch and reads its answers; answers when the last one was complete.
    async fn exchange(
        &mut self,
        shared: &Shared,
        begun: u64,
        limit: &Rc<Limit>,
        moments: &mut Moments,
        left: &mut u32,
    ) -> Result<u64, Lost> {
        let mut written = 0;
        self.replies.begin();
        // Read before the call that writes: on loopback the server may have answered by the time it returns.
        moments.first_write = Some(begun);
        std::future::poll_fn(|cx| {
            loop {
                let Some(stream) = &mut self.stream else {
                    return Poll::Ready(Err(Lost(Fault::Other, Stage::Write)));
                };
                let lost = |e: &std::io::Error| Lost(socket_fault(e), Stage::Write);
                let bytes = &self.batch.bytes;
                if written < bytes.len() {
                    match stream.poll_write(cx, &bytes[written..]) {
                        Poll::Ready(Ok(0)) => {
                            return Poll::Ready(Err(Lost(Fault::BrokenPipe, Stage::Write)));
                        }
                        Poll::Ready(Ok(n)) => written += n,
                        Poll::Ready(Err(e)) => return Poll::Ready(Err(lost(&e))),
                        // Whoever answers before everything has come must be heard, or both wait for each other.
                        Poll::Pending => return self.read(shared, limit, cx, moments, left),
                    }
                    continue;
                }
                match stream.poll_flush(cx) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(lost(&e))),
                    Poll::Pending => return self.waits(shared, limit, cx, begun).map(Err),
                }
                return self.read(shared, limit, cx, moments, left);
            }
        })
        .await
    }

    fn read(
        &mut self,
        shared: &Shared,
        limit: &Rc<Limit>,
        cx: &mut std::task::Context<'_>,
        moments: &mut Moments,
        left: &mut u32,
    ) -> Poll<Result<u64, Lost>> {
        let worker = &shared.worker;
        let begun = moments.first_write.unwrap_or_default();
        let fault = |fault| Lost(fault, Stage::Read);
        let mut heads = shared.heads.borrow_mut();
        let mut buffer = worker.buffer.borrow_mut();
        loop {
            let Some(stream) = &mut self.stream else {
                return Poll::Ready(Err(fault(Fault::Other)));
            };
            if let Some(rest) = self.replies.unwanted()
                && let Some(thrown) = discard(stream, shared, cx, rest)
            {
                let n = match thrown {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(fault(Fault::ClosedEarly))),
                    Poll::Ready(Ok(n)) => n,
                    Poll::Ready(Err(e)) => return Poll::Ready(Err(fault(socket_fault(&e)))),
                    Poll::Pending => return self.waits(shared, limit, cx, begun).map(Err),
                };
                self.heard = true;
                if self.replies.discarded(n as u64) {
                    let now = worker.clock.now();
                    if self.complete(shared, moments, left, now) {
                        stream_drained(self.stream.as_ref());
                        return Poll::Ready(Ok(now));
                    }
                }
                continue;
            }
            // Behind a head that announces a long body only the head is read; the body goes unseen.
            let short = heads
                .first_read()
                .filter(|_| shared.keep.get() < Keep::Body);
            let room = short.map_or(buffer.len(), |n| n.min(buffer.len()));
            let n = match stream.poll_read(cx, &mut buffer[..room]) {
                Poll::Ready(Ok(0)) => {
                    if *left > 1 || !self.replies.closed() {
                        return Poll::Ready(Err(fault(Fault::ClosedEarly)));
                    }
                    let now = worker.clock.now();
                    self.complete(shared, moments, left, now);
                    return Poll::Ready(Ok(now));
                }
                Poll::Ready(Ok(n)) => n,
                Poll::Ready(Err(e)) => return Poll::Ready(Err(fault(socket_fault(&e)))),
                Poll::Pending => return self.waits(shared, limit, cx, begun).map(Err),
            };
            let now = worker.clock.now();
            self.heard = true;
            let mut bytes = &buffer[..n];
            while !bytes.is_empty() {
                moments.first_read.get_or_insert(now);
                let to_head = self.to_head(*left);
                let fed = self
                    .replies
                    .feed(bytes, &mut heads, to_head, shared.keep.get());
                let fed = match fed {
                    Ok(fed) => fed,
                    Err(why) => return Poll::Ready(Err(fault(Fault::Protocol(why)))),
                };
                bytes = &bytes[fed.used..];
                if fed.done && self.complete(shared, moments, left, now) {
                    // Bytes behind the last answer would be taken for the next one: such a connection is not used again.
                    self.replies.reply.keep_alive &= bytes.is_empty();
                    if n == room {
                        stream_drained(self.stream.as_ref());
                    }
                    return Poll::Ready(Ok(now));
                }
            }
        }
    }

    /// Nothing to be read or written: ready only when it is over. A patient driver waits on for a server that lives.
    fn waits(
        &mut self,
        shared: &Shared,
        limit: &Rc<Limit>,
        cx: &mut std::task::Context<'_>,
        begun: u64,
    ) -> Poll<Lost> {
        let (worker, patient) = (&shared.worker, shared.driver.patient);
        loop {
            let fault = match std::task::ready!(limit.poll(cx)) {
                Cut::Expired => {
                    self.silent = if self.heard { 0 } else { self.silent + 1 };
                    self.heard = false;
                    if patient && self.silent < SILENT {
                        self.arm(shared, worker.clock.now(), limit);
                        continue;
                    }
                    Fault::ResponseTimeout
                }
                Cut::Aborted => {
                    // Late already when the test was over.
                    let late = worker.program.http.timeouts.total_ns.is_some_and(|ns| {
                        patient && worker.clock.now().saturating_sub(begun) >= ns
                    });
                    if late {
                        Fault::ResponseTimeout
                    } else {
                        Fault::Unfinished
                    }
                }
            };
            return Poll::Ready(Lost(fault, Stage::Read));
        }
    }

    /// Whether the answer under way is one to HEAD.
    fn to_head(&self, left: u32) -> bool {
        !self.batch.heads.is_empty() && {
            let number = self.batch.answers.max(1) - left;
            self.batch.heads.contains(&number)
        }
    }

    /// An answer is complete: written down, shown to the source. Answers whether it was the last one that can come.
    #[inline]
    fn complete(
        &mut self,
        shared: &Shared,
        moments: &mut Moments,
        left: &mut u32,
        now: u64,
    ) -> bool {
        *left -= 1;
        let reply = &self.replies.reply;
        shared.books.answered(moments, reply, now, *left == 0);
        if shared.keep.get() > Keep::Nothing {
            let more = shared
                .driver
                .source
                .borrow_mut()
                .answered(self.number, reply);
            shared.keep.set(shared.driver.source.borrow_mut().keep());
            if !more {
                shared.done.set(true);
                shared.worker.end_arrivals(now);
            }
        }
        if *left == 0 {
            return true;
        }
        moments.first_read = None;
        self.replies.begin();
        false
    }
}

fn stream_drained(stream: Option<&Stream>) {
    if let Some(stream) = stream {
        stream.drained();
    }
}

/// Throws away what is there of a body; none: this kind of stream cannot.
fn discard(
    stream: &mut Stream,
    shared: &Shared,
    cx: &mut std::task::Context<'_>,
    rest: u64,
) -> Option<Poll<std::io::Result<usize>>> {
    let mut scratch = shared.scratch.borrow_mut();
    if scratch.is_empty() {
        scratch.resize(super::SCRATCH, 0);
    }
    let rest = usize::try_from(rest).unwrap_or(usize::MAX);
    stream.poll_discard(cx, &mut scratch, rest)
}
