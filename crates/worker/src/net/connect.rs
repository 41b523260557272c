//! Opening of connections. Tries the addresses of a host in order, limits concurrent connects, and
//! maps errors to faults.

use std::{
    cell::RefCell,
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr, SocketAddrV6},
    rc::Rc,
    sync::Arc,
    task::Poll,
};

use measure::{Fault, accumulator::Opening, outcome::TlsFault};
use plan::{Http, Proxies, Route};
use rustix::io::Errno;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpSocket, UnixStream},
};
use tokio_rustls::{
    TlsConnector,
    client::TlsStream,
    rustls::{ClientConfig, pki_types::ServerName},
};

use super::{
    alpn::{Alpn, H2, TlsConfigs},
    connection_info::{ConnectionInfo, TlsInfo, tls_info},
    fault::{socket_fault, timed_out},
    semaphore::Semaphore,
    stream::{Dialer, Stream},
};
use codec::Origin;

use crate::{clock::Clock, deadlines::Limit};

/// Maximum number of concurrent connects per worker. More connects would overflow the server's
/// accept queue.
const CONNECTING: usize = 256;
const NEGATIVE_NS: u64 = 1_000_000_000;

/// Opens connections for one worker.
pub struct Connector {
    clock: Clock,
    semaphore: Rc<Semaphore>,
    /// Limits lookups to one per name at a time, because each lookup occupies a thread.
    lookups: RefCell<HashMap<String, Rc<Semaphore>>>,
    names: RefCell<HashMap<String, Resolved>>,
    tls: TlsConfigs,
    server_name: Option<String>,
    proxies: Proxies,
    route: Route,
    sources: Vec<IpAddr>,
    next_source: std::cell::Cell<usize>,
    dialer: Option<Rc<dyn Dialer>>,
    rules: Option<Rc<dyn AddressRules>>,
}

/// Decides which addresses connections use, instead of all addresses of a name in their order.
pub trait AddressRules {
    /// Returns an address that replaces the lookup of a host and port. `None` means a normal
    /// lookup.
    fn replacement(&self, host: &str, port: u16) -> Option<SocketAddr>;
    /// Returns how long the result of a lookup is used, in nanoseconds. `None` means for the whole
    /// run.
    fn ttl_ns(&self) -> Option<u64>;
    /// Returns those addresses of a looked-up name that are tried, in this order.
    fn choose(&self, host: &str, addresses: Vec<SocketAddr>) -> Vec<SocketAddr>;
    /// Returns whether an address must not be used. If it is the only one, the request fails with
    /// [`Fault::HostNotAllowed`].
    fn is_denied(&self, host: &str, address: SocketAddr) -> bool;
}

#[derive(Debug, Clone)]
enum Resolved {
    /// Addresses with port 0, and when they were looked up. An IPv6 address may have a zone.
    Addresses(Rc<[SocketAddr]>, u64),
    Failed(Fault, u64),
}

/// A new connection, and the durations of its phases.
#[derive(Debug)]
pub struct Opened {
    /// The connected stream.
    pub stream: Stream,
    /// Duration of the name lookup, in nanoseconds.
    pub lookup_ns: u64,
    /// Duration of the TCP connect, in nanoseconds.
    pub connect_ns: u64,
    /// Duration of the TLS handshake, in nanoseconds.
    pub tls_ns: Option<u64>,
    /// Addresses and TLS parameters of the connection.
    pub info: ConnectionInfo,
}

impl Opened {
    /// Returns the durations of the phases.
    #[must_use]
    pub fn opening(&self) -> Opening {
        Opening {
            lookup_ns: self.lookup_ns,
            connect_ns: self.connect_ns,
            tls_ns: self.tls_ns,
        }
    }
}

/// A stream after the TLS handshake.
struct Secured<S> {
    stream: Box<TlsStream<S>>,
    tls_ns: u64,
    tls: Option<TlsInfo>,
    chose_http2: bool,
}

impl<S> Secured<S> {
    fn info(&self, peer: Option<SocketAddr>) -> ConnectionInfo {
        ConnectionInfo {
            peer,
            tls: self.tls,
            is_http2: self.chose_http2,
        }
    }
}

