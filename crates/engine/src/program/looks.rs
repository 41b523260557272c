//! What a front door's hooks will look at, asked before the run: what nobody looks at is neither kept nor read.

use plan::Request;

/// Says what its hooks look at.
pub trait Looking {
    /// In a step and its answers.
    fn looks(&self, request: &Request) -> Looks;
    /// Whether variables may be read that no step names: some are made only for whoever reads them.
    fn reads_all_variables(&self) -> bool {
        false
    }
    /// Whether what ends virtual users is to be told as lines.
    fn tells_errors(&self) -> bool {
        false
    }
}

/// What a hook looks at in a step and its answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Looks {
    /// The answer's headers.
    pub headers: bool,
    /// Its body.
    pub body: bool,
    /// What the server says it took.
    pub timing: bool,
    /// The request, behind its answer.
    pub sent: bool,
    /// Whether it is asked what the request is called.
    pub calls: bool,
    /// Whether it is shown the answer at all.
    pub answers: bool,
}
