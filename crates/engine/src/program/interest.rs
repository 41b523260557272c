//! The data that a front end's hooks need, declared before the run. Other data is neither kept nor
//! parsed.

use plan::Request;

/// Declares the data that hooks need.
pub trait HookInterest {
    /// Returns the data that hooks need from a step and its responses.
    fn looks(&self, request: &Request) -> Interest;
    /// Whether hooks may read any variable. Some variables are created only when used.
    fn reads_all_variables(&self) -> bool {
        false
    }
    /// Whether errors that end virtual users are reported as output lines.
    fn tells_errors(&self) -> bool {
        false
    }
}

/// The data that a hook needs of a step and its responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether the hook needs the response's headers.
    pub headers: bool,
    /// Whether the hook needs the response's body.
    pub body: bool,
    /// Whether the hook needs the server's own timing.
    pub timing: bool,
    /// Whether the hook needs the request together with its response.
    pub sent: bool,
    /// Whether the hook assigns names to requests.
    pub calls: bool,
    /// Whether the hook receives responses.
    pub answers: bool,
}
