//! A connection of the batch driver. Opens on demand, sends batches, and counts missing responses.

use std::rc::Rc;

use measure::{Fault, sample::Intended};

use super::{
    Batch, BatchState, Due,
    ledger::{Moments, PartialResponse},
};
use codec::reply::{Keep, Reply};
use worker::{
    client::{
        Purpose,
        conn::Conn,
        observer::{ExchangeError, ExchangeObserver, ExchangeStage, ResponseExpectation},
    },
    clock::Clock,
    deadlines::{Cut, Limit},
};

pub(super) struct Connection {
    pub number: usize,
    pub free_at: u64,
    conn: Option<Box<Conn>>,
    batch: Batch,
    /// Size of the last batch. The next batch is assumed to have this size while the connection
    /// opens.
    expected: u32,
}

/// Number of timeouts without data after which a patient driver also fails.
const SILENT: u32 = 4;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum BatchResult {
    Answered,
    Broken,
    Refused,
    Finished,
}

impl Connection {
    pub(super) fn new(number: usize) -> Connection {
        Connection {
            number,
            free_at: 0,
            conn: None,
            batch: Batch::default(),
            expected: 1,
        }
    }

    pub(super) async fn batch(
        &mut self,
        shared: &BatchState,
        due: Due,
        limit: &Rc<Limit>,
    ) -> BatchResult {
        let worker = &shared.worker;
        let mut moments = Moments::new(due.intended, due.started);
        let open = self.conn.take();
        let is_kept = open.is_some();
        // The requests count as in flight from now on, including the wait for the source and the
        // connection.
        let mut since = due.started;
        let connected = match open {
            Some(conn) => Ok(conn),
            None => {
                shared.arm(worker.clock.now(), limit);
                self.wait_begins(shared, since);
                let connected = self.connect(shared, limit).await;
                let now = worker.clock.now();
                self.wait_ends(shared, since, now);
                since = now;
                connected
            }
        };
        moments.since = since;
        let mut conn = match connected {
            Ok(conn) => conn,
            Err(fault) => {
                // The size of the batch is not known yet, so count one request.
                shared.ledger.begin(due.intended, since, since, 1, 1);
                self.take(shared, 1);
                self.expected = 1;
                let broken = BrokenBatch {
                    error: ExchangeError(fault, ExchangeStage::Connect),
                    left: 1,
                    partial: PartialResponse::default(),
                };
                return self.lost(shared, &moments, broken, limit);
            }
        };
        let source = &shared.driver.source;
        if !source.borrow_mut().next(self.number, &mut self.batch) {
            limit.disarm();
            self.free(shared);
            self.conn = Some(conn);
            return BatchResult::Finished;
        }
        let begun = worker.clock.now();
        moments.arrivals = self.begin(shared, due.intended, since, begun);
        shared.arm(begun, limit);
        let mut answers = Answers::new(shared, self.number, &self.batch, moments, begun, limit);
        let io = shared.client.io();
        let ended = conn
            .exchange(&io, &self.batch.bytes, limit, &mut answers)
            .await;
        let (moments, left, partial) = (answers.moments, answers.left, answers.partial);
        match ended {
            Ok(now) => {
                limit.disarm();
                self.free(shared);
                self.free_at = now;
                self.conn = Some(conn).filter(|conn| conn.is_reusable());
                worker.run_due(now);
                BatchResult::Answered
            }
            Err(ExchangeError(fault, stage)) => {
                let fault = if is_kept && partial.bytes == 0 {
                    fault.on_kept()
                } else {
                    fault
                };
                let broken = BrokenBatch {
                    error: ExchangeError(fault, stage),
                    left,
                    partial,
                };
                self.lost(shared, &moments, broken, limit)
            }
        }
    }

    fn begin(&mut self, shared: &BatchState, intended: Intended, since: u64, now: u64) -> u32 {
        shared.keep.set(self.batch.keep);
        let answers = self.batch.answers.max(1);
        let arrivals = match answers {
            1 => 1,
            _ => answers.min(shared.left_of_plan(self.number)),
        };
        let ledger = &shared.ledger;
        ledger.begin(intended, since, now, answers, arrivals);
        self.take(shared, answers);
        self.expected = answers;
        arrivals
    }

    fn take(&self, shared: &BatchState, requests: u32) {
        if shared.driver.pace.is_some() {
            let turn = &mut shared.turns.borrow_mut()[self.number];
            turn.taken += u64::from(requests);
            turn.busy = true;
        }
    }

    #[cold]
    fn wait_begins(&self, shared: &BatchState, since: u64) {
        if shared.driver.pace.is_some() {
            // The next request of the connection is due, so count it in the backlog.
            shared.turns.borrow_mut()[self.number].busy = true;
        } else {
            let label = shared.driver.label;
            shared.worker.requests_began(since, label, self.expected);
        }
    }

    /// Removes the provisional count of the wait before the batch is recorded.
    #[cold]
    fn wait_ends(&self, shared: &BatchState, since: u64, now: u64) {
        if shared.driver.pace.is_none() {
            let label = shared.driver.label;
            shared
                .worker
                .requests_uncounted(now, label, since, self.expected);
        } else {
            shared.worker.sample_levels(now);
        }
    }

