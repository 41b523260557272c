//! Sends the requests of scripts, measures them, and describes the results as k6 does.

use std::rc::Rc;

use codec::{Want, encode, encode::Charset, url};
use measure::{Fault, Sample, label::LabelGroup, outcome::Failure, sample::RequestOutcome};
use script::k6::{
    Headers, HttpError, HttpOutcome, HttpRequest, StatusRange, Timings, VuConnections,
};
use worker::{
    client::{Built, Exchange, Measured, MeasuredCall},
    deadlines::Limit,
};

use crate::{host::RunHost, http_debug};

pub async fn send(host: &RunHost, connections: VuConnections, request: HttpRequest) -> HttpOutcome {
    let built = match encode(host, &request) {
        Ok(built) => built,
        Err(error) => return failed(error.code, &error.text),
    };
    host.wait_for_rate().await;
    http_debug::request(host, &built);
    let call = measured_call(host, connections, &request, &built);
    let pool = host.pool(connections);
    let limit = Limit::default().into();
    let place = Place::new(host, &limit);
    let mut sent = SentRequest::new(host, connections.vu, call);
    let client = &host.client;
    let measured = client.measure(&sent.call, &mut sent.exchange, &pool, &limit);
    let mut measured = measured.await;
    drop(place);
    judge(&mut measured, &sent.exchange, request.expected.as_deref());
    sent.settle(&measured.sample);
    if measured.fault.is_none() {
        http_debug::response(host, &sent.exchange);
    }
    outcome(host, &built, &measured, &mut sent.exchange)
}

/// Encodes a request. Fails if it cannot be sent, or if its host is blocked.
pub fn encode(host: &RunHost, request: &HttpRequest) -> Result<Built, HttpError> {
    let built = build(request).map_err(|text| HttpError { code: 1020, text })?;
    match host.shared.blocked(&built.target.origin.host) {
        Some((code, text)) => Err(HttpError { code, text }),
        None => Ok(built),
    }
}

/// Returns a measured call for a request that starts now.
pub fn measured_call<'a>(
    host: &RunHost,
    connections: VuConnections,
    request: &'a HttpRequest,
    built: &'a Built,
) -> MeasuredCall<'a> {
    let worker = &host.worker;
    let started_ns = worker.clock.now();
    let name = &built.target.origin.host;
    MeasuredCall {
        label: worker.label(LabelGroup::Request, &request.method, &request.name),
        method: &request.method,
        request: built,
        intended: host.intended(connections.vu, started_ns),
        started_ns,
        total_ns: Some(request.timeout_ns),
        idle_ns: None,
        connect_ns: None,
        want: Want {
            body: true,
            head: true,
            ..Want::default()
        },
        is_allowed: host
            .client
            .is_allowed(name, "the script sends requests to it"),
    }
}

/// A request that is recorded even if its iteration is interrupted.
pub struct SentRequest<'a> {
    pub call: MeasuredCall<'a>,
    pub exchange: Exchange,
    host: &'a RunHost,
    vu: u64,
    is_settled: bool,
}

impl<'a> SentRequest<'a> {
    pub fn new(host: &'a RunHost, vu: u64, call: MeasuredCall<'a>) -> SentRequest<'a> {
        SentRequest {
            exchange: call.exchange(&host.worker),
            call,
            host,
            vu,
            is_settled: false,
        }
    }

    /// Records the result of the request.
    pub fn settle(&mut self, sample: &Sample) {
        self.is_settled = true;
        let host = self.host;
        host.add_traffic(self.vu, sample.bytes_out, sample.bytes_in);
        // The requests of `setup` and `teardown` are not part of the load.
        if self.vu > 0 {
            record(self.host, sample);
        }
    }
}

impl Drop for SentRequest<'_> {
    fn drop(&mut self) {
        if !self.is_settled {
            let ended = RequestOutcome::Unanswered(Fault::Cancelled);
            let now_ns = self.host.worker.clock.now();
            let sample = self.call.sample(&self.exchange, ended, now_ns);
            self.settle(&sample);
        }
    }
}

/// Registers a limit with the worker until this value is dropped.
pub struct Place<'h> {
    host: &'h RunHost,
    place: usize,
}

