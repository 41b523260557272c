//! Choice of the HTTP version for each origin.

use serde::{Serialize, Serializer};

/// How a connection chooses its HTTP version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HttpVersion {
    /// HTTP/1.1.
    #[default]
    Http1,
    /// HTTP/2 over TLS, which the server must accept by ALPN.
    Http2,
    /// HTTP/2 without negotiation on connections without TLS. Like [`HttpVersion::Http2`] with TLS.
    Http2PriorKnowledge,
    /// HTTP/2 or HTTP/1.1 over TLS, as the server chooses. HTTP/1.1 without TLS.
    Auto,
}

impl HttpVersion {
    /// All choices, in the order in which they are listed for users.
    pub const ALL: [HttpVersion; 4] = [
        HttpVersion::Auto,
        HttpVersion::Http1,
        HttpVersion::Http2,
        HttpVersion::Http2PriorKnowledge,
    ];

    /// Returns the name in plans and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            HttpVersion::Auto => "auto",
            HttpVersion::Http1 => "1.1",
            HttpVersion::Http2 => "2",
            HttpVersion::Http2PriorKnowledge => "2-prior-knowledge",
        }
    }

    /// Returns the choice with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<HttpVersion> {
        HttpVersion::ALL
            .into_iter()
            .find(|version| version.name() == name)
    }
}

impl Serialize for HttpVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

/// How requests are spread over shared HTTP/2 connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StreamSpread {
    /// The client opens all connections, and sends each request on the connection with the fewest
    /// streams.
    #[default]
    Even,
    /// The client sends each request on the first connection with a free stream, as browsers do.
    Fill,
}

/// HTTP versions by origin, and limits for HTTP/2.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HttpVersions {
    /// Version for all origins that [`HttpVersions::by_origin`] does not contain.
    #[serde(rename = "version", skip_serializing_if = "is_default")]
    pub usual: HttpVersion,
    /// Versions for individual origins, such as `https://api.example.org`.
    #[serde(rename = "versions", skip_serializing_if = "Vec::is_empty")]
    pub by_origin: Vec<(String, HttpVersion)>,
    /// Maximum number of concurrent requests on an HTTP/2 connection. The server's limit applies
    /// as well.
    #[serde(skip_serializing_if = "is_usual_streams")]
    pub streams: u32,
    /// Receive window of HTTP/2 connections and streams, in bytes.
    #[serde(skip_serializing_if = "is_usual_window")]
    pub window: u32,
    /// How the client selects the connection for the next request.
    #[serde(skip_serializing_if = "is_even")]
    pub spread: StreamSpread,
}

/// Default of [`HttpVersions::streams`].
const STREAMS: u32 = 100;
/// Default of [`HttpVersions::window`].
const WINDOW: u32 = 1 << 30;

impl Default for HttpVersions {
    fn default() -> HttpVersions {
        HttpVersions {
            usual: HttpVersion::default(),
            by_origin: Vec::new(),
            streams: STREAMS,
            window: WINDOW,
            spread: StreamSpread::Even,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_even(spread: &StreamSpread) -> bool {
    *spread == StreamSpread::Even
}

fn is_default(version: &HttpVersion) -> bool {
    *version == HttpVersion::default()
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_usual_streams(streams: &u32) -> bool {
    *streams == STREAMS
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_usual_window(window: &u32) -> bool {
    *window == WINDOW
}

impl HttpVersions {
    /// Returns the version for an origin, such as `https://api.example.org`.
    #[must_use]
    pub fn of_origin(&self, origin: &str) -> HttpVersion {
        let mut versions = self.by_origin.iter();
        versions
            .find(|(known, _)| known == origin)
            .map_or(self.usual, |(_, version)| *version)
    }

    /// Returns whether all connections use HTTP/1.1.
    #[must_use]
    pub fn are_http1(&self) -> bool {
        let mut versions = self.by_origin.iter().map(|(_, version)| *version);
        self.usual == HttpVersion::Http1 && versions.all(|version| version == HttpVersion::Http1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origin_overrides_the_usual_version() {
        let versions = HttpVersions {
            by_origin: vec![("https://a.test".into(), HttpVersion::Http2)],
            ..HttpVersions::default()
        };
        assert_eq!(versions.of_origin("https://a.test"), HttpVersion::Http2);
        assert_eq!(versions.of_origin("https://b.test"), HttpVersion::Http1);
        assert!(!versions.are_http1() && HttpVersions::default().are_http1());
    }

    #[test]
    fn names_round_trip() {
        for version in HttpVersion::ALL {
            assert_eq!(HttpVersion::named(version.name()), Some(version));
        }
        assert_eq!(HttpVersion::named("3"), None);
    }
}