impl Connector {
    /// Creates a connector for a plan's connection settings, TLS configuration and local addresses.
    #[must_use]
    pub fn new(
        clock: Clock,
        http: &Http,
        tls: Arc<ClientConfig>,
        sources: Vec<IpAddr>,
    ) -> Connector {
        Connector {
            clock,
            semaphore: Semaphore::new(CONNECTING),
            lookups: RefCell::default(),
            names: RefCell::default(),
            tls: TlsConfigs::new(tls),
            server_name: http.tls.server_name.clone(),
            proxies: http.proxies.clone(),
            route: http.route.clone(),
            sources,
            next_source: std::cell::Cell::new(0),
            dialer: None,
            rules: None,
        }
    }

    /// Uses the local addresses in turn, beginning with this one.
    pub fn begin_with_source(&mut self, index: usize) {
        self.next_source.set(index);
    }

    /// Applies rules for addresses to all later connections.
    pub fn set_rules(&mut self, rules: Rc<dyn AddressRules>) {
        self.rules = Some(rules);
    }

    /// Uses a dialer instead of the network for all later connections.
    pub fn set_dialer(&mut self, dialer: Rc<dyn Dialer>) {
        self.dialer = Some(dialer);
    }

    /// Opens a connection within the time limit.
    pub async fn open(&self, origin: &Origin, limit: &Limit) -> Result<Opened, Fault> {
        self.open_at(origin, None, Alpn::Http1, limit).await
    }

    /// Opens a connection to the given address, or to the origin's address if it is `None`.
    pub async fn open_at(
        &self,
        origin: &Origin,
        at: Option<SocketAddr>,
        alpn: Alpn,
        limit: &Limit,
    ) -> Result<Opened, Fault> {
        if let Some(dialer) = &self.dialer {
            return Ok(Opened {
                stream: Stream::Other(dialer.dial()),
                lookup_ns: 0,
                connect_ns: 0,
                tls_ns: None,
                info: ConnectionInfo::default(),
            });
        }
        if let Some(path) = &self.route.unix {
            return self.open_unix(path, origin, alpn, limit).await;
        }
        let proxy = self.proxies.of(origin.tls, &origin.host, origin.port);
        let (host, port) = proxy.map_or((&origin.host, origin.port), |p| (&p.host, p.port));
        let asked = self.clock.now();
        let addresses = self.addresses(host, port, at, limit).await?;
        let lookup_ns = self.clock.now().saturating_sub(asked);
        let permit = self.semaphore.acquire(limit).await.map_err(timed_out)?;
        let begin = self.clock.now();
        let mut last = Fault::DnsNotFound;
        for address in addresses {
            match self.connect(address, limit).await {
                Ok(mut tcp) => {
                    drop(permit);
                    if let Some(proxy) = proxy {
                        let tunnel = super::proxy::tunnel(&mut tcp, proxy, origin);
                        cut_short(limit, tunnel).await??;
                    }
                    let connect_ns = self.clock.now().saturating_sub(begin);
                    if !origin.tls {
                        return Ok(Opened {
                            stream: Stream::Tcp(tcp),
                            lookup_ns,
                            connect_ns,
                            tls_ns: None,
                            info: ConnectionInfo {
                                peer: Some(address),
                                ..ConnectionInfo::default()
                            },
                        });
                    }
                    let secured = self.handshake(tcp, origin, alpn, limit).await?;
                    return Ok(Opened {
                        lookup_ns,
                        connect_ns,
                        tls_ns: Some(secured.tls_ns),
                        info: secured.info(Some(address)),
                        stream: Stream::Tls(secured.stream),
                    });
                }
                // Faults of the load generator and an expired limit would affect every address
                // equally.
                Err(
                    fault @ (Fault::NoDescriptors | Fault::Unfinished | Fault::ResponseTimeout),
                ) => return Err(fault),
                Err(fault) => last = fault,
            }
        }
        Err(last)
    }

    /// Returns the addresses to try, in order: the given one, or those of the host.
    async fn addresses(
        &self,
        host: &str,
        port: u16,
        at: Option<SocketAddr>,
        limit: &Limit,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let rules = self.rules.as_ref();
        let replacement = || rules?.replacement(host, port);
        let mut addresses: Vec<SocketAddr> = match at.or_else(replacement) {
            Some(address) => vec![address],
            None => match self.route.addresses(host, port) {
                Some(given) => {
                    let with_port = |address: &IpAddr| SocketAddr::new(*address, port);
                    given.iter().map(with_port).collect()
                }
                None => self.looked_up(host, port, limit).await?,
            },
        };
        if let Some(rules) = rules.filter(|_| !addresses.is_empty()) {
            addresses.retain(|address| !rules.is_denied(host, *address));
            if addresses.is_empty() {
                return Err(Fault::HostNotAllowed);
            }
        }
        Ok(addresses)
    }

