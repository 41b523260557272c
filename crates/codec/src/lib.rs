//! HTTP/1.1, HTTP/2, WebSocket, Socket.IO and event streams as state machines without I/O, and
//! other parts of an HTTP client: URLs, cookies, content encodings.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod answer;
pub mod calendar;
pub mod content;
pub mod cookie_date;
pub mod cookies;
pub mod encode;
pub mod events;
pub mod framing;
pub mod h2;
pub mod head;
pub mod headers;
pub mod heads;
pub mod reply;
pub mod socketio;
mod unpack;
pub mod url;
pub mod websocket;
mod zstd;

pub use answer::{Response, Want};
pub use headers::Headers;
pub use url::{Origin, Target};
