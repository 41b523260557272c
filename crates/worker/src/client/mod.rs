//! The HTTP client of a worker. Sends encoded requests and returns responses with timestamps.
//! Manages connections, cookies, redirects and limits.

mod call;
pub mod conn;
pub mod exchange;
pub mod hosts;
mod http1;
pub mod http2;
mod measured;
pub mod observer;
pub mod pool;
pub mod request;
pub mod socketio;
pub mod streamed;
mod trace_context;
pub mod websocket;

use std::{
    cell::{Cell, RefCell},
    net::{IpAddr, SocketAddr},
    rc::Rc,
    sync::Arc,
};

use measure::{
    DurationSample, Fault, LabelId, OutcomeClass, TimeKind, accumulator::Opening, sample::Intended,
};
use tokio_rustls::rustls::ClientConfig;

use crate::{
    deadlines::Limit,
    net::{
        Alpn, Dialer, Stream,
        connect::{AddressRules, Connector, Opened},
        fault::socket_fault,
        tls,
    },
    worker::Worker,
};
pub use call::{Agent, Call, CallError, Caller, NoCaller, Redirects};
use codec::{
    Origin,
    heads::Heads,
    websocket::{Compressor, Negotiated},
};
use conn::{Conn, OpenCount};
pub use exchange::{Exchange, Limits, Moments};
use hosts::{Hosts, Ruling};
pub use http1::Http1;
use http2::{Protocol, ProtocolCell, heads::RequestHeads};
pub use measured::{Measured, MeasuredCall, MeasuredUpgrade};
use observer::WorkerBuffers;
use pool::{ConnectionPool, OriginId};
pub use request::{BuildError, Built, Override, RequestHead};
pub use streamed::{StreamRules, StreamedResponse};
use trace_context::TraceContexts;

/// Maximum number of body bytes to keep of a failed response if the test does not need the body.
pub const EXCERPT: usize = 1024;

/// Client settings that all workers of a run share.
#[derive(Debug, Clone)]
pub struct HttpClientConfig {
    /// Connection settings of the plan.
    pub http: plan::Http,
    /// TLS configuration.
    pub tls: Arc<ClientConfig>,
    /// Local addresses for connections, used in turn.
    pub sources: Vec<IpAddr>,
    /// The hosts to which requests may be sent.
    pub hosts: Hosts,
    /// Origins that are known before the run.
    pub origins: Vec<Origin>,
}

impl HttpClientConfig {
    /// Creates the settings and loads TLS files. On failure, returns a message for the user.
    pub fn new(
        http: &plan::Http,
        hosts: Hosts,
        sources: Vec<IpAddr>,
    ) -> Result<HttpClientConfig, String> {
        Ok(HttpClientConfig {
            tls: tls::config(http)?,
            http: http.clone(),
            sources,
            hosts,
            origins: Vec::new(),
        })
    }
}

/// The HTTP client of one worker.
pub struct Client {
    worker: Rc<Worker>,
    http: plan::Http,
    hosts: Hosts,
    connector: Connector,
    shared: Option<ConnectionPool>,
    origins: RefCell<Vec<Origin>>,
    /// Protocols by origin ID. Empty if all origins use HTTP/1.1.
    protocols: RefCell<Vec<ProtocolCell>>,
    request_heads: RefCell<RequestHeads>,
    heads: RefCell<Heads>,
    scratch: RefCell<Vec<u8>>,
    /// `None` if no requests carry a trace context.
    trace_contexts: Option<TraceContexts>,
    /// Compressor that several WebSocket connections share, if their parameters allow it.
    compressor: RefCell<Option<(Negotiated, Rc<RefCell<Compressor>>)>>,
    /// Whether the statistics include the client's connections.
    is_recorded: bool,
    /// Whether all origins use HTTP/1.1.
    is_http1: bool,
}

/// The label and intended start under which the times of a new connection count.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// Label for the times of the connection.
    pub label: LabelId,
    /// Intended start of the request. `None` if the connection is not for a particular request.
    pub intended: Option<Intended>,
}

impl Client {
    /// Creates the client of a worker.
    #[must_use]
    pub fn new(worker: &Rc<Worker>, settings: HttpClientConfig) -> Client {
        let http = settings.http;
        let trace_contexts = http.trace_context.as_ref();
        let trace_contexts =
            trace_contexts.map(|rules| TraceContexts::new(rules, worker.index, worker.workers));
        // Workers use different local addresses, even if each opens only a few connections.
        let first_source = worker.index * settings.sources.len() / worker.workers.max(1);
        let clock = worker.clock.clone();
        let mut connector = Connector::new(clock, &http, settings.tls, settings.sources);
        connector.begin_with_source(first_source);
        Client {
            connector,
            shared: pool::of_worker(http.pool, worker.index, worker.workers),
            worker: Rc::clone(worker),
            is_http1: http.versions.are_http1(),
            http,
            hosts: settings.hosts,
            origins: RefCell::new(settings.origins),
            protocols: RefCell::default(),
            request_heads: RefCell::default(),
            heads: RefCell::new(Heads::acted_upon()),
            scratch: RefCell::default(),
            trace_contexts,
            compressor: RefCell::default(),
            is_recorded: true,
        }
    }

    /// Makes the client parse only the status of response heads, and ignore cookies, redirects and
    /// encodings.
    #[must_use]
    pub fn only_counting(mut self) -> Client {
        self.heads = RefCell::default();
        self
    }

