//! Embedded targets: small servers for load tests that count the requests they receive. This crate
//! contains the general labs (`sum`, `mqtt`, `truth`, `http2`, `llm`, `chat`) and the shared code
//! for options, serving, counting, logging and stopping.
//!
//! It shares no code with the engine, so its counts are independent of the engine's. The only
//! exception is `chat`, which reads and writes WebSocket frames with `codec`. Other crates add labs
//! as a [`LabEntry`].

#![forbid(unsafe_code)]

mod body;
mod chat;
pub mod clock;
pub mod draw;
mod error;
pub mod fifo;
mod guard;
mod http2;
mod listen;
mod llm;
mod log;
pub mod mqtt;
mod observe;
mod options;
mod own_server;
pub mod random;
mod server;
pub mod sidecar;
mod stats;
mod stop;
mod sum;
pub mod timer;
mod truth;
pub mod units;

use std::io::Write;
use std::net::SocketAddr;
use std::pin::Pin;
use std::thread::JoinHandle;

use axum::Router;
use tokio::sync::oneshot;

pub use error::LabError;
pub use listen::raise_descriptor_limit;
pub use options::LabOptions;
pub use stop::Stop;

use sidecar::Sidecar;

#[derive(Clone, Copy)]
pub struct LabEntry {
    pub name: &'static str,
    pub help: &'static str,
    /// Names of the `option=value` pairs that the lab accepts.
    pub extra: &'static [&'static str],
    pub kind: LabKind,
    pub token: fn(&LabOptions) -> String,
}

#[must_use]
pub fn plain_token(options: &LabOptions) -> String {
    options.token.clone()
}

#[derive(Clone, Copy)]
pub enum LabKind {
    Routes(fn(&LabOptions) -> Result<Routes, LabError>),
    /// The lab has its own event loop, for exact timing. The function opens files and binds the
    /// port.
    OwnLoop(fn(&LabOptions) -> Result<Bound, LabError>),
}

pub struct Routes {
    pub router: Router,
    pub stats: Option<OwnStats>,
    pub sidecar: Option<Sidecar>,
    pub background: Option<Background>,
}

pub type Background = Pin<Box<dyn Future<Output = ()> + Send>>;

pub type OwnStats = Box<dyn Fn() -> (&'static str, serde_json::Value) + Send + Sync>;

impl From<Router> for Routes {
    fn from(router: Router) -> Self {
        Self {
            router,
            stats: None,
            sidecar: None,
            background: None,
        }
    }
}

pub const SUM: LabEntry = sum::LAB;
pub const MQTT: LabEntry = mqtt::LAB;
pub const TRUTH: LabEntry = truth::LAB;
pub const HTTP2: LabEntry = http2::LAB;
pub const LLM: LabEntry = llm::LAB;
pub const CHAT: LabEntry = chat::LAB;

pub const GENERAL: &[LabEntry] = &[SUM, MQTT, TRUTH, HTTP2, LLM, CHAT];

/// Runs a lab until SIGTERM or SIGINT, or until standard input closes if that is requested. This is
/// the command `loadline lab NAME`.
///
/// Writes a line `listening on SCHEME://HOST:PORT` to `out` for each port, HTTP first, and then
/// `ready`. If [`print_token`](LabOptions::print_token) is set, writes a valid token and starts
/// nothing.
///
/// Fails if the lab cannot start or its log is incomplete.
pub fn run(
    labs: &[LabEntry],
    name: &str,
    options: LabOptions,
    mut out: impl Write,
) -> Result<(), LabError> {
    if options.print_token {
        let token = (find(labs, name, &options)?.token)(&options);
        writeln!(out, "{token}").map_err(LabError::Output)?;
        return out.flush().map_err(LabError::Output);
    }
    listen::raise_descriptor_limit();
    let bound = Bound::new(labs, name, &options)?;
    let (scheme, address, sidecar) = (bound.scheme, bound.address, bound.sidecar);
    // Install the signal handlers before writing `ready`, because a signal may follow immediately.
    let stop = Stop::listen(options.until_stdin_closes)?;
    let (lab, ended) = Lab::spawn(name, bound)?;
    writeln!(out, "listening on {scheme}://{address}").map_err(LabError::Output)?;
    if let Some((scheme, address)) = sidecar {
        writeln!(out, "listening on {scheme}://{address}").map_err(LabError::Output)?;
    }
    writeln!(out, "ready").map_err(LabError::Output)?;
    out.flush().map_err(LabError::Output)?;
    stop.wait(ended);
    lab.stop()
}

pub struct Lab {
    address: SocketAddr,
    sidecar: Option<(&'static str, SocketAddr)>,
    stop: Option<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<Result<(), LabError>>>,
}

impl Lab {
    pub fn start(name: &str, options: &LabOptions) -> Result<Self, LabError> {
        Self::start_from(GENERAL, name, options)
    }

    pub fn start_from(
        labs: &[LabEntry],
        name: &str,
        options: &LabOptions,
    ) -> Result<Self, LabError> {
        Self::spawn(name, Bound::new(labs, name, options)?).map(|(lab, _)| lab)
    }

    fn spawn(name: &str, bound: Bound) -> Result<(Self, oneshot::Receiver<()>), LabError> {
        let Bound {
            scheme: _,
            address,
            sidecar,
            serve,
            stop,
        } = bound;
        let (alive, ended) = oneshot::channel::<()>();
        let thread = std::thread::Builder::new()
            .name(format!("lab-{name}"))
            .spawn(move || {
                let _alive = alive;
                serve()
            })
            .map_err(LabError::Runtime)?;
        let lab = Self {
            address,
            sidecar,
            stop: Some(stop),
            thread: Some(thread),
        };
        Ok((lab, ended))
    }

    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    #[must_use]
    pub fn sidecar(&self) -> Option<(&'static str, SocketAddr)> {
        self.sidecar
    }

    /// Stops the lab and waits until it has ended. Fails if the log is incomplete.
    pub fn stop(mut self) -> Result<(), LabError> {
        self.end()
    }

    fn end(&mut self) -> Result<(), LabError> {
        if let Some(stop) = self.stop.take() {
            stop();
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(result)) => result,
            Some(Err(_)) => Err(LabError::Runtime(std::io::Error::other(
                "the lab's thread panicked",
            ))),
            None => Ok(()),
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

pub struct Bound {
    scheme: &'static str,
    address: SocketAddr,
    sidecar: Option<(&'static str, SocketAddr)>,
    serve: Box<dyn FnOnce() -> Result<(), LabError> + Send>,
    stop: Box<dyn FnOnce() + Send>,
}

impl Bound {
    fn new(labs: &[LabEntry], name: &str, options: &LabOptions) -> Result<Self, LabError> {
        match find(labs, name, options)?.kind {
            LabKind::Routes(routes) => server::bind(options, routes),
            LabKind::OwnLoop(bind) => bind(options),
        }
    }
}

fn find(labs: &[LabEntry], name: &str, options: &LabOptions) -> Result<LabEntry, LabError> {
    let lab = labs
        .iter()
        .find(|lab| lab.name == name)
        .ok_or_else(|| LabError::UnknownLab {
            name: name.to_owned(),
            known: labs.iter().map(|lab| lab.name).collect(),
        })?;
    options.check_extra(lab)?;
    Ok(*lab)
}
