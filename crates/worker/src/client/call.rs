//! Sending of requests, including redirects.

use std::{borrow::Cow, rc::Rc};

use measure::{Fault, LabelId, accumulator::Opening, sample::Intended};

use super::{
    Client, Purpose,
    conn::Conn,
    exchange::{Exchange, Moments, OneAnswer},
    observer::ExchangeError,
    pool::{Checkout, ConnectionPool, OutgoingRequest, SendResult},
    request::{BuildError, Built, Override},
};
use crate::{
    deadlines::{Cut, Limit},
    trace,
    worker::OutputLine,
};
use codec::{Response, Target, Want, cookies::Jar, encode::Charset, url};

/// The connections, cookie jar and time limit of the caller, usually a virtual user.
pub struct Agent<'u> {
    /// Connections of this user. Unused with a shared pool.
    pub pool: &'u ConnectionPool,
    /// Time limit of the user's waits. The end of the run aborts it.
    pub limit: &'u Rc<Limit>,
    /// Cookies of this user.
    pub jar: &'u mut Jar,
}

/// A request to send, and the parts of the response to keep.
#[derive(Debug, Clone)]
pub struct Call<'c> {
    /// Label of the samples.
    pub label: LabelId,
    /// HTTP method.
    pub method: &'c str,
    /// Request in encoded form.
    pub request: Cow<'c, Built>,
    /// Parts of the response that the caller needs.
    pub want: Want,
    /// Encoding of header values.
    pub charset: Charset,
    /// Whether the caller set cookies for this request.
    pub sets_cookies: bool,
    /// Rules for redirects. `None` means that redirects are not followed.
    pub redirects: Option<Redirects>,
}

/// Rules for following redirects.
#[derive(Debug, Clone, Copy)]
pub struct Redirects {
    /// Maximum number of redirects.
    pub most: u32,
    /// Whether status 301 and 302 keep POST.
    pub keep_method: bool,
}

/// The callbacks of a call.
pub trait Caller {
    /// Called before each request is sent, including requests after redirects.
    fn sending(&mut self, now_ns: u64);
    /// Called for each response that is a redirect, before its data is dropped.
    fn redirected(&mut self, intended: Intended, moments: &Moments, answer: &Response);
    /// Builds the request that follows a redirect. Fails if the request cannot be sent.
    fn remake(&mut self, change: Override<'_>) -> Result<Built, BuildError>;
    /// Called if the server sets a malformed cookie.
    fn odd_cookie(&mut self, now_ns: u64);
}

/// A caller that needs no callbacks. Its calls must not follow redirects.
#[derive(Debug, Clone, Copy)]
pub struct NoCaller;

impl Caller for NoCaller {
    fn sending(&mut self, _: u64) {}

    fn redirected(&mut self, _: Intended, _: &Moments, _: &Response) {}

    fn remake(&mut self, change: Override<'_>) -> Result<Built, BuildError> {
        Err(BuildError::Url(change.url.to_owned()))
    }

    fn odd_cookie(&mut self, _: u64) {}
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// No complete response was received.
    Fault(Fault),
    /// The call exceeded this maximum number of redirects.
    TooManyRedirects(u32),
    /// The `Location` of the redirect is not a URL. Its text is omitted, because it may contain
    /// secrets.
    Location,
    /// The redirect leads to this host, which is not allowed. The call ends with the redirect as
    /// its response.
    Stranded(String),
    /// The request for the redirect could not be built.
    Build(BuildError),
}

/// The request of one hop: the first request, or a request that follows a redirect.
#[derive(Clone, Copy)]
struct HopRequest<'a> {
    request: &'a Built,
    method: &'a str,
}