    /// Excludes the connections of this client from the statistics.
    #[must_use]
    pub fn unrecorded(mut self) -> Client {
        self.is_recorded = false;
        self
    }

    /// Uses a dialer instead of the network for all later connections.
    pub fn set_dialer(&mut self, dialer: Rc<dyn Dialer>) {
        self.connector.set_dialer(dialer);
    }

    /// Applies rules for addresses to all later connections.
    pub fn set_address_rules(&mut self, rules: Rc<dyn AddressRules>) {
        self.connector.set_rules(rules);
    }

    /// Returns the connection settings.
    #[must_use]
    pub fn http(&self) -> &plan::Http {
        &self.http
    }

    /// Lends the worker's buffers to a connection.
    #[must_use]
    pub fn io(&self) -> WorkerBuffers<'_> {
        WorkerBuffers {
            clock: &self.worker.clock,
            buffer: &self.worker.buffer,
            heads: &self.heads,
            scratch: &self.scratch,
        }
    }

    /// Returns the ID of an origin. A new ID is assigned on first use.
    pub fn origin_id(&self, origin: &Origin) -> OriginId {
        let mut origins = self.origins.borrow_mut();
        let known = origins.iter().position(|o| o == origin);
        known.unwrap_or_else(|| {
            origins.push(origin.clone());
            origins.len() - 1
        }) as OriginId
    }

    /// Returns the protocol of an origin. `None` means HTTP/1.1.
    fn protocol(&self, id: OriginId, origin: &Origin) -> Option<ProtocolCell> {
        if self.is_http1 {
            return None;
        }
        let mut protocols = self.protocols.borrow_mut();
        let origins = self.origins.borrow();
        while protocols.len() <= id as usize {
            let origin = origins.get(protocols.len()).unwrap_or(origin);
            let protocol = Protocol::new(origin, &self.http.versions);
            protocols.push(Rc::new(Cell::new(protocol)));
        }
        let protocol = &protocols[id as usize];
        (protocol.get() != Protocol::Http1).then(|| Rc::clone(protocol))
    }

    /// Opens an HTTP/1.1 connection to the given address, or to the origin's address, and records
    /// its times.
    pub async fn connect(
        &self,
        origin: &Origin,
        at: Option<SocketAddr>,
        purpose: Purpose,
        limit: &Limit,
    ) -> Result<(Box<Conn>, Opening), Fault> {
        let id = self.origin_id(origin);
        let opened = self.open_stream(origin, at, Alpn::Http1, purpose, limit);
        let opened = opened.await?;
        let opening = opened.opening();
        Ok((self.http1_on(opened, id)?, opening))
    }

    /// Opens a stream of bytes to an origin, and records its times.
    async fn open_stream(
        &self,
        origin: &Origin,
        at: Option<SocketAddr>,
        alpn: Alpn,
        purpose: Purpose,
        limit: &Limit,
    ) -> Result<Opened, Fault> {
        let worker = &self.worker;
        let opened = self.connector.open_at(origin, at, alpn, limit).await;
        let now = worker.clock.now();
        worker.sample_levels(now);
        let opened = opened?;
        if self.is_recorded {
            self.record_opening(&opened, purpose, now);
        }
        Ok(opened)
    }

    /// Creates an HTTP/1.1 connection on a new stream of bytes.
    fn http1_on(&self, opened: Opened, origin: OriginId) -> Result<Box<Conn>, Fault> {
        let mut http1 = Http1::over(Client::watched(opened.stream)?);
        http1.replies().excerpt = EXCERPT;
        let now = self.worker.clock.now();
        let conn = Conn::new(http1, origin, opened.info, self.open_count(), now);
        Ok(Box::new(conn))
    }

    fn watched(stream: Stream) -> Result<Stream, Fault> {
        stream.with_read_interest().map_err(|e| socket_fault(&e))
    }

    /// Counts a connection as open until the returned value is dropped. `None` if the client is
    /// unrecorded.
    fn open_count(&self) -> Option<OpenCount> {
        self.is_recorded.then(|| OpenCount::new(&self.worker.open))
    }

    fn record_opening(&self, opened: &Opened, purpose: Purpose, now: u64) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.run.opened += 1;
        let intended = purpose.intended.unwrap_or(Intended::after_previous(now, 0));
        let mut time = |kind, ns| {
            let duration = DurationSample {
                label: purpose.label,
                intended,
                kind,
                outcome: OutcomeClass::Ok,
                ns,
            };
            recorder.time(now, duration);
        };
        time(TimeKind::Connect, opened.connect_ns);
        if let Some(ns) = opened.tls_ns {
            time(TimeKind::Tls, ns);
        }
    }

    /// Returns whether requests may be sent to a host that appeared during the run. Adds a note
    /// unless the test file contains the host.
    pub fn may_go_to(&self, host: &str, reason: &str) -> bool {
        if self.hosts.ruling(host) == Ruling::Noted {
            self.worker.remark(format!(
                "load was sent to `{host}`, which the test does not contain: {reason}"
            ));
        }
        self.is_allowed(host, reason)
    }

    /// Returns whether requests may be sent to a host that a script uses. Adds a note if not.
    pub fn is_allowed(&self, host: &str, reason: &str) -> bool {
        let ruling = self.hosts.ruling(host);
        if ruling == Ruling::Refused {
            self.worker.remark(format!(
                "host not allowed: nothing was sent to `{host}`, which the test does not contain ({reason}); {}",
                self.hosts.advice(host)
            ));
        }
        ruling != Ruling::Refused
    }
}
