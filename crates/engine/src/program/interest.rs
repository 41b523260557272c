//! What a front end's hooks need. It is requested before the run; other data is neither kept nor
//! parsed.

use plan::Request;

/// Declares what hooks need.
pub trait HookInterest {
    /// Returns what hooks need of a step and its responses.
    fn looks(&self, request: &Request) -> Interest;
    /// Whether hooks may read any variable. Some variables are created only if they are used.
    fn reads_all_variables(&self) -> bool {
        false
    }
    /// Whether errors that end virtual users are reported as output lines.
    fn tells_errors(&self) -> bool {
        false
    }
}

/// What a hook needs of a step and its responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether it needs the response's headers.
    pub headers: bool,
    /// Whether it needs the response's body.
    pub body: bool,
    /// Whether it needs the server's own timing.
    pub timing: bool,
    /// Whether it needs the request together with its response.
    pub sent: bool,
    /// Whether it names requests.
    pub calls: bool,
    /// Whether it receives responses.
    pub answers: bool,
}
