//! Connections: name lookup, limited concurrent connects, TLS, semaphores. Independent of HTTP.

mod alpn;
pub mod connect;
mod connection_info;
mod der;
pub mod fault;
mod proxy;
pub mod read_interest;
pub mod semaphore;
pub mod stream;
pub mod tls;
mod tls_fault;

pub use alpn::Alpn;
pub use connection_info::{ConnectionInfo, TlsInfo};
pub use stream::{ByteStream, Dialer, Stream};
