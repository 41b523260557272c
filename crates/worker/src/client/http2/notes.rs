//! What a connection reports to the user: the negotiated version, limits and errors of the server.

use codec::h2;
use measure::NegotiatedVersion;

use super::{connection::Http2Connection, connection_stats::SettingsChange};

impl Http2Connection {
    /// Reports the negotiated version and the server's limit of streams, and each change of the
    /// limit. `None` means that the server has no limit.
    pub(super) fn note_settings(&self, streams: Option<u32>, changes: SettingsChange) {
        let limit = match streams {
            Some(streams) => format!("{streams} streams per connection"),
            None => "any number of streams per connection".to_owned(),
        };
        let origin = &self.origin;
        match changes {
            SettingsChange::First => self.worker.negotiated(
                NegotiatedVersion::http2(origin, streams),
                format!("{origin} speaks HTTP/2 and allows {limit}"),
            ),
            SettingsChange::Limit => self
                .worker
                .remark(format!("{origin} changed its limit: it allows {limit}")),
            SettingsChange::None => {}
        }
    }

    /// Reports that the server ended the connection with an error.
    pub(super) fn note_goaway(&self, code: h2::ErrorCode, debug: &[u8]) {
        if code == h2::ErrorCode::NO_ERROR {
            return;
        }
        let is_plain = |c: &char| !c.is_control();
        let debug: String = String::from_utf8_lossy(debug)
            .chars()
            .filter(is_plain)
            .collect();
        let origin = &self.origin;
        self.worker.remark(format!(
            "{origin} ended a connection with GOAWAY {code}{}{debug}",
            if debug.is_empty() { "" } else { ": " }
        ));
    }
}
