//! Hooks of a front end. They are called for requests and responses, in addition to captures and
//! checks. Each worker has its own, so they need no locks. A hook can report metrics to its
//! accumulator, print lines, and fail the request or the user.

use std::cell::RefCell;

use measure::accumulator::Event;
use plan::rng::Rng;

pub use super::{capture::Inspection, vars::Vars};
use crate::program::{HookInterest, RequestStep};
use worker::{OutputLine, Worker, client::Built};

/// Creates the hooks of a run, and declares what they need.
pub trait Hooks: HookInterest + Send + Sync {
    /// Creates the hook of one worker.
    fn hook(&self) -> Box<dyn AnswerHook>;
}

/// A hook of one worker.
pub trait AnswerHook {
    /// Called before a request is sent. May return a name for the request, which is reported with
    /// its response if the step has no name.
    fn call(&mut self, _asked: &mut RequestContext<'_>) -> Option<String> {
        None
    }

    /// Called for a complete, readable response, after captures. An error fails the request.
    fn answered(&mut self, answered: &mut ResponseContext<'_, '_>) -> Result<(), Unexpected>;
}

/// A request that is about to be sent.
pub struct RequestContext<'u> {
    /// The step of the request.
    pub step: &'u RequestStep,
    /// The plan's target.
    pub base: &'u str,
    /// The request.
    pub request: &'u Built,
    /// The virtual user's variables.
    pub vars: &'u Vars<'u>,
    /// The user's random number generator.
    pub rng: &'u mut Rng,
}

/// A response with its context.
pub struct ResponseContext<'u, 'a> {
    /// The step of its request.
    pub step: &'u RequestStep,
    /// The plan's target.
    pub base: &'u str,
    /// The original request, if the hook needs it.
    pub sent: Option<&'u Built>,
    /// The response.
    pub answer: &'u mut Inspection<'a>,
    /// The virtual user's variables.
    pub vars: &'u Vars<'u>,
    /// The user's random number generator.
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

    /// Prints a text unchanged, with any secrets in it. The text is not recorded.
    pub fn print(&self, text: String) {
        self.worker.emit(OutputLine::Text(text));
    }
}

/// Why a hook failed a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexpected {
    /// Kind of the failed check, under which it is counted.
    pub kind: &'static str,
    /// Expected and actual values for the record. Must not contain secrets.
    pub what: String,
    /// Name of the error that ends the virtual user. `None` if the user continues.
    pub ends_user: Option<String>,
}

pub(crate) type WorkerHook = Option<RefCell<Box<dyn AnswerHook>>>;
