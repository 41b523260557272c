//! HTTP/2 figures as text.

use std::collections::BTreeMap;

use analysis::summary::{Figure, Http2, Summary};
use record::units::{self, count};

use crate::facts::{self, Fact};

/// Returns all HTTP/2 figures that are not zero. Empty if no connection used HTTP/2.
#[must_use]
pub fn facts(summary: &Summary) -> Vec<Fact> {
    let Some(http2) = &summary.http2 else {
        return Vec::new();
    };
    let version = summary.run.http.clone();
    facts::known([
        ("version", version),
        ("connections", Some(connections(http2))),
        ("requests per connection", requests_per_connection(http2)),
        ("open streams", Some(streams(http2))),
        ("waited for a stream", waited(http2)),
        ("sent again", known(http2.resent)),
        ("on lost connections", known(http2.lost_requests)),
        ("RST_STREAM received", codes(&http2.resets_received)),
        ("RST_STREAM sent", codes(&http2.resets_sent)),
        ("GOAWAY received", codes(&http2.goaways)),
        ("uploads blocked", blocked(http2)),
        ("headers", Some(headers(http2))),
    ])
}

fn known(requests: u64) -> Option<String> {
    (requests > 0).then(|| format!("{} requests", count(requests)))
}

fn connections(http2: &Http2) -> String {
    let mut text = format!(
        "{} opened, {} open at most",
        count(http2.opened),
        count(http2.connections.max)
    );
    let closed: Vec<String> = http2
        .closed
        .iter()
        .map(|(cause, n)| format!("{} {}", count(*n), cause_text(cause)))
        .collect();
    if !closed.is_empty() {
        text.push_str(&format!("; closed: {}", closed.join(", ")));
    }
    text
}

fn cause_text(cause: &str) -> &str {
    match cause {
        "goaway" => "after GOAWAY",
        "idle" => "by the server while idle",
        "lost" => "lost with requests in flight",
        "violation" => "because the server violated the protocol",
        "client" => "by Loadline",
        other => other,
    }
}

fn requests_per_connection(http2: &Http2) -> Option<String> {
    let spread = http2.requests_per_connection?;
    (spread.connections > 1).then(|| {
        format!(
            "{} at least, {} on average, {} at most",
            count(spread.min),
            units::decimal((spread.mean * 10.0).round() / 10.0),
            count(spread.max)
        )
    })
}

fn streams(http2: &Http2) -> String {
    let mut text = format!(
        "{} on average, {} at most",
        units::decimal((http2.streams.mean * 10.0).round() / 10.0),
        count(http2.streams.max)
    );
    if let Some(limit) = http2.stream_limit {
        text.push_str(&format!("; {} allowed per connection", count(limit)));
    }
    text
}

fn waited(http2: &Http2) -> Option<String> {
    let wait = http2.stream_wait.as_ref()?;
    let time = |figure: &Figure| figure.ns.map_or_else(|| "–".to_owned(), units::time);
    Some(format!(
        "{} requests: p50 {}, p99 {}, max {}",
        count(http2.waited),
        time(&wait.p50),
        time(&wait.p99),
        time(&wait.max)
    ))
}

fn codes(counts: &BTreeMap<String, u64>) -> Option<String> {
    let counts: Vec<String> = counts
        .iter()
        .map(|(code, n)| format!("{code} {}", count(*n)))
        .collect();
    (!counts.is_empty()).then(|| counts.join(", "))
}

fn blocked(http2: &Http2) -> Option<String> {
    let ns = http2.upload_blocked_ns;
    (ns > 0).then(|| format!("{} by flow control, all uploads together", units::time(ns)))
}

fn headers(http2: &Http2) -> String {
    let bytes = &http2.header_bytes;
    let pair = |plain: u64, compressed: u64| {
        format!("{} as {}", units::bytes(plain), units::bytes(compressed))
    };
    format!(
        "sent {}, received {}",
        pair(bytes.sent, bytes.sent_compressed),
        pair(bytes.received, bytes.received_compressed)
    )
}
