//! Targets with known truth: small servers that a load test can be aimed at, and that count for themselves what reached them.
//! This file is the crate's whole interface: which labs there are, and how one is started and stopped. It knows nothing of the
//! rest of Loadline, so that what a lab counts stays a second opinion about what the engine says.
//!
//! A lab is one file or folder here that offers an `Entry`; options, serving, counting, logging and stopping are shared.

#![forbid(unsafe_code)]

mod beside;
mod body;
mod checkin;
mod clock;
mod cores;
mod error;
mod exposition;
mod fhir;
mod given;
mod guard;
mod jwt;
mod latency;
mod listen;
mod log;
mod mqtt;
mod observe;
mod options;
mod pepeunit;
mod quota;
mod random;
mod server;
mod shortener;
mod stats;
mod stop;
mod sum;
mod timer;
mod truth;

use std::io::Write;
use std::net::SocketAddr;
use std::pin::Pin;
use std::thread::JoinHandle;

use axum::Router;
use tokio::sync::oneshot;

pub use error::LabError;
pub use listen::raise_descriptor_limit;
pub use options::Options;
pub use stop::Stop;

use beside::Beside;

/// What a lab offers to the shared part of this crate.
struct Entry {
    name: &'static str,
    help: &'static str,
    /// Names of the `option=value` pairs that this lab takes.
    extra: &'static [&'static str],
    kind: Kind,
    /// What `--print-token` prints.
    token: fn(&Options) -> String,
}

/// The token itself, for labs that want nothing else, or none.
fn plain_token(options: &Options) -> String {
    options.token.clone()
}

/// What a lab stands on.
enum Kind {
    /// axum: builds the lab's routes, opens what it needs; the rest is shared.
    Routes(fn(&Options) -> Result<Routes, LabError>),
    /// A loop of its own, because its timing matters: opens what it needs and takes its port.
    OwnLoop(fn(&Options) -> Result<Bound, LabError>),
}

/// A lab's routes, and what it counts for itself beside requests and answers: a name and a document, for `/__lab/stats`.
struct Routes {
    router: Router,
    stats: Option<OwnStats>,
    /// A server of another kind on a port of its own.
    beside: Option<Beside>,
    /// What goes on while the lab serves, whoever asks.
    meanwhile: Option<Meanwhile>,
}

type Meanwhile = Pin<Box<dyn Future<Output = ()> + Send>>;

type OwnStats = Box<dyn Fn() -> (&'static str, serde_json::Value) + Send + Sync>;

impl From<Router> for Routes {
    fn from(router: Router) -> Self {
        Self {
            router,
            stats: None,
            beside: None,
            meanwhile: None,
        }
    }
}

const LABS: &[Entry] = &[
    sum::LAB,
    fhir::LAB,
    shortener::LAB,
    checkin::LAB,
    pepeunit::LAB,
    mqtt::LAB,
    truth::LAB,
];

const NAMES: [(&str, &str); LABS.len()] = {
    let mut names = [("", ""); LABS.len()];
    let mut i = 0;
    while i < LABS.len() {
        names[i] = (LABS[i].name, LABS[i].help);
        i += 1;
    }
    names
};

/// Every lab: its name and one line of help.
#[must_use]
pub fn names() -> &'static [(&'static str, &'static str)] {
    &NAMES
}

/// Runs a lab until SIGTERM or SIGINT (or until standard input closes, if asked for): the whole `loadline lab NAME` command.
///
/// Writes a `listening on SCHEME://HOST:PORT` line for each port, http first, and then `ready` to `out`, and nothing else; with
/// [`print_token`](Options::print_token) it writes a valid token instead and starts nothing.
///
/// # Errors
/// Whatever keeps the lab from starting, and a log that could not be written to its end.
pub fn run(name: &str, options: Options, mut out: impl Write) -> Result<(), LabError> {
    if options.print_token {
        let token = (find(name, &options)?.token)(&options);
        writeln!(out, "{token}").map_err(LabError::Output)?;
        return out.flush().map_err(LabError::Output);
    }
    listen::raise_descriptor_limit();
    let bound = Bound::new(name, &options)?;
    let (address, beside) = (bound.address, bound.beside);
    // Before `ready`, so that a signal sent right after it finds its handler.
    let stop = Stop::listen(options.until_stdin_closes)?;
    let (lab, ended) = Lab::spawn(name, bound)?;
    writeln!(out, "listening on http://{address}").map_err(LabError::Output)?;
    if let Some((scheme, address)) = beside {
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
    beside: Option<(&'static str, SocketAddr)>,
    stop: Option<Box<dyn FnOnce() + Send>>,
    thread: Option<JoinHandle<Result<(), LabError>>>,
}

impl Lab {
    /// Starts a lab; on return it listens. Installs no signal handler and does not look at standard input.
    ///
    /// # Errors
    /// Whatever keeps the lab from starting.
    pub fn start(name: &str, options: &Options) -> Result<Self, LabError> {
        Self::spawn(name, Bound::new(name, options)?).map(|(lab, _)| lab)
    }

    /// The lab on its thread, and a receiver that is ready when the lab has ended, whatever the reason.
    fn spawn(name: &str, bound: Bound) -> Result<(Self, oneshot::Receiver<()>), LabError> {
        let Bound {
            address,
            beside,
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
            beside,
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

    /// Where else it listens, and which scheme is spoken there.
    #[must_use]
    pub fn beside(&self) -> Option<(&'static str, SocketAddr)> {
        self.beside
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
struct Bound {
    address: SocketAddr,
    /// A second port, and which scheme is spoken there.
    beside: Option<(&'static str, SocketAddr)>,
    /// Serves on the calling thread until told to stop; says whether the log is complete.
    serve: Box<dyn FnOnce() -> Result<(), LabError> + Send>,
    /// Tells it to stop, from any thread, before or while it serves.
    stop: Box<dyn FnOnce() + Send>,
}

impl Bound {
    fn new(name: &str, options: &Options) -> Result<Self, LabError> {
        match find(name, options)?.kind {
            Kind::Routes(routes) => server::bind(options, routes),
            Kind::OwnLoop(bind) => bind(options),
        }
    }
}

fn find(name: &str, options: &Options) -> Result<&'static Entry, LabError> {
    let lab = LABS
        .iter()
        .find(|lab| lab.name == name)
        .ok_or_else(|| LabError::UnknownLab {
            name: name.to_owned(),
        })?;
    options.check_extra(lab)?;
    Ok(lab)
}