impl<'h> Place<'h> {
    pub fn new(host: &'h RunHost, limit: &Rc<Limit>) -> Place<'h> {
        Place {
            host,
            place: host.worker.watch(limit),
        }
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.host.worker.unwatch(self.place);
    }
}

/// Returns the outcome of a request that was not sent.
pub fn failed(code: u32, text: &str) -> HttpOutcome {
    HttpOutcome {
        error: Some(HttpError {
            code,
            text: text.to_owned(),
        }),
        ..HttpOutcome::default()
    }
}

/// Encodes a request.
fn build(request: &HttpRequest) -> Result<Built, String> {
    let target = url::parse(&request.url).ok_or_else(|| format!("invalid URL: {}", request.url))?;
    let body = request.body.as_deref().unwrap_or_default();
    let mut head = Vec::with_capacity(256 + body.len());
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    let own_host = request.headers.iter().find(|(name, _)| is_host(name));
    let own_host = own_host.map(|(_, value)| value.as_str());
    encode::begin(
        &mut head,
        &request.method,
        &target.path,
        &target.origin,
        own_host,
    );
    let has_length = request.body.is_some() || encode::says_empty(&request.method);
    let mut is_length_written = false;
    for (name, value) in request.headers.iter().filter(|(name, _)| !is_host(name)) {
        if !encode::header(&mut head, name, value, Charset::Utf8) {
            return Err(format!("invalid header field value for \"{name}\""));
        }
        // Go writes the length after the user agent.
        if has_length && name.eq_ignore_ascii_case("user-agent") {
            encode::content_length(&mut head, body.len());
            is_length_written = true;
        }
    }
    if has_length && !is_length_written {
        encode::content_length(&mut head, body.len());
    }
    let cookie_at = head.len();
    head.extend_from_slice(b"\r\n");
    head.extend_from_slice(body);
    Ok(Built {
        target,
        bytes: head,
        cookie_at,
    })
}

fn judge(measured: &mut Measured, exchange: &Exchange, expected: Option<&[StatusRange]>) {
    let status = exchange.answer.status;
    let is_expected = |ranges: &[StatusRange]| {
        ranges
            .iter()
            .any(|range| (range.min..=range.max).contains(&status))
    };
    if measured.fault.is_none() && expected.is_some_and(|ranges| !is_expected(ranges)) {
        measured.sample.ended = RequestOutcome::Failed(Failure::Status(status));
    }
}

fn record(host: &RunHost, sample: &Sample) {
    let mut recorder = host.worker.recorder.borrow_mut();
    recorder.issued(sample.done_ns, sample.label, sample.intended);
    recorder.sample(sample);
    if recorder.is_first(sample.label, sample.ended) {
        recorder.first(sample, String::new());
    }
}

/// Describes the result of a request.
pub fn outcome(
    host: &RunHost,
    built: &Built,
    measured: &Measured,
    exchange: &mut Exchange,
) -> HttpOutcome {
    let (fault, sample) = (measured.fault, &measured.sample);
    let moments = &exchange.moments;
    let written = moments.first_write.unwrap_or(sample.done_ns);
    let sent = if moments.sent > 0 {
        moments.sent
    } else {
        written
    };
    let first_read = moments.first_read.unwrap_or(sample.done_ns);
    let timings = Timings {
        blocked: written.saturating_sub(moments.started),
        connecting: moments.opening.connect_ns,
        tls_handshaking: moments.opening.tls_ns.unwrap_or(0),
        sending: sent.saturating_sub(written),
        waiting: first_read.saturating_sub(sent),
        receiving: sample.done_ns.saturating_sub(first_read),
    };
    let connection = exchange.connection.unwrap_or_default();
    let tls_version = connection.tls.map(|tls| format!("tls{}", tls.version));
    let tls_cipher_suite = connection.tls.map(|tls| tls.cipher.to_owned());
    let known = HttpOutcome {
        timings,
        remote_ip: connection
            .peer
            .map_or_else(String::new, |peer| peer.ip().to_string()),
        remote_port: connection.peer.map_or(0, |peer| peer.port()),
        tls_version: tls_version.unwrap_or_default(),
        tls_cipher_suite: tls_cipher_suite.unwrap_or_default(),
        ..HttpOutcome::default()
    };
    if let Some(fault) = fault {
        return HttpOutcome {
            error: Some(host.error(&built.target.origin.host, fault)),
            ..known
        };
    }
    let answer = &mut exchange.answer;
    HttpOutcome {
        status: answer.status,
        proto: if connection.is_http2 {
            "HTTP/2.0"
        } else {
            "HTTP/1.1"
        }
        .to_owned(),
        headers: Headers::from_head(&answer.head),
        body: std::mem::take(&mut answer.body),
        ..known
    }
}
