//! Counters of a connection.

use measure::{outcome::Http2Code, slot::KeyCounts};

/// Counts of a connection since the last call of [`super::Connection::take_counters`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counters {
    /// RST_STREAM frames received.
    pub resets_received: KeyCounts<Http2Code>,
    /// RST_STREAM frames sent.
    pub resets_sent: KeyCounts<Http2Code>,
    /// Number of times that an upload was blocked by flow control.
    pub uploads_blocked: u64,
    /// Bytes of header names and values sent, before compression.
    pub header_bytes_sent: u64,
    /// Bytes of header blocks sent.
    pub block_bytes_sent: u64,
    /// Bytes of header names and values received, after decompression.
    pub header_bytes_received: u64,
    /// Bytes of header blocks received.
    pub block_bytes_received: u64,
    /// SETTINGS frames received, except acknowledgements.
    pub settings_received: u64,
}
