//! What a front end's hooks need, asked before the run. The rest is neither kept nor parsed.

use plan::Request;

/// Declares what hooks need.
pub trait HookInterest {
    /// Needs for a step and its responses.
    fn looks(&self, request: &Request) -> Interest;
    /// Whether hooks may read any variable. Some are created only if used.
    fn reads_all_variables(&self) -> bool {
        false
    }
    /// Whether errors that end virtual users are reported as lines.
    fn tells_errors(&self) -> bool {
        false
    }
}

/// What a hook needs of a step and its responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// The response's headers.
    pub headers: bool,
    /// The response's body.
    pub body: bool,
    /// The server's own timing.
    pub timing: bool,
    /// The request, together with its response.
    pub sent: bool,
    /// Whether it names requests.
    pub calls: bool,
    /// Whether it receives responses.
    pub answers: bool,
}
