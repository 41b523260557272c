//! Counts and levels of HTTP/2 connections in one interval.

use std::collections::BTreeMap;

use crate::{interval::Gauge, outcome::Http2Code, slot::KeyCounts};

/// Counts and levels of HTTP/2 connections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Http2Counts {
    /// Connections opened.
    pub opened: u64,
    /// Connections closed, by cause.
    pub closed: [u64; Http2Close::ALL.len()],
    /// Requests in flight on connections that were lost.
    pub lost_requests: u64,
    /// Requests sent again, because the server had certainly not processed them.
    pub resent: u64,
    /// RST_STREAM frames received.
    pub resets_received: KeyCounts<Http2Code>,
    /// RST_STREAM frames sent.
    pub resets_sent: KeyCounts<Http2Code>,
    /// GOAWAY frames received.
    pub goaways: KeyCounts<Http2Code>,
    /// Total time that uploads waited for flow control, in nanoseconds. Concurrent waits add up.
    pub upload_blocked_ns: u64,
    /// Bytes of header names and values sent, before compression.
    pub header_bytes_sent: u64,
    /// Bytes of compressed header blocks sent.
    pub block_bytes_sent: u64,
    /// Bytes of header names and values received, after decompression.
    pub header_bytes_received: u64,
    /// Bytes of compressed header blocks received.
    pub block_bytes_received: u64,
    /// Distribution of the requests over the closed connections.
    pub requests: RequestSpread,
    /// Number of open connections.
    pub connections: Gauge,
    /// Number of open streams, including reserved ones.
    pub streams: Gauge,
    /// Maximum number of streams on the connection that last received SETTINGS, as both sides allow
    /// it. 0 if no connection received any.
    pub stream_limit: u64,
}

impl Http2Counts {
    /// Adds the counts and levels of another worker in the same interval.
    pub fn join(&mut self, other: &Http2Counts) {
        self.connections.join(other.connections);
        self.streams.join(other.streams);
        self.add_counts(other);
    }

    /// Adds the counts of a later interval, whose levels replace these.
    pub fn add(&mut self, later: &Http2Counts) {
        for (mine, gauge) in [
            (&mut self.connections, later.connections),
            (&mut self.streams, later.streams),
        ] {
            mine.samples += gauge.samples;
            mine.sum += gauge.sum;
            mine.set(gauge.max);
            mine.last = gauge.last;
        }
        self.add_counts(later);
    }

    fn add_counts(&mut self, other: &Http2Counts) {
        self.opened += other.opened;
        for (mine, n) in self.closed.iter_mut().zip(other.closed) {
            *mine += n;
        }
        self.lost_requests += other.lost_requests;
        self.resent += other.resent;
        self.resets_received.merge(&other.resets_received);
        self.resets_sent.merge(&other.resets_sent);
        self.goaways.merge(&other.goaways);
        self.upload_blocked_ns += other.upload_blocked_ns;
        self.header_bytes_sent += other.header_bytes_sent;
        self.block_bytes_sent += other.block_bytes_sent;
        self.header_bytes_received += other.header_bytes_received;
        self.block_bytes_received += other.block_bytes_received;
        self.requests.add(other.requests);
        if other.stream_limit > 0 {
            self.stream_limit = other.stream_limit;
        }
    }

    /// Returns the number of connections that were closed for `cause`.
    #[must_use]
    pub fn closed_by(&self, cause: Http2Close) -> u64 {
        self.closed[cause as usize]
    }

    /// Returns the levels without the counts.
    #[must_use]
    pub fn levels(&self) -> Http2Counts {
        Http2Counts {
            connections: self.connections,
            streams: self.streams,
            stream_limit: self.stream_limit,
            ..Http2Counts::default()
        }
    }

    /// Returns the counts with which the next interval starts: the levels, without samples.
    #[must_use]
    pub fn next_interval(&self) -> Http2Counts {
        let mut next = self.levels();
        for gauge in [&mut next.connections, &mut next.streams] {
            *gauge = Gauge {
                max: gauge.last,
                last: gauge.last,
                ..Gauge::default()
            };
        }
        next
    }
}

/// Why an HTTP/2 connection was closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Http2Close {
    /// The server sent GOAWAY.
    GoAway,
    /// The server closed an idle connection without GOAWAY.
    Idle,
    /// The connection was lost with requests in flight.
    Lost,
    /// The server violated the protocol.
    Violation,
    /// The client no longer needed the connection.
    Client,
}

impl Http2Close {
    /// All causes, in the order of their numbers.
    pub const ALL: [Http2Close; 5] = [
        Http2Close::GoAway,
        Http2Close::Idle,
        Http2Close::Lost,
        Http2Close::Violation,
        Http2Close::Client,
    ];

    /// Returns the name in the record.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Http2Close::GoAway => "goaway",
            Http2Close::Idle => "idle",
            Http2Close::Lost => "lost",
            Http2Close::Violation => "violation",
            Http2Close::Client => "client",
        }
    }
}

/// How evenly requests were spread over the closed connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RequestSpread {
    /// Number of closed connections.
    pub connections: u64,
    /// Smallest number of requests on a connection.
    pub min: u64,
    /// Largest number of requests on a connection.
    pub max: u64,
    /// Total number of requests on the connections.
    pub sum: u64,
}

impl RequestSpread {
    /// Creates the spread of one connection.
    #[must_use]
    pub fn one(requests: u64) -> RequestSpread {
        RequestSpread {
            connections: 1,
            min: requests,
            max: requests,
            sum: requests,
        }
    }

    /// Adds the spread of other connections.
    pub fn add(&mut self, other: RequestSpread) {
        if other.connections == 0 {
            return;
        }
        self.min = if self.connections == 0 {
            other.min
        } else {
            self.min.min(other.min)
        };
        self.connections += other.connections;
        self.max = self.max.max(other.max);
        self.sum += other.sum;
    }
}

impl KeyCounts<Http2Code> {
    /// Returns the counts keyed by code name.
    #[must_use]
    pub fn by_name(&self) -> BTreeMap<String, u64> {
        let counts = self.0.iter();
        counts
            .map(|(code, n)| (code.name().to_owned(), *n))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_workers_are_summed_and_those_of_intervals_are_not() {
        let mut worker = Http2Counts::default();
        worker.streams.sample(4);
        worker.streams.set(7);
        let mut both = worker.clone();
        both.join(&worker);
        assert_eq!((both.streams.max, both.streams.last), (14, 14));
        assert_eq!((both.streams.samples, both.streams.sum), (1, 8));
        let mut run = both.clone();
        run.add(&both);
        assert_eq!((run.streams.max, run.streams.samples), (14, 2));
        let next = both.next_interval();
        assert_eq!((next.streams.last, next.streams.samples), (14, 0));
    }

    #[test]
    fn spread_has_the_extremes_of_all_connections() {
        let mut spread = RequestSpread::default();
        for requests in [5, 3, 9] {
            spread.add(RequestSpread::one(requests));
        }
        spread.add(RequestSpread::default());
        assert_eq!((spread.min, spread.max, spread.sum), (3, 9, 17));
    }
}
