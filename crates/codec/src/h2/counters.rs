//! Counters of a connection.

use super::error::ErrorCode;

/// Counts by error code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CodeCounts {
    named: [u64; ErrorCode::NAMES.len()],
    other: u64,
}

impl CodeCounts {
    pub(super) fn add(&mut self, code: ErrorCode) {
        *self
            .named
            .get_mut(code.0 as usize)
            .unwrap_or(&mut self.other) += 1;
    }

    /// Returns the count of a code. All codes without a name share one count.
    #[must_use]
    pub fn get(&self, code: ErrorCode) -> u64 {
        self.named
            .get(code.0 as usize)
            .copied()
            .unwrap_or(self.other)
    }

    /// Returns the sum of all counts.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.named.iter().sum::<u64>() + self.other
    }
}

/// What a connection has counted since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counters {
    /// Requests sent.
    pub requests: u64,
    /// RST_STREAM frames received.
    pub resets_received: CodeCounts,
    /// RST_STREAM frames sent.
    pub resets_sent: CodeCounts,
    /// Times at which an upload started to wait for a flow-control window.
    pub uploads_blocked: u64,
    /// Bytes of header names and values sent, before compression.
    pub header_bytes_sent: u64,
    /// Bytes of header blocks sent.
    pub block_bytes_sent: u64,
    /// Bytes of header names and values received, after decompression.
    pub header_bytes_received: u64,
    /// Bytes of header blocks received.
    pub block_bytes_received: u64,
    /// SETTINGS frames received, without acknowledgements.
    pub settings_received: u64,
}
