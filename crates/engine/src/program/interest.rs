//! The data that a front end's hooks need, declared before the run. Other data is neither kept nor
//! parsed.

use plan::Request;

/// Declares the data that a front end's hooks need.
pub trait HookInterest {
    /// Returns the data that hooks need of a step and its responses.
    fn looks(&self, request: &Request) -> Interest;
    /// Returns whether hooks may read any variable. Some variables are created only when needed.
    fn reads_all_variables(&self) -> bool {
        false
    }
    /// Returns whether to report errors that end virtual users as output lines.
    fn tells_errors(&self) -> bool {
        false
    }
}

/// The data that hooks need of a step and its responses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Interest {
    /// Whether hooks need the response's headers.
    pub headers: bool,
    /// Whether hooks need the response's body.
    pub body: bool,
    /// Whether hooks need the processing time that the server reports.
    pub timing: bool,
    /// Whether hooks need the request together with its response.
    pub sent: bool,
    /// Whether hooks assign names to requests.
    pub calls: bool,
    /// Whether hooks receive responses.
    pub answers: bool,
}
