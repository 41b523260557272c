//! Blocking exchanges with one deadline for the whole exchange, including the name lookup, instead
//! of a limit per read.

use std::{
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc,
    },
    time::Duration,
};

use worker::clock;

/// The time by which an exchange must have finished.
#[derive(Debug, Clone, Default)]
pub(crate) struct Deadline(Arc<AtomicU64>);

impl Deadline {
    pub fn set(&self, patience: Duration) {
        let patience = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let at_ns = clock::monotonic_ns().saturating_add(patience);
        self.0.store(at_ns, Ordering::Relaxed);
    }

    /// Returns the remaining time.
    ///
    /// # Errors
    ///
    /// Fails with `TimedOut` if no time remains.
    pub fn left(&self) -> io::Result<Duration> {
        let at_ns = self.0.load(Ordering::Relaxed);
        match at_ns.saturating_sub(clock::monotonic_ns()) {
            0 => Err(io::ErrorKind::TimedOut.into()),
            ns => Ok(Duration::from_nanos(ns)),
        }
    }
}

pub(crate) trait Socket: Read + Write {
    fn limit(&self, left: Duration) -> io::Result<()>;
}

impl Socket for TcpStream {
    fn limit(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))?;
        self.set_write_timeout(Some(left))
    }
}

impl Socket for UnixStream {
    fn limit(&self, left: Duration) -> io::Result<()> {
        self.set_read_timeout(Some(left))?;
        self.set_write_timeout(Some(left))
    }
}

#[derive(Debug)]
pub(crate) struct Bounded<S> {
    stream: S,
    deadline: Deadline,
}

impl<S: Socket> Bounded<S> {
    pub fn new(stream: S, deadline: &Deadline) -> Bounded<S> {
        Bounded {
            stream,
            deadline: deadline.clone(),
        }
    }
}

impl<S: Socket> Read for Bounded<S> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.stream.limit(self.deadline.left()?)?;
        self.stream.read(into)
    }
}

impl<S: Socket> Write for Bounded<S> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.limit(self.deadline.left()?)?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

/// Resolves a host on another thread, because the system's resolver has no time limit.
fn resolve(host: &str, port: u16, left: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse() {
        return Ok(vec![SocketAddr::new(address, port)]);
    }
    let (sender, found) = mpsc::channel();
    let host = host.to_owned();
    let thread = std::thread::Builder::new().name("resolver".to_owned());
    thread.spawn(move || {
        let addresses = (host.as_str(), port).to_socket_addrs();
        let _ = sender.send(addresses.map(Iterator::collect));
    })?;
    found
        .recv_timeout(left)
        .map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Connects to a host before the deadline.
pub(crate) fn connect(
    host: &str,
    port: u16,
    deadline: &Deadline,
) -> Result<Bounded<TcpStream>, String> {
    let late = |error: io::Error| io_error_text(&error);
    let addresses = resolve(host, port, deadline.left().map_err(late)?);
    let addresses = addresses.map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut => "the host name was not resolved in time".to_owned(),
        _ => "the host name cannot be resolved".to_owned(),
    })?;
    let mut reason = "the host name has no address".to_owned();
    for address in addresses {
        let left = deadline.left().map_err(late)?;
        let connected = TcpStream::connect_timeout(&address, left);
        match connected.and_then(|stream| stream.set_nodelay(true).map(|()| stream)) {
            Ok(stream) => return Ok(Bounded::new(stream, deadline)),
            Err(error) => reason = io_error_text(&error),
        }
    }
    Err(reason)
}

pub(crate) fn io_error_text(error: &io::Error) -> String {
    use io::ErrorKind as Kind;
    match error.kind() {
        Kind::ConnectionRefused => "connection refused".to_owned(),
        Kind::WouldBlock | Kind::TimedOut => "no answer in time".to_owned(),
        _ => error.to_string(),
    }
}
