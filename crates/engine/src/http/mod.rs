//! HTTP/1.1 as state machines without I/O: bytes in, events out. Sockets are `net`'s, timing is `exchange`'s.

pub mod content;
mod cookie_date;
pub mod cookies;
pub mod decode;
pub mod encode;
pub mod framing;
pub mod reply;
mod unpack;
pub mod url;
mod zstd;

pub use decode::{Answer, Decoder, Want};
pub use url::{Origin, Target};
