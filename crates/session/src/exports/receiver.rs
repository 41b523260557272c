//! HTTP receiver of an exporter: sends requests and explains failures.

use std::time::Duration;

use crate::blocking_http::{Base, BlockingRequest, BlockingResponse};

const MEDIA_TYPE: &str = "application/x-protobuf";
/// Maximum size of a response, in bytes.
const RESPONSE_BYTES: usize = 1 << 20;
/// Pauses between the attempts of the last export.
const LAST_PAUSES: [Duration; 3] = [
    Duration::from_millis(200),
    Duration::from_millis(600),
    Duration::from_millis(1200),
];

/// A server that accepts Protocol Buffers messages.
pub(super) struct HttpReceiver {
    base: Base,
    path: String,
    headers: Vec<(String, String)>,
    /// Advice on how to set credentials, for messages.
    credentials_advice: &'static str,
}

/// Why an export failed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ExportFailure {
    pub reason: String,
    /// Whether the same request may succeed later.
    pub is_transient: bool,
}

impl HttpReceiver {
    /// Creates a receiver from its complete URL.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the URL is invalid.
    pub fn new(
        url: &str,
        timeout: Duration,
        headers: Vec<(String, String)>,
        credentials_advice: &'static str,
    ) -> Result<HttpReceiver, String> {
        let (base, path) = Base::of_url(url)?;
        Ok(HttpReceiver {
            base: base.patient_for(timeout).at_most(RESPONSE_BYTES),
            path,
            headers,
            credentials_advice,
        })
    }

    /// Checks the connection, the path and the credentials with a message that has no metrics.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if a run could not export anything.
    pub fn check(&self, empty: &[u8]) -> Result<(), String> {
        let answer = self.send(empty)?;
        match answer.status {
            // Some receivers refuse an empty message, but only if the path is correct. A failing
            // receiver may recover.
            400 | 429 | 500.. => Ok(()),
            _ => self
                .failure(&answer, 0)
                .map_or(Ok(()), |failure| Err(failure.reason)),
        }
    }

    /// Sends a message. Returns the response's body.
    ///
    /// # Errors
    ///
    /// Returns the reason if the receiver did not accept the message.
    pub fn post(&self, body: &[u8]) -> Result<Vec<u8>, ExportFailure> {
        let answer = self.send(body).map_err(|reason| ExportFailure {
            reason,
            is_transient: true,
        })?;
        self.failure(&answer, body.len())
            .map_or(Ok(answer.body), Err)
    }

    fn send(&self, body: &[u8]) -> Result<BlockingResponse, String> {
        let headers = self.headers.iter();
        let headers: Vec<_> = headers
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        self.base.send(&BlockingRequest {
            method: "POST",
            path: &self.path,
            headers: &headers,
            body: Some((MEDIA_TYPE, body)),
        })
    }

    /// Returns why a response means that the receiver did not accept the message.
    fn failure(&self, answer: &BlockingResponse, sent: usize) -> Option<ExportFailure> {
        let status = answer.status;
        let reason = match status {
            200..=299 => return None,
            300..=399 => format!("the receiver redirects ({status}): use its final URL"),
            401 | 403 => format!(
                "the receiver refuses the credentials ({status}): {}",
                self.credentials_advice
            ),
            404 | 405 => format!("the receiver takes no metrics at this path ({status})"),
            413 => {
                let kb = sent.div_ceil(1000);
                format!("the receiver refuses a request of {kb} kB as too large (413)")
            }
            429 | 502..=504 => format!("the receiver is overloaded ({status})"),
            _ => format!("the receiver answers {status}"),
        };
        Some(ExportFailure {
            reason,
            is_transient: status == 429 || status >= 500,
        })
    }
}

/// Repeats the last export while the failure may be temporary.
pub(super) fn with_retries(
    mut export: impl FnMut() -> Result<(), ExportFailure>,
) -> Result<(), String> {
    let mut result = export();
    for pause in LAST_PAUSES {
        if result.as_ref().is_err_and(|failure| failure.is_transient) {
            std::thread::park_timeout(pause);
            result = export();
        }
    }
    result.map_err(|failure| failure.reason)
}
