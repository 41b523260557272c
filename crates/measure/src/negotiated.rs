//! The HTTP version that a client and a server negotiated.

use serde::{Deserialize, Serialize};

/// The HTTP version that the client negotiated with an origin.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct NegotiatedVersion {
    /// Scheme, host and port.
    pub origin: String,
    /// `h2` or `http/1.1`, as in ALPN.
    pub version: String,
    /// Number of streams that the server allows on a connection. `None` if it has no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream_limit: Option<u32>,
}

impl NegotiatedVersion {
    /// Creates the entry of an origin that uses HTTP/2.
    #[must_use]
    pub fn http2(origin: &str, stream_limit: Option<u32>) -> NegotiatedVersion {
        NegotiatedVersion {
            origin: origin.to_owned(),
            version: "h2".to_owned(),
            stream_limit,
        }
    }

    /// Creates the entry of an origin whose server chose HTTP/1.1.
    #[must_use]
    pub fn http1(origin: &str) -> NegotiatedVersion {
        NegotiatedVersion {
            origin: origin.to_owned(),
            version: "http/1.1".to_owned(),
            stream_limit: None,
        }
    }

    /// Returns whether the negotiated version is HTTP/2.
    #[must_use]
    pub fn is_http2(&self) -> bool {
        self.version == "h2"
    }
}
