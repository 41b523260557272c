//! Hooks of a front end, called for requests and responses. A hook can report metrics to its
//! accumulator, print lines, and fail the request or the user. Each worker has separate hooks.

use std::cell::RefCell;

use measure::accumulator::Event;
use plan::rng::Rng;

use super::script::Scripts;
pub use super::{capture::Inspection, vars::Vars};
use crate::program::{HookInterest, RequestStep};
use worker::{OutputLine, Worker, client::Built};

/// Creates the hooks of a run and declares the data that they need.
pub trait Hooks: HookInterest + Send + Sync {
    /// Creates the hook of one worker. `None` if there is only a script.
    fn hook(&self) -> Option<Box<dyn AnswerHook>>;
    /// Returns the script that virtual users call. `None` if the plan has no script.
    fn scripts(&self) -> Option<&dyn Scripts> {
        None
    }
}

/// The hook of one worker.
pub trait AnswerHook {
    /// Called before a request is sent. May return a name for the request.
    fn call(&mut self, _asked: &mut RequestContext<'_>) -> Option<String> {
        None
    }

    /// Called for a complete and readable response, after captures. An error fails the request.
    fn answered(&mut self, answered: &mut ResponseContext<'_, '_>) -> Result<(), Unexpected>;
}

/// A request that is about to be sent, as passed to a hook.
pub struct RequestContext<'u> {
    /// The step that sends the request.
    pub step: &'u RequestStep,
    /// Base URL of the plan.
    pub base: &'u str,
    /// The encoded request.
    pub request: &'u Built,
    /// Variables of the virtual user.
    pub vars: &'u Vars<'u>,
    /// Random number generator of the virtual user.
    pub rng: &'u mut Rng,
}

/// A response and its context, as passed to a hook.
pub struct ResponseContext<'u, 'a> {
    /// The step that sent the request.
    pub step: &'u RequestStep,
    /// Base URL of the plan.
    pub base: &'u str,
    /// The original request. `None` unless the hook needs it.
    pub sent: Option<&'u Built>,
    /// The response, with access to its decoded body.
    pub answer: &'u mut Inspection<'a>,
    /// Variables of the virtual user.
    pub vars: &'u Vars<'u>,
    /// Random number generator of the virtual user.
    pub rng: &'u mut Rng,
    pub(crate) worker: &'u Worker,
    pub(crate) now_ns: u64,
}

impl ResponseContext<'_, '_> {
    /// Reports a value of a metric to the front end's accumulator.
    pub fn emit(&self, name: &str, value: u64) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.frontend(self.now_ns, &Event::Custom { name, value });
    }

    /// Prints a string unchanged, including any secrets. It is not recorded.
    pub fn print(&self, text: String) {
        self.worker.emit(OutputLine::Text(text));
    }
}

/// Why a hook failed a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexpected {
    /// Name under which the failed check is counted.
    pub kind: &'static str,
    /// Expected and actual values, for the record. Must not contain secrets.
    pub what: String,
    /// Name of the error that ends the virtual user. `None` if the user continues.
    pub ends_user: Option<String>,
}

pub(crate) type WorkerHook = Option<RefCell<Box<dyn AnswerHook>>>;
