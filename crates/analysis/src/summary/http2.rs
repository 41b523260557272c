//! HTTP/2 in the summary: negotiated versions, connections, streams, and waiting for streams.

use std::collections::BTreeMap;

use measure::{
    NegotiatedVersion, TimeKind,
    interval::{Gauge, Http2Close, Http2Counts, RunPart},
    label,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{LevelStats, build::level};
use crate::figures::{Sampled, Stats};
use record::{Run, units};

/// Share of requests that waited for a stream at which the summary adds a sentence about it.
const WORTH_A_SENTENCE: f64 = 0.01;

/// HTTP/2 connections and streams.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Http2 {
    /// Negotiated version and stream limit of each origin.
    pub negotiated: Vec<OriginVersion>,
    /// Number of connections opened.
    pub opened: u64,
    /// Number of closed connections by cause: `goaway`, `idle`, `lost`, `violation`, `client`.
    pub closed: BTreeMap<String, u64>,
    /// Number of open connections.
    pub connections: LevelStats,
    /// Requests per closed connection. `None` if no connection was closed.
    pub requests_per_connection: Option<RequestsPerConnection>,
    /// Number of open streams.
    pub streams: LevelStats,
    /// Maximum number of streams per connection at the end of the run, as client and server allow
    /// it. `None` if no server sent its limit.
    pub stream_limit: Option<u64>,
    /// Requests that waited for a stream, although all permitted connections were open.
    pub waited: u64,
    /// Time that these requests waited for a stream.
    pub stream_wait: Option<Stats>,
    /// Requests sent again because the server had certainly not processed them.
    pub resent: u64,
    /// Requests in flight on lost connections.
    pub lost_requests: u64,
    /// RST_STREAM frames received, by error code.
    pub resets_received: BTreeMap<String, u64>,
    /// RST_STREAM frames sent, by error code.
    pub resets_sent: BTreeMap<String, u64>,
    /// GOAWAY frames received, by error code.
    pub goaways: BTreeMap<String, u64>,
    /// Total time that uploads waited for flow control. Concurrent waits add up.
    pub upload_blocked_ns: u64,
    /// Sizes of headers before and after compression.
    pub header_bytes: HeaderBytes,
    /// Sentence about what requests waited for. `None` if at most 1 % waited for a stream.
    pub sentence: Option<String>,
}

/// The HTTP version that the client negotiated with an origin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OriginVersion {
    /// Scheme, host and port.
    pub origin: String,
    /// `h2` or `http/1.1`.
    pub version: String,
    /// Maximum number of streams per connection that the server allows. `None` if it has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
}

impl From<&NegotiatedVersion> for OriginVersion {
    fn from(negotiated: &NegotiatedVersion) -> OriginVersion {
        OriginVersion {
            origin: negotiated.origin.clone(),
            version: negotiated.version.clone(),
            stream_limit: negotiated.stream_limit,
        }
    }
}

/// Number of requests per closed connection.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RequestsPerConnection {
    /// Number of closed connections.
    pub connections: u64,
    /// Smallest number of requests.
    pub min: u64,
    /// Mean number of requests.
    pub mean: f64,
    /// Largest number of requests.
    pub max: u64,
}

/// Sizes of headers before and after compression, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HeaderBytes {
    /// Names and values of request headers.
    pub sent: u64,
    /// Compressed header blocks of requests.
    pub sent_compressed: u64,
    /// Names and values of response headers.
    pub received: u64,
    /// Compressed header blocks of responses.
    pub received_compressed: u64,
}

