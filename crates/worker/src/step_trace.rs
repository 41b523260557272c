//! The actions of a virtual user in one step, for the trace of `--once`. The caller hides secrets.

/// A step of a virtual user and its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepTrace {
    /// A request and its result.
    Request(Box<RequestTrace>),
    /// A think time, in nanoseconds.
    Thinks(u64),
    /// A skipped step: its method and URL as written, and the reason.
    LeftOut(String, &'static str),
    /// A decision: the condition or choice, and the result.
    Goes(String, String),
    /// The start of a group with this name.
    GroupBegins(String),
    /// The end of a group.
    GroupEnds {
        /// Name of the group.
        name: String,
        /// Time since the group's first step was due, in nanoseconds.
        took_ns: u64,
        /// Pauses included in `took_ns`, in nanoseconds.
        paused_ns: u64,
        /// Whether a failure ended the group.
        failed: bool,
    },
}

/// A finished request in the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestTrace {
    /// Name of the row in reports, without the method.
    pub name: Option<String>,
    /// HTTP method.
    pub method: String,
    /// URL as sent, or as written if no request was sent.
    pub url: String,
    /// HTTP status. `None` if there was no response.
    pub status: Option<u16>,
    /// Time from the worker's pick-up of the request until the last byte was read or the request
    /// was abandoned, in nanoseconds.
    pub took_ns: u64,
    /// Results of captures and checks.
    pub found: Vec<CheckResult>,
    /// Why the request failed. `None` if it succeeded.
    pub failed: Option<String>,
    /// An excerpt of the body. `None` unless the request failed.
    pub body: Option<String>,
}

/// The result of a capture or check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckResult {
    /// Whether the result is as expected.
    pub holds: bool,
    /// Description of the result for the user.
    pub text: String,
}

impl StepTrace {
    /// Applies `change` to all texts.
    #[must_use]
    pub fn with_texts(self, mut change: impl FnMut(&str) -> String) -> StepTrace {
        match self {
            StepTrace::Request(mut asked) => {
                asked.url = change(&asked.url);
                let texts = [&mut asked.name, &mut asked.failed, &mut asked.body];
                for text in texts.into_iter().flatten() {
                    *text = change(text);
                }
                for found in &mut asked.found {
                    found.text = change(&found.text);
                }
                StepTrace::Request(asked)
            }
            StepTrace::LeftOut(what, reason) => StepTrace::LeftOut(change(&what), reason),
            StepTrace::Goes(what, how) => StepTrace::Goes(change(&what), how),
            StepTrace::GroupBegins(name) => StepTrace::GroupBegins(change(&name)),
            StepTrace::GroupEnds {
                name,
                took_ns,
                paused_ns,
                failed,
            } => StepTrace::GroupEnds {
                name: change(&name),
                took_ns,
                paused_ns,
                failed,
            },
            thinks @ StepTrace::Thinks(_) => thinks,
        }
    }
}
