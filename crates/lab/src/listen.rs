//! Binds ports and raises the limit on open files.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, listen, socket_with, sockopt};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use tokio::runtime::Runtime;

use crate::{LabError, LabOptions};

const BACKLOG: i32 = 4096;

pub(crate) fn on(options: &LabOptions) -> Result<(TcpListener, SocketAddr), LabError> {
    let (host, port) = (options.host.as_str(), options.port);
    let cannot = |source| LabError::CannotBind {
        host: host.to_owned(),
        port,
        source,
    };
    let mut failure = io::Error::other("the host name has no address");
    for address in (host, port).to_socket_addrs().map_err(cannot)? {
        match take(address) {
            Ok(bound) => return Ok(bound),
            Err(error) => failure = error,
        }
    }
    Err(cannot(failure))
}

/// Binds a port and creates the runtime that serves it.
pub(crate) fn with_runtime(
    options: &LabOptions,
) -> Result<(Runtime, tokio::net::TcpListener, SocketAddr), LabError> {
    let (listener, address) = on(options)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(LabError::Runtime)?;
    let listener = {
        let _context = runtime.enter();
        tokio::net::TcpListener::from_std(listener).map_err(LabError::Runtime)?
    };
    Ok((runtime, listener, address))
}

fn take(address: SocketAddr) -> io::Result<(TcpListener, SocketAddr)> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(family, SocketType::STREAM, flags, None)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    listen(&socket, BACKLOG)?;
    let listener = TcpListener::from(socket);
    let address = listener.local_addr()?;
    Ok((listener, address))
}

/// Raises the limit on open files, because load tests often need more than the default of 1,024
/// connections.
pub fn raise_descriptor_limit() {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}