/// Returns the HTTP/2 figures of a run. `None` if no connection used HTTP/2.
pub(super) fn row(run: &Run, issued: u64) -> Option<Http2> {
    let counts = &run.totals.rows.http2;
    if counts.opened == 0 {
        return None;
    }
    let all = run.totals.label(label::ALL);
    let stream_wait = Sampled::from_totals(&all, TimeKind::StreamWait).raw_stats();
    let level = |gauge: fn(&RunPart) -> Gauge| level(run, u64::MAX, gauge);
    let spread = counts.requests;
    let closed = Http2Close::ALL.into_iter();
    let closed = closed.map(|cause| (cause.name().to_owned(), counts.closed_by(cause)));
    let mut row = Http2 {
        negotiated: run
            .manifest
            .negotiated
            .iter()
            .map(OriginVersion::from)
            .collect(),
        opened: counts.opened,
        closed: closed.filter(|(_, n)| *n > 0).collect(),
        connections: level(|run| run.http2.connections),
        requests_per_connection: (spread.connections > 0).then(|| RequestsPerConnection {
            connections: spread.connections,
            min: spread.min,
            mean: spread.sum as f64 / spread.connections as f64,
            max: spread.max,
        }),
        streams: level(|run| run.http2.streams),
        stream_limit: Some(counts.stream_limit).filter(|limit| *limit > 0),
        waited: stream_wait.as_ref().map_or(0, |stats| stats.count),
        stream_wait,
        resent: counts.resent,
        lost_requests: counts.lost_requests,
        resets_received: counts.resets_received.by_name(),
        resets_sent: counts.resets_sent.by_name(),
        goaways: counts.goaways.by_name(),
        upload_blocked_ns: counts.upload_blocked_ns,
        header_bytes: header_bytes(counts),
        sentence: None,
    };
    row.sentence = sentence(&row, issued);
    Some(row)
}

fn header_bytes(counts: &Http2Counts) -> HeaderBytes {
    HeaderBytes {
        sent: counts.header_bytes_sent,
        sent_compressed: counts.block_bytes_sent,
        received: counts.header_bytes_received,
        received_compressed: counts.block_bytes_received,
    }
}

fn sentence(row: &Http2, issued: u64) -> Option<String> {
    if row.waited as f64 <= issued as f64 * WORTH_A_SENTENCE {
        return None;
    }
    let limit = row.stream_limit?;
    let is_servers = |one: &OriginVersion| one.stream_limit.map(u64::from) == Some(limit);
    let whose = if row.negotiated.iter().any(is_servers) {
        "server"
    } else {
        "plan"
    };
    let p99 = row.stream_wait.as_ref().and_then(|stats| stats.p99.ns);
    let p99 = p99.map_or_else(String::new, |ns| format!(", p99 {}", units::time(ns)));
    Some(format!(
        "{} of {} requests waited for the {whose}'s limit of {} on {}{p99}. \
        The wait is part of the response time, but not of the service time.",
        units::count(row.waited),
        units::count(issued),
        number(limit, "stream"),
        number(row.connections.max, "connection"),
    ))
}

/// Returns the negotiated versions, such as `h2 (4 connections, server allows 128 streams)`. `None`
/// if all origins can only use HTTP/1.1.
pub(super) fn negotiated(run: &Run) -> Option<String> {
    let versions = &run.manifest.negotiated;
    let http2: Vec<&NegotiatedVersion> = versions.iter().filter(|one| one.is_http2()).collect();
    let http1 = (http2.len() < versions.len()).then(|| "http/1.1".to_owned());
    let http2 = (!http2.is_empty()).then(|| {
        let connections = level(run, u64::MAX, |run| run.http2.connections).max;
        format!(
            "h2 ({}, {})",
            number(connections, "connection"),
            limits(&http2)
        )
    });
    let texts: Vec<String> = http2.into_iter().chain(http1).collect();
    (!texts.is_empty()).then(|| texts.join(" and "))
}

