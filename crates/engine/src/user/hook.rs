//! Hooks: what a front door brings to be asked when a request is made and when its answer is there, beside the step's own captures
//! and checks. A door makes one for each worker, so it needs no lock; where there is none, nothing is asked. What it finds goes to
//! the door's accumulator and onto the screen; what it decides is whether the request, or the virtual user, has failed.

use std::cell::RefCell;

use measure::accumulator::Event;
use plan::rng::Rng;

pub use super::{capture::Inspection, vars::Vars};
use crate::{
    client::Built,
    program::{Looking, RequestStep},
    worker::{Line, Worker},
};

/// A door's hooks: what they look at, and one for each worker.
pub trait Hooks: Looking + Send + Sync {
    /// The hook of one worker.
    fn hook(&self) -> Box<dyn AnswerHook>;
}

/// A hook of one worker.
pub trait AnswerHook {
    /// A request is made and not sent yet: what it is called, if the step does not say that. The door's accumulator hears of it
    /// with the answer.
    fn call(&mut self, _asked: &mut Asked<'_>) -> Option<String> {
        None
    }

    /// An answer is there, whole and readable, and what the step takes out of it has been taken.
    ///
    /// # Errors
    /// Why the request has failed.
    fn answered(&mut self, answered: &mut Answered<'_, '_>) -> Result<(), Unexpected>;
}

/// A request before it is sent.
pub struct Asked<'u> {
    /// Its step.
    pub step: &'u RequestStep,
    /// The plan's target.
    pub base: &'u str,
    /// The request.
    pub request: &'u Built,
    /// The virtual user's variables.
    pub vars: &'u Vars<'u>,
    /// Its source of randomness.
    pub rng: &'u mut Rng,
}

/// An answer, with everything around it.
pub struct Answered<'u, 'a> {
    /// The step of its request.
    pub step: &'u RequestStep,
    /// The plan's target.
    pub base: &'u str,
    /// The request as it was first sent, where it is looked at.
    pub sent: Option<&'u Built>,
    /// The answer.
    pub answer: &'u mut Inspection<'a>,
    /// The virtual user's variables.
    pub vars: &'u Vars<'u>,
    /// Its source of randomness.
    pub rng: &'u mut Rng,
    pub(crate) worker: &'u Worker,
    pub(crate) now_ns: u64,
}

impl Answered<'_, '_> {
    /// Tells the door's accumulator something that it understands.
    pub fn tell(&self, name: &str, value: u64) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.door(self.now_ns, &Event::Told { name, value });
    }

    /// Prints a text as it is, secrets and all: it is kept nowhere.
    pub fn print(&self, text: String) {
        self.worker.emit(Line::Text(text));
    }
}

/// Why a hook has a request fail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unexpected {
    /// The kind of check that failed, under which it is counted.
    pub kind: &'static str,
    /// What was expected and found, for the record: nothing that may be secret.
    pub what: String,
    /// The error that ends the virtual user, if it does.
    pub ends_user: Option<String>,
}

/// Where a worker's users find its hook, if the run has hooks.
pub(crate) type WorkerHook = Option<RefCell<Box<dyn AnswerHook>>>;
