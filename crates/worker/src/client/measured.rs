//! A timed request whose content the caller makes. The caller decides its outcome, perhaps later.

use std::rc::Rc;

use codec::{Want, cookies::Jar, encode::Charset};
use measure::{
    Fault, LabelId, Sample, Status,
    sample::{Intended, RequestOutcome},
};
use plan::Timeouts;

use super::{
    Agent, Built, Call, CallError, Client, Exchange, NoCaller,
    pool::ConnectionPool,
    websocket::{UpgradeRequest, WebSocket},
};
use crate::{
    deadlines::{Limit, NEVER},
    worker::Worker,
};

/// Idle limit of requests that have none. With it, the client also reports when the request was
/// written.
const AGES_NS: u64 = 1 << 60;

/// A request, and when it should have started. Redirects are not followed, and cookies are the
/// caller's.
#[derive(Debug)]
pub struct MeasuredCall<'c> {
    /// Label of the request, unless the caller changes it in the sample.
    pub label: LabelId,
    /// HTTP method, which the bytes of the request also contain.
    pub method: &'c str,
    /// The encoded request.
    pub request: &'c Built,
    /// Intended start.
    pub intended: Intended,
    /// When the worker, or the caller on its behalf, took up the request.
    pub started_ns: u64,
    /// Limit from now to the last byte. `None` means no limit.
    pub total_ns: Option<u64>,
    /// Limit for each read. `None` means no limit.
    pub idle_ns: Option<u64>,
    /// Limit from now until the request is written. `None` means no limit.
    pub connect_ns: Option<u64>,
    /// Parts of the response that the caller needs.
    pub want: Want,
    /// Whether the host may be loaded, by [`Client::may_go_to`].
    pub is_allowed: bool,
}

/// A measured request whose outcome the caller decides.
#[derive(Debug)]
pub struct Measured {
    /// Why the response is incomplete. `None` if it is complete.
    pub fault: Option<Fault>,
    /// The sample, with the outcome `Ok` if the response is complete.
    pub sample: Sample,
}

/// A measured request for a WebSocket connection.
#[derive(Debug)]
pub struct MeasuredUpgrade {
    /// The request.
    pub measured: Measured,
    /// The connection. `None` if the server refused, or if the request failed.
    pub socket: Option<WebSocket>,
}

impl MeasuredCall<'_> {
    /// Creates the exchange of the call, which starts now.
    #[must_use]
    pub fn exchange(&self, worker: &Worker) -> Exchange {
        let timeouts = Timeouts {
            total_ns: self.total_ns,
            headers_ns: None,
            idle_ns: Some(self.idle_ns.unwrap_or(AGES_NS)),
        };
        Exchange::begun(self.intended, worker.clock.now(), &timeouts, &worker.memory)
    }

    fn sent(&self) -> Call<'_> {
        Call {
            label: self.label,
            method: self.method,
            request: std::borrow::Cow::Borrowed(self.request),
            want: self.want,
            charset: Charset::Utf8,
            sets_cookies: false,
            redirects: None,
        }
    }

    /// Returns the sample of the call, with what is known of its exchange.
    #[must_use]
    pub fn sample(&self, exchange: &Exchange, ended: RequestOutcome, done_ns: u64) -> Sample {
        let (moments, status) = (&exchange.moments, exchange.answer.status);
        Sample {
            label: self.label,
            intended: self.intended,
            started_ns: self.started_ns,
            first_write_ns: moments.first_write,
            first_read_ns: moments.first_read,
            done_ns,
            ended,
            status: (status > 0).then_some(Status::Http(status)),
            bytes_out: moments.bytes_out,
            bytes_in: moments.bytes_in,
            trace: exchange.sent_trace(),
        }
    }
}

/// Counts a request as in flight until it has ended, or until it is dropped.
struct InFlight<'w> {
    worker: &'w Worker,
    label: LabelId,
    since_ns: u64,
    is_ended: bool,
}