impl Client {
    /// Sends a request and follows redirects. Afterwards, `exchange` contains the last response,
    /// complete or partial.
    pub async fn send(
        &self,
        agent: &mut Agent<'_>,
        call: &Call<'_>,
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<(), CallError> {
        let mut request = Cow::Borrowed(&*call.request);
        let mut method = call.method;
        let (mut body, mut credentials) = (true, true);
        for followed in 0.. {
            let hop = HopRequest {
                request: &request,
                method,
            };
            let ended = self.hop(agent, hop, call, caller, exchange).await;
            if let Err(fault) = ended
                && !exchange.is_ended_by_plan()
            {
                return Err(CallError::Fault(exchange.stream_fault(fault)));
            }
            let Some((redirects, location)) = redirect_of(call, &exchange.answer) else {
                let incomplete = exchange.finish_stream(self.worker.clock.now());
                return incomplete.map_or(Ok(()), |fault| Err(CallError::Fault(fault)));
            };
            if followed >= redirects.most {
                return Err(CallError::TooManyRedirects(redirects.most));
            }
            let Some((next_url, next)) = url::join(&request.url(), location) else {
                return Err(CallError::Location);
            };
            let host = &next.origin.host;
            if !self.may_go_to(host, "redirects lead there") {
                return Err(CallError::Stranded(host.clone()));
            }
            let status = exchange.answer.status;
            let by_habit =
                !redirects.keep_method && matches!(status, 301 | 302) && method == "POST";
            if status == 303 || by_habit {
                body = false;
                if method != "HEAD" {
                    method = "GET";
                }
            }
            credentials &= next.origin == request.target.origin;
            caller.redirected(exchange.intended, &exchange.moments, &exchange.answer);
            exchange.forget_hop();
            let change = Override {
                url: &next_url,
                method,
                body,
                credentials,
            };
            request = Cow::Owned(caller.remake(change).map_err(CallError::Build)?);
        }
        Ok(())
    }

    async fn hop(
        &self,
        agent: &mut Agent<'_>,
        hop: HopRequest<'_>,
        call: &Call<'_>,
        caller: &mut impl Caller,
        exchange: &mut Exchange,
    ) -> Result<(), Fault> {
        let request = hop.request;
        let pool = self.shared.as_ref().unwrap_or(agent.pool);
        let (mut is_announced, mut was_refused) = (false, false);
        loop {
            let is_first = !is_announced;
            let mut now = 0;
            // A block, so that the user does not hold these while the request is in flight.
            let mut connection = {
                let mut announce = |granted_ns| {
                    now = granted_ns;
                    if !std::mem::replace(&mut is_announced, true) {
                        caller.sending(granted_ns);
                    }
                };
                let wanted = self.checkout_of(request, call, agent);
                pool.checkout(wanted, exchange, &mut announce).await?
            };
            exchange.connection = Some(connection.info());
            let bytes = &*self.completed(request, call, agent.jar, now, exchange);
            if is_first {
                self.trace_request(&request.target, bytes, connection.version());
            }
            let outgoing = OutgoingRequest {
                built: request,
                bytes,
                to_head: hop.method == "HEAD",
                want: self.wanted(call),
                limit: agent.limit,
                was_refused,
            };
            let sent = connection.send(self, &outgoing, exchange).await;
            if let Ok(SendResult::NotProcessed { is_refusal }) = sent {
                was_refused |= is_refusal;
                continue;
            }
            self.trace_answer(exchange, sent.err());
            if sent.is_ok() {
                connection.give_back(exchange.moments.done);
            } else {
                drop(connection);
            }
            if sent.is_ok() || exchange.is_ended_by_plan() {
                self.keep_cookies(&request.target, agent.jar, caller, exchange);
            }
            return sent.map(|_| ());
        }
    }

    /// Returns what a request needs of a pool.
    pub(super) fn checkout_of<'c>(
        &'c self,
        request: &'c Built,
        call: &Call<'_>,
        agent: &'c Agent<'_>,
    ) -> Checkout<'c> {
        Checkout {
            client: self,
            origin: &request.target.origin,
            label: call.label,
            limit: agent.limit,
        }
    }

    /// Returns the parts of a response to keep, including those that are only printed.
    pub(super) fn wanted(&self, call: &Call<'_>) -> Want {
        if self.worker.common.trace || self.worker.common.walks {
            Want {
                headers: true,
                body: true,
                ..call.want
            }
        } else {
            call.want
        }
    }

    pub(super) fn trace_request(&self, target: &Target, bytes: &[u8], version: &str) {
        if self.worker.common.trace {
            let text = trace::request(&target.origin, bytes, version);
            self.worker.emit(OutputLine::Trace(text));
        }
    }

    pub(super) fn trace_answer(&self, exchange: &Exchange, fault: Option<Fault>) {
        if self.worker.common.trace {
            let text = trace::answer(&exchange.answer, fault);
            self.worker.emit(OutputLine::Trace(text));
        }
    }

    /// Sends a request over an HTTP/1.1 connection and reads its response.
    pub(super) async fn exchange(
        &self,
        conn: &mut Conn,
        request: &OutgoingRequest<'_>,
        exchange: &mut Exchange,
    ) -> Result<(), Fault> {
        let read_before = exchange.moments.bytes_in;
        let mut observer = OneAnswer {
            worker: &self.worker,
            exchange,
            limit: request.limit,
            want: request.want,
            to_head: request.to_head,
            began: 0,
        };
        let ended = conn
            .exchange(&self.io(), request.bytes, request.limit, &mut observer)
            .await;
        let carried = conn.carried;
        conn.carried += 1;
        match ended {
            Ok(_) => Ok(()),
            // No byte of this response arrived, so the server had already closed the reused
            // connection.
            Err(ExchangeError(fault, _))
                if exchange.moments.bytes_in == read_before && carried > 0 =>
            {
                Err(fault.on_kept())
            }
            Err(ExchangeError(fault, _)) => Err(fault),
        }
    }

    /// Opens an HTTP/1.1 connection for a request.
    pub(super) async fn open(
        &self,
        wanted: Checkout<'_>,
        exchange: &mut Exchange,
    ) -> Result<Box<Conn>, Fault> {
        let purpose = Purpose {
            label: wanted.label,
            intended: Some(exchange.intended),
        };
        let connected = self.connect(wanted.origin, None, purpose, wanted.limit);
        let (conn, opening) = connected.await.map_err(|fault| match fault {
            Fault::ResponseTimeout => exchange.limits.fault(Cut::Expired),
            fault => fault,
        })?;
        exchange.moments.opening = opening;
        Ok(conn)
    }

    /// Returns the bytes of a request with its cookies and its trace context.
    pub(super) fn completed<'r>(
        &self,
        request: &'r Built,
        call: &Call<'_>,
        jar: &mut Jar,
        now_ns: u64,
        exchange: &mut Exchange,
    ) -> Cow<'r, [u8]> {
        let cookie = self.cookies_for(request, call, jar, now_ns);
        self.draw_trace(request, now_ns, exchange);
        request.completed(cookie.map(|cookie| (cookie, call.charset)), exchange.trace)
    }

    /// Decides whether the request of an exchange carries a trace context. Requests after a
    /// redirect carry the context of the first request.
    pub(super) fn draw_trace(&self, request: &Built, now_ns: u64, exchange: &mut Exchange) {
        let Some(contexts) = &self.trace_contexts else {
            return;
        };
        if !std::mem::replace(&mut exchange.is_trace_drawn, true) && !request.has_traceparent() {
            exchange.trace = contexts.next(now_ns);
        }
    }

    pub(super) fn cookies_for(
        &self,
        request: &Built,
        call: &Call<'_>,
        jar: &mut Jar,
        now_ns: u64,
    ) -> Option<String> {
        if jar.is_empty(call.sets_cookies) {
            return None;
        }
        let target = &request.target;
        jar.header(&target.origin, &target.path, self.worker.wall_s(now_ns))
    }

    pub(super) fn keep_cookies(
        &self,
        target: &Target,
        jar: &mut Jar,
        caller: &mut impl Caller,
        exchange: &Exchange,
    ) {
        if !self.http.cookie_jar {
            return;
        }
        let done = exchange.moments.done;
        for header in exchange.answer.set_cookies() {
            if !jar.set(
                header,
                &target.origin,
                &target.path,
                self.worker.wall_s(done),
            ) {
                caller.odd_cookie(done);
            }
        }
    }
}

impl Exchange {
    fn forget_hop(&mut self) {
        if let Some(streamed) = &mut self.streamed {
            streamed.begin_hop();
        }
        self.answer = Response::default();
        self.connection = None;
        self.moments.head = 0;
        self.moments.done = 0;
        self.moments.opening = Opening::default();
    }
}

fn redirect_of<'a>(call: &Call<'_>, answer: &'a Response) -> Option<(Redirects, &'a str)> {
    let redirects = matches!(answer.status, 300..=304 | 307 | 308);
    call.redirects.filter(|_| redirects).zip(answer.location())
}
