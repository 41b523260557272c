//! Targets with known truth: small servers that a load test can be aimed at, and that count for themselves what reached them.
//! This crate has the general labs (`sum`, `mqtt`, `truth`) and what every lab shares: options, serving, counting, logging and
//! stopping. It uses no other crate of the workspace, so that a lab's counts are a second opinion on the engine's.
//!
//! A lab is an [`Entry`]. Further labs live in crates of their own and are run from a list of entries.

#![forbid(unsafe_code)]

mod body;
pub mod clock;
pub mod draw;
mod error;
pub mod fifo;
mod guard;
mod listen;
mod log;
pub mod mqtt;
mod observe;
mod options;
pub mod random;
mod server;
pub mod sidecar;
mod stats;
mod stop;
mod sum;
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

/// A lab: its name, its options and how it starts.
#[derive(Clone, Copy)]
pub struct LabEntry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line of help.
    pub help: &'static str,
    /// Names of the `option=value` pairs that this lab takes.
    pub extra: &'static [&'static str],
    /// How it serves.
    pub kind: LabKind,
    /// Makes what `--print-token` prints.
    pub token: fn(&LabOptions) -> String,
}

/// The token as given, for labs that need no other.
#[must_use]
pub fn plain_token(options: &LabOptions) -> String {
    options.token.clone()
}

/// How a lab serves.
#[derive(Clone, Copy)]
pub enum LabKind {
    /// With axum: the function builds the lab's routes and opens its files; the rest is shared.
    Routes(fn(&LabOptions) -> Result<Routes, LabError>),
    /// With a loop of its own, because its timing matters: the function opens its files and binds its port.
    OwnLoop(fn(&LabOptions) -> Result<Bound, LabError>),
}

/// A lab's routes, and what it serves and counts sidecars requests and answers.
pub struct Routes {
    /// The routes.
    pub router: Router,
    /// Makes the lab's own part of `/__lab/stats`: a name and a document.
    pub stats: Option<OwnStats>,
    /// A second server on a port of its own.
    pub sidecar: Option<Sidecar>,
    /// Runs as long as the lab serves.
    pub background: Option<Background>,
}

/// Work that runs as long as the lab serves.
pub type Background = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Makes the lab's own part of `/__lab/stats`.
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

/// The lab `sum`.
pub const SUM: LabEntry = sum::LAB;
/// The lab `mqtt`.
pub const MQTT: LabEntry = mqtt::LAB;
/// The lab `truth`.
pub const TRUTH: LabEntry = truth::LAB;

/// The labs of this crate.
pub const GENERAL: &[LabEntry] = &[SUM, MQTT, TRUTH];

/// Runs one of these labs until SIGTERM or SIGINT (or until standard input closes, if asked for): the whole `loadline lab NAME` command.
///
/// Writes a `listening on SCHEME://HOST:PORT` line for each port, http first, and then `ready` to `out`, and nothing else; with
/// [`print_token`](Options::print_token) it writes a valid token instead and starts nothing.
///
/// # Errors
/// Whatever keeps the lab from starting, and a log that could not be written to its end.
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
    let (address, sidecar) = (bound.address, bound.sidecar);
    // Before `ready`, so that a signal sent right after it finds its handler.
    let stop = Stop::listen(options.until_stdin_closes)?;
    let (lab, ended) = Lab::spawn(name, bound)?;
    writeln!(out, "listening on http://{address}").map_err(LabError::Output)?;
    if let Some((scheme, address)) = sidecar {
        writeln!(out, "listening on {scheme}://{address}").map_err(LabError::Output)?;
    }
    writeln!(out, "ready").map_err(LabError::Output)?;
    out.flush().map_err(LabError::Output)?;
    stop.wait(ended);
    lab.stop()
}

/// A lab that runs on a thread of its own inside this process, until it is stopped or dropped.
pub struct Lab {
    address: SocketAddr,
    sidecar: Option<(&'static str, SocketAddr)>,
    stop: Option<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<Result<(), LabError>>>,
}

impl Lab {
    /// Starts a lab of this crate; on return it listens. Installs no signal handler and does not look at standard input.
    ///
    /// # Errors
    /// Whatever keeps the lab from starting.
    pub fn start(name: &str, options: &LabOptions) -> Result<Self, LabError> {
        Self::start_from(GENERAL, name, options)
    }

    /// Starts one of these labs; otherwise like [`Lab::start`].
    ///
    /// # Errors
    /// Whatever keeps the lab from starting.
    pub fn start_from(
        labs: &[LabEntry],
        name: &str,
        options: &LabOptions,
    ) -> Result<Self, LabError> {
        Self::spawn(name, Bound::new(labs, name, options)?).map(|(lab, _)| lab)
    }

    /// The lab on its thread, and a receiver that is ready when the lab has ended, whatever the reason.
    fn spawn(name: &str, bound: Bound) -> Result<(Self, oneshot::Receiver<()>), LabError> {
        let Bound {
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

    /// Where the lab listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The scheme and address of the lab's second port, if it has one.
    #[must_use]
    pub fn sidecar(&self) -> Option<(&'static str, SocketAddr)> {
        self.sidecar
    }

    /// Stops the lab and waits for its end: answers under way are written, the log is flushed.
    ///
    /// # Errors
    /// A log that could not be written to its end.
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
        // Whoever wants to know calls `stop`.
        let _ = self.end();
    }
}

/// A lab whose port is taken and whose files are open: everything that can go wrong at the start has not.
pub struct Bound {
    address: SocketAddr,
    /// A second port, and which scheme is spoken there.
    sidecar: Option<(&'static str, SocketAddr)>,
    /// Serves on the calling thread until told to stop; says whether the log is complete.
    serve: Box<dyn FnOnce() -> Result<(), LabError> + Send>,
    /// Tells it to stop, from any thread, before or while it serves.
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