impl<'w> InFlight<'w> {
    fn new(worker: &'w Worker, label: LabelId, since_ns: u64) -> InFlight<'w> {
        worker.requests_began(since_ns, label, 1);
        InFlight {
            worker,
            label,
            since_ns,
            is_ended: false,
        }
    }

    fn end(&mut self, at_ns: u64) {
        self.is_ended = true;
        self.worker.request_ended(at_ns, self.label, self.since_ns);
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        if !self.is_ended {
            self.end(self.worker.clock.now());
        }
    }
}

impl Client {
    /// Sends a request over the caller's connections and measures it. The caller records the
    /// sample. `limit` ends the request early, and must be known to the worker. If the future is
    /// dropped, `exchange` has what is known.
    pub async fn measure(
        &self,
        call: &MeasuredCall<'_>,
        exchange: &mut Exchange,
        pool: &ConnectionPool,
        limit: &Rc<Limit>,
    ) -> Measured {
        let in_flight = self.begin(call, exchange, limit);
        let sent = self.send_measured(call, pool, limit, exchange).await;
        self.finish(call, exchange, in_flight, sent.err())
    }

    /// Asks for a WebSocket connection and measures the request, as [`Client::measure`] does.
    pub async fn measure_upgrade(
        &self,
        call: &MeasuredCall<'_>,
        upgrade: UpgradeRequest<'_>,
        exchange: &mut Exchange,
        limit: &Rc<Limit>,
    ) -> MeasuredUpgrade {
        let in_flight = self.begin(call, exchange, limit);
        let upgraded = if call.is_allowed {
            let mut agent = Agent {
                pool: &ConnectionPool::own(),
                limit,
                jar: &mut Jar::default(),
            };
            let caller = &mut NoCaller;
            self.upgrade(&mut agent, &call.sent(), upgrade, caller, exchange)
                .await
        } else {
            Err(Fault::HostNotAllowed)
        };
        let measured = self.finish(call, exchange, in_flight, upgraded.as_ref().err().copied());
        limit.disarm();
        MeasuredUpgrade {
            measured,
            socket: upgraded.ok().flatten(),
        }
    }

    fn begin(
        &self,
        call: &MeasuredCall<'_>,
        exchange: &Exchange,
        limit: &Rc<Limit>,
    ) -> InFlight<'_> {
        let worker = &self.worker;
        let now_ns = exchange.moments.started;
        let first_ns = [call.connect_ns.or(call.idle_ns), call.total_ns];
        let first_ns = first_ns.into_iter().flatten().min();
        let first_at = first_ns.map_or(NEVER, |ns| now_ns.saturating_add(ns));
        worker.deadlines.borrow_mut().limit(limit, first_at);
        InFlight::new(worker, call.label, now_ns)
    }

    fn finish(
        &self,
        call: &MeasuredCall<'_>,
        exchange: &Exchange,
        mut in_flight: InFlight<'_>,
        fault: Option<Fault>,
    ) -> Measured {
        let worker = &self.worker;
        let done_ns = match fault {
            None => exchange.moments.done,
            Some(_) => worker.clock.now(),
        };
        let ended = fault.map_or(RequestOutcome::Ok, RequestOutcome::Unanswered);
        let sample = call.sample(exchange, ended, done_ns);
        in_flight.end(done_ns);
        worker.run_due(done_ns);
        Measured { fault, sample }
    }

    async fn send_measured(
        &self,
        call: &MeasuredCall<'_>,
        pool: &ConnectionPool,
        limit: &Rc<Limit>,
        exchange: &mut Exchange,
    ) -> Result<(), Fault> {
        if !call.is_allowed {
            return Err(Fault::HostNotAllowed);
        }
        let mut agent = Agent {
            pool,
            limit,
            jar: &mut Jar::default(),
        };
        let sent = self
            .send(&mut agent, &call.sent(), &mut NoCaller, exchange)
            .await;
        sent.map_err(|error| match error {
            CallError::Fault(fault) => fault,
            // No redirects are followed here.
            _ => Fault::Other,
        })
    }
}
