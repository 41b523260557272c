//! Timed requests whose content the caller creates. The caller also decides the outcome, possibly
//! later.

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

/// Idle limit for requests without one. It makes the client report when the request was written.
const AGES_NS: u64 = 1 << 60;

/// A request with its intended start. The call does not follow redirects, and the caller handles
/// cookies.
#[derive(Debug)]
pub struct MeasuredCall<'c> {
    /// Label of the request. The caller may change it in the sample.
    pub label: LabelId,
    /// HTTP method, which must match the encoded request.
    pub method: &'c str,
    /// The encoded request.
    pub request: &'c Built,
    /// Intended start.
    pub intended: Intended,
    /// When the worker picked up the request, or when the caller did so on its behalf.
    pub started_ns: u64,
    /// Maximum time from now to the last byte, in nanoseconds. `None` means no limit.
    pub total_ns: Option<u64>,
    /// Maximum time for each read, in nanoseconds. `None` means no limit.
    pub idle_ns: Option<u64>,
    /// Maximum time from now until the request is written, in nanoseconds. `None` means no limit.
    pub connect_ns: Option<u64>,
    /// Parts of the response that the caller needs.
    pub want: Want,
    /// Whether requests may be sent to the host, as [`Client::may_go_to`] decided.
    pub is_allowed: bool,
}

/// A measured request. The caller decides its outcome.
#[derive(Debug)]
pub struct Measured {
    /// Why the response is incomplete. `None` if it is complete.
    pub fault: Option<Fault>,
    /// The sample. Its outcome is `Ok` if the response is complete.
    pub sample: Sample,
}

/// A measured request to open a WebSocket connection.
#[derive(Debug)]
pub struct MeasuredUpgrade {
    /// Measurement of the request.
    pub measured: Measured,
    /// The connection. `None` if the server refused it or the request failed.
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

    /// Returns the sample of the call, based on its exchange.
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

/// Counts a request as in flight until it ends or is dropped.
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
    /// Sends a request on the caller's connections and measures it. The caller records the sample.
    ///
    /// `limit` ends the request early, and must be registered with the worker. If the future is
    /// dropped, `exchange` contains the data received so far.
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

    /// Requests a WebSocket connection and measures the request, like [`Client::measure`].
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
            // The call follows no redirects.
            _ => Fault::Other,
        })
    }
}
