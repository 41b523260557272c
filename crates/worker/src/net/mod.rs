//! Connections: name lookup, limited concurrent connects, TLS, semaphores. Independent of HTTP.

pub mod connect;
mod der;
pub mod fault;
mod proxy;
pub mod read_interest;
pub mod semaphore;
pub mod stream;
pub mod tls;
mod tls_fault;

pub use stream::{ByteStream, Dialer, Stream};