    fn free(&self, shared: &BatchState) {
        if shared.driver.pace.is_some() {
            shared.turns.borrow_mut()[self.number].busy = false;
        }
    }

    #[cold]
    fn lost(
        &mut self,
        shared: &BatchState,
        moments: &Moments,
        broken: BrokenBatch,
        limit: &Limit,
    ) -> BatchResult {
        let worker = &shared.worker;
        limit.disarm();
        let now = worker.clock.now();
        let BrokenBatch {
            error,
            left,
            partial,
        } = broken;
        shared.ledger.lost(moments, error, left, partial, now);
        self.free_at = now;
        worker.run_due(now);
        if limit.is_aborted() {
            BatchResult::Finished
        } else if error.1 == ExchangeStage::Connect {
            BatchResult::Refused
        } else {
            BatchResult::Broken
        }
    }

    async fn connect(&self, shared: &BatchState, limit: &Limit) -> Result<Box<Conn>, Fault> {
        let driver = &shared.driver;
        let address = driver.source.borrow_mut().address();
        let purpose = Purpose {
            label: driver.label,
            intended: None,
        };
        let connected = shared
            .client
            .connect(&driver.origin, address, purpose, limit)
            .await;
        connected.map(|(conn, _)| conn)
    }
}

/// An exchange that failed before all responses arrived.
struct BrokenBatch {
    error: ExchangeError,
    /// Number of incomplete responses.
    left: u32,
    partial: PartialResponse,
}

struct Answers<'b> {
    shared: &'b BatchState,
    connection: usize,
    batch: &'b Batch,
    moments: Moments,
    left: u32,
    begun: u64,
    limit: &'b Rc<Limit>,
    /// Whether data has arrived since the timeout was set.
    received: bool,
    silent: u32,
    /// The response that was being read when the exchange failed.
    partial: PartialResponse,
}

impl<'b> Answers<'b> {
    fn new(
        shared: &'b BatchState,
        connection: usize,
        batch: &'b Batch,
        mut moments: Moments,
        begun: u64,
        limit: &'b Rc<Limit>,
    ) -> Answers<'b> {
        let left = batch.answers.max(1);
        // On loopback, the response may arrive before the write returns.
        moments.first_write = Some(begun);
        moments.bytes_out = batch.bytes.len() as u64 / u64::from(left);
        Answers {
            shared,
            connection,
            batch,
            moments,
            left,
            begun,
            limit,
            received: false,
            silent: 0,
            partial: PartialResponse::default(),
        }
    }

    fn show(&self, reply: &Reply, now_ns: u64) {
        let (shared, source) = (self.shared, &self.shared.driver.source);
        let more = source.borrow_mut().answered(self.connection, reply);
        shared.keep.set(source.borrow_mut().keep());
        if !more {
            shared.done.set(true);
            shared.worker.end_arrivals(now_ns);
        }
    }
}

impl ExchangeObserver for Answers<'_> {
    #[inline]
    fn next(&self) -> ResponseExpectation {
        let heads = &self.batch.heads;
        ResponseExpectation {
            keep: self.shared.keep.get(),
            to_head: !heads.is_empty() && heads.contains(&(self.batch.answers.max(1) - self.left)),
            more: self.left > 1,
        }
    }

    #[inline]
    fn on_read(&mut self, now_ns: u64, _: usize) {
        self.received = true;
        self.moments.first_read.get_or_insert(now_ns);
    }

    #[inline]
    fn on_discarded(&mut self, _: usize, _: &Clock) {
        self.received = true;
    }

    #[inline]
    fn on_partial(&mut self, _: &mut Reply, now_ns: u64) -> Result<(), Fault> {
        self.moments.first_read.get_or_insert(now_ns);
        Ok(())
    }

    #[inline]
    fn answered(&mut self, reply: &mut Reply, now_ns: u64) -> Result<bool, Fault> {
        self.moments.first_read.get_or_insert(now_ns);
        self.left -= 1;
        let shared = self.shared;
        shared
            .ledger
            .answered(&self.moments, reply, now_ns, self.left == 0);
        if shared.keep.get() > Keep::Nothing {
            self.show(reply, now_ns);
        }
        self.moments.first_read = None;
        self.moments.arrivals = self.moments.arrivals.saturating_sub(1);
        Ok(self.left == 0)
    }

    #[inline]
    fn on_end(&mut self, reply: &mut Reply, result: Result<u64, ExchangeError>) {
        if result.is_err() {
            self.partial = PartialResponse {
                status: reply.status,
                bytes: reply.bytes,
            };
        }
    }

    fn on_deadline(&mut self, cut: Cut) -> Option<Fault> {
        let shared = self.shared;
        let (worker, patient) = (&shared.worker, shared.driver.patient);
        match cut {
            Cut::Expired => {
                self.silent = if self.received { 0 } else { self.silent + 1 };
                self.received = false;
                if patient && self.silent < SILENT {
                    shared.arm(worker.clock.now(), self.limit);
                    return None;
                }
                Some(Fault::ResponseTimeout)
            }
            Cut::Aborted => {
                let late = shared.timeout_ns().is_some_and(|ns| {
                    patient && worker.clock.now().saturating_sub(self.begun) >= ns
                });
                Some(if late {
                    Fault::ResponseTimeout
                } else {
                    Fault::Unfinished
                })
            }
        }
    }
}
