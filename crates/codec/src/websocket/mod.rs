//! WebSocket (RFC 6455) with permessage-deflate (RFC 7692): the opening handshake, and frames in
//! both directions.
//!
//! A [`Reader`] receives the bytes of a connection in parts of any length, and returns [`Event`]s.
//! The functions `write_text` to `write_close` append frames to the caller's buffer, and a
//! [`Compressor`] appends compressed messages. The caller must answer pings and close the
//! connection.

mod compressor;
mod deflate;
mod error;
mod extension;
mod frame;
pub mod handshake;
mod inflater;
mod reader;
mod writer;

pub use compressor::Compressor;
pub use deflate::{Acceptance, Negotiated, Offer, accept_offer};
pub use error::FrameError;
pub use reader::Reader;
pub use writer::{write_binary, write_close, write_ping, write_pong, write_text};

/// The client's or the server's end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Sends masked frames, and receives unmasked frames.
    Client,
    /// Sends unmasked frames, and receives masked frames.
    Server,
}

/// A complete message or control frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event<'a> {
    /// A text message.
    Text(&'a str),
    /// A binary message.
    Binary(&'a [u8]),
    /// A ping. The caller must answer with a pong that has the same payload.
    Ping(&'a [u8]),
    /// A pong.
    Pong(&'a [u8]),
    /// The peer closes the connection. `None` means that the frame contains no code, which counts
    /// as 1005.
    Close(Option<Close<'a>>),
}

/// The payload of a close frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Close<'a> {
    /// Close code. 1000 is a normal closure.
    pub code: u16,
    /// Reason, at most 123 bytes. Empty if the peer gives none.
    pub reason: &'a str,
}

/// Returns whether a close frame may contain this code.
#[must_use]
pub fn is_close_code(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Limits of a [`Reader`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum length of a message in bytes, after decompression.
    pub message: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { message: 16 << 20 }
    }
}

#[cfg(test)]
#[path = "websocket_tests.rs"]
mod tests;
