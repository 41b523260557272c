//! Connections: names to addresses, staged connects, TLS, and who may use which connection. Knows nothing of HTTP.

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
