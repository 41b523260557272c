//! Counts of streamed responses in lines of `counters.jsonl`.

use measure::stream::StreamCounts;
use serde::{Deserialize, Serialize};

use super::counters::is_zero;

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct StreamLine {
    #[serde(default, skip_serializing_if = "is_zero")]
    requests: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    complete: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    reporting: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    tokens: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unreported_chunks: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    events: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    chunks: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    alone: u64,
}

impl StreamLine {
    pub(super) fn from_counts(counts: StreamCounts) -> StreamLine {
        StreamLine {
            requests: counts.requests,
            complete: counts.complete,
            reporting: counts.reporting,
            tokens: counts.tokens,
            unreported_chunks: counts.unreported_chunks,
            events: counts.events,
            chunks: counts.chunks,
            alone: counts.alone,
        }
    }

    pub(super) fn counts(&self) -> StreamCounts {
        StreamCounts {
            requests: self.requests,
            complete: self.complete,
            reporting: self.reporting,
            tokens: self.tokens,
            unreported_chunks: self.unreported_chunks,
            events: self.events,
            chunks: self.chunks,
            alone: self.alone,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == StreamLine::default()
    }
}
