//! Serves a plan's mocks on an event loop with precise timing. The due time of a response is
//! computed when its request arrives. At the end, served latencies are compared with requested
//! ones.

#![forbid(unsafe_code)]

mod clock;
mod deadlines;
mod ledger;
mod log;
mod serve;
mod state;

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
use log::Log;
use serve::{Site, serve};
use state::MockState;

#[derive(Debug, Clone)]
pub struct MockOptions {
    pub host: String,
    pub port: u16,
    pub seed: u64,
    pub log: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

#[derive(Debug)]
pub struct RunningMocks {
    addresses: Vec<(String, SocketAddr)>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<io::Result<Vec<Value>>>>,
}

pub fn start(mocks: Vec<Mock>, options: &MockOptions) -> Result<RunningMocks, Error> {
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
    Ok(RunningMocks {
        addresses,
        stop: Some(stop),
        thread: Some(thread),
    })
}

impl RunningMocks {
    #[must_use]
    pub fn addresses(&self) -> &[(String, SocketAddr)] {
        &self.addresses
    }

    pub fn stop(mut self) -> Result<Vec<Value>, Error> {
        drop(self.stop.take());
        let ended = self.thread.take().map(JoinHandle::join);
        match ended {
            Some(Ok(Ok(reported))) => Ok(reported),
            Some(Ok(Err(error))) => Err(Error(format!("the mocks failed: {error}"))),
            Some(Err(_)) => Err(Error("the mocks' thread panicked".to_owned())),
            None => Ok(Vec::new()),
        }
    }
}

impl Drop for RunningMocks {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn listen(host: &str, port: u16) -> io::Result<(TcpListener, SocketAddr)> {
    let mut failure = io::Error::other("the host name has no address");
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
    let reported = local.block_on(&runtime, async {
        let deadlines = Rc::new(Deadlines::new()?);
        let mut sites = Vec::new();
        for (number, (mock, listener)) in bound.into_iter().enumerate() {
            let site = Rc::new(Site {
                name: mock.name.clone(),
                broker_state: RefCell::new(MockState::new(mock, seed ^ (number as u64) << 56)),
                deadlines: Rc::clone(&deadlines),
                log: log.clone(),
            });
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::task::spawn_local(serve(listener, Rc::clone(&site)));
            sites.push(site);
        }
        tokio::select! {
            _ = stopped => {}
            broken = deadlines.wake() => broken?,
        }
        Ok::<_, io::Error>(
            sites
                .iter()
                .map(|site| site.broker_state.borrow().to_json())
                .collect(),
        )
    });
    if let Some(log) = log {
        log.borrow_mut().finish()?;
    }
    reported
}