fn limits(http2: &[&NegotiatedVersion]) -> String {
    let limits = http2.iter().map(|one| one.stream_limit);
    let (least, most) = (
        limits.clone().flatten().min(),
        limits.clone().flatten().max(),
    );
    let is_unlimited = limits.clone().any(|limit| limit.is_none());
    match (least, most) {
        (Some(least), Some(most)) if least == most && !is_unlimited => {
            format!("server allows {}", number(u64::from(least), "stream"))
        }
        (Some(least), Some(_)) if is_unlimited => {
            format!(
                "servers allow {} or more streams",
                units::count(u64::from(least))
            )
        }
        (Some(least), Some(most)) => format!(
            "servers allow {} to {} streams",
            units::count(u64::from(least)),
            units::count(u64::from(most))
        ),
        _ => "server allows any number of streams".to_owned(),
    }
}

fn number(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", units::count(n))
}

/// Returns notes about causes that the counts do not show.
pub(super) fn notes(row: &Http2) -> Vec<String> {
    const CALM: &str = "ENHANCE_YOUR_CALM";
    let sum = |counts: &BTreeMap<String, u64>, code: &str| counts.get(code).copied().unwrap_or(0);
    let complaints = sum(&row.goaways, CALM) + sum(&row.resets_received, CALM);
    let cancels = sum(&row.resets_sent, "CANCEL");
    if complaints == 0 || cancels == 0 {
        return Vec::new();
    }
    vec![format!(
        "the server sent {CALM} {} after the test had cancelled {}, most likely by its time-outs: \
        servers take many cancelled requests for an attack",
        units::times(complaints),
        number(cancels, "request"),
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> Http2 {
        Http2 {
            negotiated: vec![OriginVersion::from(&NegotiatedVersion::http2(
                "http://a.test",
                Some(10),
            ))],
            opened: 2,
            closed: BTreeMap::new(),
            connections: LevelStats { mean: 2.0, max: 2 },
            requests_per_connection: None,
            streams: LevelStats::default(),
            stream_limit: Some(10),
            waited: 3,
            stream_wait: None,
            resent: 0,
            lost_requests: 0,
            resets_received: BTreeMap::new(),
            resets_sent: BTreeMap::new(),
            goaways: BTreeMap::new(),
            upload_blocked_ns: 0,
            header_bytes: header_bytes(&Http2Counts::default()),
            sentence: None,
        }
    }

    #[test]
    fn waiting_of_more_than_one_percent_has_a_sentence() {
        assert_eq!(sentence(&row(), 300), None);
        let text = sentence(&row(), 299).expect("a sentence");
        let expected =
            "3 of 299 requests waited for the server's limit of 10 streams on 2 connections.";
        assert!(text.starts_with(expected), "{text}");
        let limited = Http2 {
            stream_limit: Some(4),
            ..row()
        };
        let text = sentence(&limited, 4).expect("a sentence");
        assert!(text.contains("the plan's limit of 4 streams"), "{text}");
    }

    #[test]
    fn limits_of_several_servers_are_a_range() {
        let text = |limits: &[Option<u32>]| {
            let servers: Vec<NegotiatedVersion> = limits
                .iter()
                .map(|limit| NegotiatedVersion::http2("http://a.test", *limit))
                .collect();
            super::limits(&servers.iter().collect::<Vec<_>>())
        };
        assert_eq!(text(&[Some(128), Some(128)]), "server allows 128 streams");
        assert_eq!(
            text(&[Some(100), Some(128)]),
            "servers allow 100 to 128 streams"
        );
        assert_eq!(
            text(&[Some(100), None]),
            "servers allow 100 or more streams"
        );
        assert_eq!(text(&[None]), "server allows any number of streams");
    }

    #[test]
    fn own_cancels_explain_a_complaint() {
        let mut calm = row();
        calm.goaways.insert("ENHANCE_YOUR_CALM".to_owned(), 2);
        assert!(notes(&calm).is_empty());
        calm.resets_sent.insert("CANCEL".to_owned(), 40);
        let noted = notes(&calm);
        assert!(
            noted[0].starts_with(
                "the server sent ENHANCE_YOUR_CALM twice after the test had cancelled"
            )
        );
    }
}
