//! UNDERSTAND it: HTTP/1.1 as state machines without I/O: bytes in, answers out; and what a client must understand beside it: URLs,
//! cookies, content encodings. Sockets, time and the order of things are the engine's.

#![forbid(unsafe_code)]

pub mod answer;
pub mod calendar;
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
