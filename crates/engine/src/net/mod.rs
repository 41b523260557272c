//! Connections: name lookup, limited connects, TLS, pools. Independent of HTTP.

pub mod connect;
mod der;
pub mod fault;
mod proxy;
pub mod read_interest;
pub mod semaphore;
pub mod stream;
pub mod tls;
mod tls_fault;

pub use stream::Stream;
