//! HTTP/1.1 as state machines without I/O: bytes in, events out. Sockets are `net`'s, timing is `exchange`'s.

pub mod answer;
pub mod content;
mod cookie_date;
pub mod cookies;
pub mod encode;
pub mod framing;
pub mod head;
pub mod heads;
pub mod reply;
mod unpack;
pub mod url;
mod zstd;

pub use answer::{Answer, Want};
pub use url::{Origin, Target};
