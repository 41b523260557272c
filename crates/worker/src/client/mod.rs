//! The HTTP client of one worker. Sends encoded requests and returns responses with timestamps.
//! Handles connections, cookies, redirects and limits.

mod call;
pub mod exchange;
pub mod hosts;
mod http1;
pub mod pool;
pub mod request;
pub mod transport;

use std::{
    cell::RefCell,
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
        Dialer,
        connect::{Connector, Opened},
        fault::socket_fault,
        tls,
    },
    worker::Worker,
};
pub use call::{Agent, Call, CallError, Caller, Redirects};
use codec::{Origin, heads::Heads};
pub use exchange::{Exchange, Limits, Moments};
use hosts::{Hosts, Ruling};
pub use http1::Http1;
use pool::{Conn, ConnectionPool, OpenCount, OriginId};
pub use request::{BuildError, Built, Override};
use transport::WorkerBuffers;

/// Maximum number of body bytes kept of a failed response whose body the test does not need.
pub const EXCERPT: usize = 1024;

/// Settings shared by all workers of a run.
#[derive(Debug, Clone)]
pub struct HttpClientConfig {
    /// Connection settings of the plan.
    pub http: plan::Http,
    /// TLS configuration.
    pub tls: Arc<ClientConfig>,
    /// Local addresses that connections use in turn.
    pub sources: Vec<IpAddr>,
    /// Hosts that may be loaded.
    pub hosts: Hosts,
    /// Origins known before the run.
    pub origins: Vec<Origin>,
}

impl HttpClientConfig {
    /// Creates the settings and loads TLS files. Returns an error message for the user on failure.
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

/// The client of one worker.
pub struct Client {
    worker: Rc<Worker>,
    http: plan::Http,
    hosts: Hosts,
    connector: Connector,
    shared: Option<ConnectionPool>,
    origins: RefCell<Vec<Origin>>,
    heads: RefCell<Heads>,
    scratch: RefCell<Vec<u8>>,
    /// Whether connections count in the statistics.
    is_recorded: bool,
}

/// Label and intended start to which the times of a new connection are attributed.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// Label of the connection's times.
    pub label: LabelId,
    /// Intended start of the request. `None` if the connection serves no particular request.
    pub intended: Option<Intended>,
}

impl Client {
    /// Creates the client of a worker.
    #[must_use]
    pub fn new(worker: &Rc<Worker>, settings: HttpClientConfig) -> Client {
        let http = settings.http;
        Client {
            connector: Connector::new(worker.clock.clone(), &http, settings.tls, settings.sources),
            shared: pool::of_worker(http.pool, worker.index, worker.workers),
            worker: Rc::clone(worker),
            http,
            hosts: settings.hosts,
            origins: RefCell::new(settings.origins),
            heads: RefCell::new(Heads::acted_upon()),
            scratch: RefCell::default(),
            is_recorded: true,
        }
    }

    /// Makes the client parse only the status of response heads. Cookies, redirects and encodings
    /// are then ignored.
    #[must_use]
    pub fn only_counting(mut self) -> Client {
        self.heads = RefCell::default();
        self
    }

    /// Leaves the connections of this client out of the statistics.
    #[must_use]
    pub fn unrecorded(mut self) -> Client {
        self.is_recorded = false;
        self
    }

    /// Opens all later connections with this dialer instead of the network.
    pub fn set_dialer(&mut self, dialer: Rc<dyn Dialer>) {
        self.connector.set_dialer(dialer);
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

    /// Returns the number of an origin, which is assigned at first use.
    pub fn origin_id(&self, origin: &Origin) -> OriginId {
        let mut origins = self.origins.borrow_mut();
        let known = origins.iter().position(|o| o == origin);
        known.unwrap_or_else(|| {
            origins.push(origin.clone());
            origins.len() - 1
        }) as OriginId
    }

    /// Opens a connection to the given address, or to the origin's address, and records its times.
    pub async fn connect(
        &self,
        origin: &Origin,
        at: Option<SocketAddr>,
        purpose: Purpose,
        limit: &Limit,
    ) -> Result<(Box<Conn>, Opening), Fault> {
        let worker = &self.worker;
        let id = self.origin_id(origin);
        let opened = self.connector.open_at(origin, at, limit).await;
        let now = worker.clock.now();
        worker.sample_levels(now);
        let opened = opened?;
        if self.is_recorded {
            self.record_opening(&opened, purpose, now);
        }
        let stream = opened.stream.with_read_interest();
        let mut transport = Http1::over(stream.map_err(|e| socket_fault(&e))?);
        transport.replies().excerpt = EXCERPT;
        let conn = Box::new(Conn {
            transport,
            origin: id,
            idle_since_ns: now,
            carried: 0,
            _open: self.is_recorded.then(|| OpenCount::new(&worker.open)),
        });
        let opening = Opening {
            lookup_ns: opened.lookup_ns,
            connect_ns: opened.connect_ns,
            tls_ns: opened.tls_ns,
        };
        Ok((conn, opening))
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

    /// Whether a host that appeared during the run may be loaded. Adds a note unless the user wrote
    /// the host.
    pub fn may_go_to(&self, host: &str, reason: &str) -> bool {
        let ruling = self.hosts.ruling(host);
        match ruling {
            Ruling::Allowed => {}
            Ruling::Told => self.worker.remark(format!(
                "load was sent to `{host}`, which the test does not contain: {reason}"
            )),
            Ruling::Refused => self.worker.remark(format!(
                "host not allowed: nothing was sent to `{host}`, which the test does not contain ({reason}); {}",
                self.hosts.advice(host)
            )),
        }
        ruling != Ruling::Refused
    }
}
