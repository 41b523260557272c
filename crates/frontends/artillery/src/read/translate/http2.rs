//! Reads `http2` in requests. In a plan, the HTTP version belongs to the connection.

use formats::document::{Mark, Node};
use plan::HttpVersion;

use super::{Translator, request::flag};

/// The requests that use HTTP/2, and those that do not.
#[derive(Default)]
pub(super) struct Http2Requests {
    /// Position of the first request with `http2: true`.
    with: Option<Mark>,
    has_others: bool,
}

impl Http2Requests {
    pub(super) fn add(&mut self, node: &Node) {
        if flag(node, "http2", false) {
            self.with.get_or_insert(node.mark);
        } else {
            self.has_others = true;
        }
    }
}

impl Translator<'_> {
    /// Returns the version for all requests. As in Artillery, the server chooses it.
    pub(super) fn http_version(&mut self) -> HttpVersion {
        match self.http2.with {
            None => HttpVersion::Http1,
            Some(mark) if self.http2.has_others => {
                self.findings.problem(
                    mark,
                    "`http2: true` must be set for all requests of a script or for none of them",
                );
                HttpVersion::Http1
            }
            Some(_) => HttpVersion::Auto,
        }
    }
}