    /// Returns the addresses of a name or of a literal address.
    async fn looked_up(
        &self,
        host: &str,
        port: u16,
        limit: &Limit,
    ) -> Result<Vec<SocketAddr>, Fault> {
        let found = self.resolve(host, limit).await?;
        let at_port = |address: &SocketAddr| {
            let mut address = *address;
            address.set_port(port);
            address
        };
        let found = found.iter().map(at_port).collect();
        let is_name = host.parse::<IpAddr>().is_err();
        Ok(match self.rules.as_ref().filter(|_| is_name) {
            Some(rules) => rules.choose(host, found),
            None => found,
        })
    }

    async fn open_unix(
        &self,
        path: &str,
        origin: &Origin,
        alpn: Alpn,
        limit: &Limit,
    ) -> Result<Opened, Fault> {
        let permit = self.semaphore.acquire(limit).await.map_err(timed_out)?;
        let begin = self.clock.now();
        let socket = cut_short(limit, UnixStream::connect(path))
            .await?
            .map_err(|e| unix_fault(&e))?;
        drop(permit);
        let connect_ns = self.clock.now().saturating_sub(begin);
        let opened = |stream| Opened {
            stream,
            lookup_ns: 0,
            connect_ns,
            tls_ns: None,
            info: ConnectionInfo::default(),
        };
        if !origin.tls {
            return Ok(opened(Stream::Unix(socket)));
        }
        let secured = self.handshake(socket, origin, alpn, limit).await?;
        Ok(Opened {
            tls_ns: Some(secured.tls_ns),
            info: secured.info(None),
            ..opened(Stream::TlsUnix(secured.stream))
        })
    }

    async fn connect(
        &self,
        address: SocketAddr,
        limit: &Limit,
    ) -> Result<tokio::net::TcpStream, Fault> {
        let socket = if address.is_ipv4() {
            TcpSocket::new_v4()
        } else {
            TcpSocket::new_v6()
        }
        .map_err(|e| socket_fault(&e))?;
        socket.set_nodelay(true).map_err(|e| socket_fault(&e))?;
        if let Some(source) = self.source_for(address) {
            socket
                .bind(SocketAddr::new(source, 0))
                .map_err(|e| socket_fault(&e))?;
        }
        cut_short(limit, socket.connect(address))
            .await?
            .map_err(|e| socket_fault(&e))
    }

