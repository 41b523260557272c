//! STAND IN: the services behind a target, as a plan's `mocks` describe them, on a loop of their own whose timing is proven: each answer's
//! moment is computed when its request is there, and how near the served times came to those that were asked for is told at the end.
//! This file starts and stops them. It knows nothing of files, runs or the engine.

#![forbid(unsafe_code)]

mod clock;
mod deadlines;
mod desk;
mod ledger;
mod log;
mod serve;

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::PathBuf;
use std::rc::Rc;
use std::thread::JoinHandle;

use plan::mocks::Mock;
use serde_json::Value;
use tokio::sync::oneshot;

use deadlines::Deadlines;
use desk::Desk;
use log::Log;
use serve::{Site, serve};

/// What is asked of all mocks together.
#[derive(Debug, Clone)]
pub struct Options {
    /// Name or address to listen on.
    pub host: String,
    /// Port of the first mock that names none, the next one's is the next; 0: any free ones.
    pub port: u16,
    /// Seed of everything random.
    pub seed: u64,
    /// Where to write a line per request.
    pub log: Option<PathBuf>,
}

/// Why mocks did not start, or did not end well: one line.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Mocks at work; they end when this is dropped.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<(String, SocketAddr)>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<Vec<Value>>>>,
}

/// Starts mocks; on return they listen.
///
/// # Errors
/// Why they cannot.
pub fn start(mocks: Vec<Mock>, options: &Options) -> Result<Running, Error> {
    let mut addresses = Vec::new();
    let mut bound = Vec::new();
    let mut next = options.port;
    for mock in mocks {
        let port = if mock.port == 0 { next } else { mock.port };
        let (listener, address) = listen(&options.host, port).map_err(|error| {
            let Mock { name, .. } = &mock;
            Error(format!(
                "mock {name}: cannot bind {}:{port}: {error}",
                options.host
            ))
        })?;
        if mock.port == 0 && next != 0 {
            next = next.wrapping_add(1);
        }
        addresses.push((mock.name.clone(), address));
        bound.push((mock, listener));
    }
    let log = options.log.as_deref().map(|path| {
        let created = Log::create(path);
        created.map_err(|error| Error(format!("cannot open log {}: {error}", path.display())))
    });
    let log = log.transpose()?;
    let (stop, stopped) = oneshot::channel();
    let seed = options.seed;
    let thread = std::thread::Builder::new()
        .name("mocks".to_owned())
        .spawn(move || run(bound, log, seed, stopped))
        .map_err(|error| Error(format!("cannot start a thread: {error}")))?;
    Ok(Running {
        addresses,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl Running {
    /// Where each of them listens.
    #[must_use]
    pub fn addresses(&self) -> &[(String, SocketAddr)] {
        &self.addresses
    }

    /// Ends them; what each of them has served, and how near that came to what was asked.
    ///
    /// # Errors
    /// A log that could not be written to its end.
    pub fn stop(mut self) -> Result<Vec<Value>, Error> {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Ok(told))) => Ok(told),
            Some(Ok(Err(error))) => Err(Error(format!("the mocks ended badly: {error}"))),
            Some(Err(_)) => Err(Error("the mocks' thread panicked".to_owned())),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Whoever wants to know calls `stop`.
            let _ = thread.join();
        }
    }
}

fn listen(host: &str, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let mut failure = io::Error::other("the name has no address");
    for address in (host, port).to_socket_addrs()? {
        match TcpListener::bind(address) {
            Ok(listener) => {
                listener.set_nonblocking(true)?;
                let address = listener.local_addr()?;
                return Ok((listener, address));
            }
            Err(error) => failure = error,
        }
    }
    Err(failure)
}

/// The loop, until it is told to stop.
fn run(
    bound: Vec<(Mock, TcpListener)>,
    log: Option<Log>,
    seed: u64,
    stopped: oneshot::Receiver<()>,
) -> io::Result<Vec<Value>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .build()?;
    let local = tokio::task::LocalSet::new();
    let log = log.map(|log| Rc::new(RefCell::new(log)));
    let told = local.block_on(&runtime, async {
        let deadlines = Rc::new(Deadlines::new()?);
        let mut sites = Vec::new();
        for (number, (mock, listener)) in bound.into_iter().enumerate() {
            let site = Rc::new(Site {
                name: mock.name.clone(),
                desk: RefCell::new(Desk::new(mock, seed ^ (number as u64) << 56)),
                deadlines: Rc::clone(&deadlines),
                log: log.clone(),
            });
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::task::spawn_local(serve(listener, Rc::clone(&site)));
            sites.push(site);
        }
        tokio::select! {
            // Both a message and a sender that is gone mean "stop".
            _ = stopped => {}
            broken = deadlines.wake() => broken?,
        }
        Ok::<_, io::Error>(sites.iter().map(|site| site.desk.borrow().told()).collect())
    });
    if let Some(log) = log {
        log.borrow_mut().finish()?;
    }
    told
}
