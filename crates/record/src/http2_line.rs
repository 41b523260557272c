//! HTTP/2 counts and levels in a line of `counters.jsonl`. Zeros are omitted.

use std::collections::BTreeMap;

use measure::{
    interval::{Http2Close, Http2Counts, RequestSpread},
    outcome::Http2Code,
    slot::KeyCounts,
};
use serde::{Deserialize, Serialize};

use super::counters::{GaugeLine, is_zero};

#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Http2Line {
    #[serde(skip_serializing_if = "is_zero")]
    opened: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    closed: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    lost_requests: u64,
    #[serde(skip_serializing_if = "is_zero")]
    resent: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resets_received: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    resets_sent: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    goaways: BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "is_zero")]
    upload_blocked_ns: u64,
    #[serde(skip_serializing_if = "is_zero")]
    header_bytes_sent: u64,
    #[serde(skip_serializing_if = "is_zero")]
    block_bytes_sent: u64,
    #[serde(skip_serializing_if = "is_zero")]
    header_bytes_received: u64,
    #[serde(skip_serializing_if = "is_zero")]
    block_bytes_received: u64,
    #[serde(skip_serializing_if = "SpreadLine::is_empty")]
    requests: SpreadLine,
    connections: GaugeLine,
    streams: GaugeLine,
    #[serde(skip_serializing_if = "is_zero")]
    stream_limit: u64,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Serialize, Deserialize)]
struct SpreadLine {
    connections: u64,
    min: u64,
    max: u64,
    sum: u64,
}

impl SpreadLine {
    fn is_empty(&self) -> bool {
        self.connections == 0
    }
}

impl Http2Line {
    /// Creates the line from counts. Returns `None` if HTTP/2 is not used.
    pub(super) fn from_counts(counts: &Http2Counts) -> Option<Http2Line> {
        let spread = counts.requests;
        let closed = Http2Close::ALL.into_iter();
        let closed = closed.map(|cause| (cause.name().to_owned(), counts.closed_by(cause)));
        let line = Http2Line {
            opened: counts.opened,
            closed: closed.filter(|(_, n)| *n > 0).collect(),
            lost_requests: counts.lost_requests,
            resent: counts.resent,
            resets_received: counts.resets_received.by_name(),
            resets_sent: counts.resets_sent.by_name(),
            goaways: counts.goaways.by_name(),
            upload_blocked_ns: counts.upload_blocked_ns,
            header_bytes_sent: counts.header_bytes_sent,
            block_bytes_sent: counts.block_bytes_sent,
            header_bytes_received: counts.header_bytes_received,
            block_bytes_received: counts.block_bytes_received,
            requests: SpreadLine {
                connections: spread.connections,
                min: spread.min,
                max: spread.max,
                sum: spread.sum,
            },
            connections: GaugeLine::from_gauge(counts.connections),
            streams: GaugeLine::from_gauge(counts.streams),
            stream_limit: counts.stream_limit,
        };
        (line != Http2Line::default()).then_some(line)
    }

    pub(super) fn counts(&self) -> Http2Counts {
        let spread = self.requests;
        let closed = |cause: Http2Close| self.closed.get(cause.name()).copied().unwrap_or(0);
        Http2Counts {
            opened: self.opened,
            closed: Http2Close::ALL.map(closed),
            lost_requests: self.lost_requests,
            resent: self.resent,
            resets_received: by_code(&self.resets_received),
            resets_sent: by_code(&self.resets_sent),
            goaways: by_code(&self.goaways),
            upload_blocked_ns: self.upload_blocked_ns,
            header_bytes_sent: self.header_bytes_sent,
            block_bytes_sent: self.block_bytes_sent,
            header_bytes_received: self.header_bytes_received,
            block_bytes_received: self.block_bytes_received,
            requests: RequestSpread {
                connections: spread.connections,
                min: spread.min,
                max: spread.max,
                sum: spread.sum,
            },
            connections: self.connections.gauge(),
            streams: self.streams.gauge(),
            stream_limit: self.stream_limit,
        }
    }
}

fn by_code(counts: &BTreeMap<String, u64>) -> KeyCounts<Http2Code> {
    let mut by_code = KeyCounts::default();
    for (name, n) in counts {
        by_code.count(Http2Code::named(name), *n);
    }
    by_code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_is_read_as_it_was_written() {
        let mut counts = Http2Counts {
            opened: 3,
            resent: 7,
            upload_blocked_ns: 11,
            header_bytes_sent: 13,
            requests: RequestSpread::one(17),
            stream_limit: 19,
            ..Http2Counts::default()
        };
        counts.closed[Http2Close::Lost as usize] = 23;
        counts.goaways.count(Http2Code::new(0xb), 29);
        counts.resets_sent.count(Http2Code::new(99), 31);
        counts.streams.sample(37);
        let line = Http2Line::from_counts(&counts).expect("a line");
        let text = serde_json::to_string(&line).expect("JSON");
        assert!(text.contains(r#""goaways":{"ENHANCE_YOUR_CALM":29}"#));
        let read: Http2Line = serde_json::from_str(&text).expect("a line");
        assert_eq!(read.counts(), counts);
    }

    #[test]
    fn run_without_http2_has_no_line() {
        assert_eq!(Http2Line::from_counts(&Http2Counts::default()), None);
    }
}