    async fn handshake<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        socket: S,
        origin: &Origin,
        alpn: Alpn,
        limit: &Limit,
    ) -> Result<Secured<S>, Fault> {
        let begin = self.clock.now();
        let host = self.server_name.as_deref().unwrap_or(origin.address());
        let name = ServerName::try_from(host.to_owned()).map_err(|_| Fault::BadUrl)?;
        let connector = TlsConnector::from(Arc::clone(self.tls.get(alpn)));
        let stream = match cut_short(limit, connector.connect(name, socket)).await? {
            Ok(stream) => stream,
            Err(e) => return Err(handshake_fault(&e, alpn)),
        };
        let session = stream.get_ref().1;
        let chose_http2 = session.alpn_protocol() == Some(H2);
        let tls = session.negotiated_cipher_suite().map(tls_info);
        if alpn == Alpn::Http2 && !chose_http2 {
            return Err(Fault::Tls(TlsFault::NoHttp2));
        }
        Ok(Secured {
            stream: Box::new(stream),
            tls_ns: self.clock.now().saturating_sub(begin),
            tls,
            chose_http2,
        })
    }

    fn source_for(&self, to: SocketAddr) -> Option<IpAddr> {
        let fitting = |i: usize| {
            self.sources
                .get(i)
                .copied()
                .filter(|source| source.is_ipv4() == to.is_ipv4())
        };
        let start = self.next_source.get();
        self.next_source.set(start.wrapping_add(1));
        (0..self.sources.len()).find_map(|i| fitting(start.wrapping_add(i) % self.sources.len()))
    }

    fn known(&self, host: &str) -> Option<Result<Rc<[SocketAddr]>, Fault>> {
        match self.names.borrow().get(host)? {
            Resolved::Addresses(addresses, at) => {
                let ttl_ns = self.rules.as_ref().and_then(|rules| rules.ttl_ns());
                let is_fresh = ttl_ns.is_none_or(|ttl| self.clock.now() < at.saturating_add(ttl));
                is_fresh.then(|| Ok(Rc::clone(addresses)))
            }
            Resolved::Failed(fault, at) => {
                (self.clock.now() < at + NEGATIVE_NS).then_some(Err(*fault))
            }
        }
    }

    async fn resolve(&self, host: &str, limit: &Limit) -> Result<Rc<[SocketAddr]>, Fault> {
        if let Ok(address) = host.parse::<IpAddr>() {
            return Ok(Rc::from([SocketAddr::new(address, 0)]));
        }
        if let Some(known) = self.known(host) {
            return known;
        }
        if let Some((address, zone)) = host.split_once('%') {
            let address = address.parse().map_err(|_| Fault::BadUrl)?;
            let resolved = match interface(zone) {
                Some(scope) => {
                    let address = SocketAddrV6::new(address, 0, 0, scope);
                    Resolved::Addresses(Rc::from([address.into()]), self.clock.now())
                }
                None => Resolved::Failed(Fault::DnsNotFound, self.clock.now()),
            };
            return self.keep(host, resolved);
        }
        let semaphore = {
            let mut lookups = self.lookups.borrow_mut();
            Rc::clone(
                lookups
                    .entry(host.to_owned())
                    .or_insert_with(|| Semaphore::new(1)),
            )
        };
        let _permit = semaphore.acquire(limit).await.map_err(timed_out)?;
        // Another task may have looked up the name in the meantime.
        if let Some(known) = self.known(host) {
            return known;
        }
        let found = cut_short(limit, tokio::net::lookup_host((host, 0))).await?;
        let resolved = match found {
            Ok(addresses) => {
                let mut distinct: Vec<SocketAddr> = Vec::new();
                for address in addresses {
                    if !distinct.contains(&address) {
                        distinct.push(address);
                    }
                }
                Resolved::Addresses(distinct.into(), self.clock.now())
            }
            Err(e) => Resolved::Failed(resolver_fault(&e), self.clock.now()),
        };
        self.keep(host, resolved)
    }

    fn keep(&self, host: &str, resolved: Resolved) -> Result<Rc<[SocketAddr]>, Fault> {
        self.names
            .borrow_mut()
            .insert(host.to_owned(), resolved.clone());
        match resolved {
            Resolved::Addresses(addresses, _) => Ok(addresses),
            Resolved::Failed(fault, _) => Err(fault),
        }
    }
}

/// Returns the number of a network interface, given by name or number. The C library resolves
/// interface names only for link-local addresses.
fn interface(zone: &str) -> Option<u32> {
    zone.parse().ok().or_else(|| {
        let number = std::fs::read_to_string(format!("/sys/class/net/{zone}/ifindex"));
        number.ok()?.trim().parse().ok()
    })
}

async fn cut_short<F: Future>(limit: &Limit, future: F) -> Result<F::Output, Fault> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Ok(output)),
        Poll::Pending => limit.poll(cx).map(|cut| Err(timed_out(cut))),
    })
    .await
}

fn handshake_fault(error: &io::Error, alpn: Alpn) -> Fault {
    match super::tls::fault(error) {
        // The server supports none of the offered protocols.
        Some(Fault::Tls(TlsFault::Http2Only)) if alpn == Alpn::Http2 => {
            Fault::Tls(TlsFault::NoHttp2)
        }
        Some(Fault::Tls(TlsFault::Http2Only)) if alpn == Alpn::Both => Fault::Tls(TlsFault::NoHttp),
        Some(fault) => fault,
        None => match socket_fault(error) {
            Fault::ClosedEarly => Fault::Tls(TlsFault::Closed),
            Fault::Other => Fault::Tls(TlsFault::Other),
            fault => fault,
        },
    }
}

fn unix_fault(error: &io::Error) -> Fault {
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::AGAIN) => Fault::Refused,
        _ => socket_fault(error),
    }
}

fn resolver_fault(error: &io::Error) -> Fault {
    // The resolver's error codes are lost, but its messages remain. EAI_AGAIN means "try again
    // later".
    if error.to_string().contains("Temporary failure") {
        Fault::DnsAgain
    } else {
        Fault::DnsNotFound
    }
}

#[cfg(test)]
#[path = "connect_tests.rs"]
mod tests;
