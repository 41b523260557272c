//! The HTTP client of one worker. Its one operation: send this request - bytes made before the run or while it goes on -, tell so
//! much of the answer, and when what happened. It owns connections, cookies' way in and out, redirects and limits. What a request is
//! for, and what its answer means, is the caller's business: it knows no steps, no scripts and no scenarios.

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

use measure::{Fault, Kind, LabelId, Outcome, accumulator::Opening, sample::Intended};
use tokio_rustls::rustls::ClientConfig;

use crate::{
    deadlines::Limit,
    net::{connect::Connector, fault::socket_fault, tls},
    worker::Worker,
};
pub use call::{Agent, Call, CallError, Caller, Redirects};
use codec::{Origin, heads::Heads};
pub use exchange::{Exchange, Limits, Moments};
use hosts::{Hosts, Ruling};
pub use http1::Http1;
use pool::{Conn, OpenCount, OriginId, Pool};
pub use request::{BuildError, Built, Override};
use transport::Io;

/// The most that is kept of a refusal's body that nobody wants, in bytes.
pub const EXCERPT: usize = 1024;

/// What a client needs to begin, the same for all workers of a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// How requests travel.
    pub http: plan::Http,
    /// The TLS configuration for it.
    pub tls: Arc<ClientConfig>,
    /// Local addresses to connect from, in turn.
    pub sources: Vec<IpAddr>,
    /// Which hosts may be loaded.
    pub hosts: Hosts,
    /// Origins known before the run.
    pub origins: Vec<Origin>,
}

impl Settings {
    /// Reads what TLS needs.
    ///
    /// # Errors
    /// One line of what is wrong with it.
    pub fn new(http: &plan::Http, hosts: Hosts, sources: Vec<IpAddr>) -> Result<Settings, String> {
        Ok(Settings {
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
    /// This worker's part of a shared pool, if connections are shared.
    shared: Option<Pool>,
    origins: RefCell<Vec<Origin>>,
    heads: RefCell<Heads>,
    scratch: RefCell<Vec<u8>>,
}

/// For whom a connection is opened: whose sample its times are told with.
#[derive(Debug, Clone, Copy)]
pub struct Purpose {
    /// The label.
    pub label: LabelId,
    /// When the request should have started; none: no one request is meant.
    pub intended: Option<Intended>,
}

impl Client {
    /// The client of a worker.
    #[must_use]
    pub fn new(worker: &Rc<Worker>, settings: Settings) -> Client {
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
        }
    }

    /// Has heads read for their status alone: nobody acts upon cookies, redirects or encodings.
    #[must_use]
    pub fn only_counting(mut self) -> Client {
        self.heads = RefCell::default();
        self
    }

    /// Connects to a server that exists in simulated time only.
    #[cfg(test)]
    pub(crate) fn simulated(&mut self, server: &Rc<crate::simulation::Server>) {
        self.connector.simulated = Some(Rc::clone(server));
    }

    /// How requests travel.
    #[must_use]
    pub fn http(&self) -> &plan::Http {
        &self.http
    }

    /// What a connection borrows while it exchanges.
    pub(crate) fn io(&self) -> Io<'_> {
        Io {
            clock: &self.worker.clock,
            buffer: &self.worker.buffer,
            heads: &self.heads,
            scratch: &self.scratch,
        }
    }

    /// The number of an origin, given out at its first mention.
    pub fn origin_id(&self, origin: &Origin) -> OriginId {
        let mut origins = self.origins.borrow_mut();
        let known = origins.iter().position(|o| o == origin);
        known.unwrap_or_else(|| {
            origins.push(origin.clone());
            origins.len() - 1
        }) as OriginId
    }

    /// Opens a connection, at an address that the caller has found for the origin or at its own, and tells what that took.
    ///
    /// # Errors
    /// What kept it from opening, or what cut it short.
    pub(crate) async fn connect(
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
        worker.look(now);
        let opened = opened?;
        let mut recorder = worker.recorder.borrow_mut();
        recorder.run.opened += 1;
        let intended = purpose.intended.unwrap_or(Intended::after_previous(now, 0));
        let mut time = |kind, ns| {
            recorder.time(now, purpose.label, intended, (kind, Outcome::Ok), ns);
        };
        time(Kind::Connect, opened.connect_ns);
        if let Some(ns) = opened.tls_ns {
            time(Kind::Tls, ns);
        }
        let stream = opened.stream.with_read_interest();
        let mut transport = Http1::over(stream.map_err(|e| socket_fault(&e))?);
        transport.replies().excerpt = EXCERPT;
        let conn = Box::new(Conn {
            transport,
            origin: id,
            idle_since_ns: now,
            carried: 0,
            _open: OpenCount::new(&worker.open),
        });
        let opening = Opening {
            lookup_ns: opened.lookup_ns,
            connect_ns: opened.connect_ns,
            tls_ns: opened.tls_ns,
        };
        Ok((conn, opening))
    }

    /// Whether a host that came up while the test runs may be loaded; that it came up is told either way, unless the user has
    /// named it.
    pub fn may_go_to(&self, host: &str, why: &str) -> bool {
        let ruling = self.hosts.ruling(host);
        match ruling {
            Ruling::Allowed => {}
            Ruling::Told => self.worker.remark(format!(
                "load went to `{host}`, which the test does not name: {why}"
            )),
            Ruling::Refused => self.worker.remark(format!(
                "host not allowed: nothing was sent to `{host}`, which the test does not name ({why}); {}",
                self.hosts.advice(host)
            )),
        }
        ruling != Ruling::Refused
    }
}
