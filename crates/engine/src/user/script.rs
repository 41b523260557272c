//! Functions of the test's author that virtual users call: as steps, around requests, and as
//! conditions.
//!
//! A function may change variables and requests, and may wait. A call that ends immediately needs
//! no allocation here. While a function waits, only its virtual user sleeps.

use std::{
    rc::Rc,
    task::{Context, Poll},
};

use measure::accumulator::{Event, Reason};
use plan::{scenario::Call, units::SECOND};

use super::{
    IterationAbort, User,
    capture::{CaptureFailed, Inspection},
    ongoing::Ongoing,
    vars::Vars,
};
use crate::program::{RequestChange, RequestStep};
use worker::{
    Worker,
    client::{Built, HttpClientConfig, Moments},
};

/// Maximum time that a waiting function may be idle, in nanoseconds, if the plan has no time limit
/// for responses.
const PATIENCE_NS: u64 = 10 * SECOND;

/// Creates the instances of the script. Each worker has its own instance.
pub trait Scripts: Send + Sync {
    /// Loads the script for a worker. `settings` are those of the worker's client, for requests
    /// that functions send.
    ///
    /// # Errors
    ///
    /// Returns the reason on one line if the script cannot be loaded.
    fn load(
        &self,
        worker: &Rc<Worker>,
        settings: &HttpClientConfig,
    ) -> Result<Rc<dyn ScriptHost>, String>;
}

/// A worker's instance of the script.
pub trait ScriptHost {
    /// Creates the script's data for a virtual user who runs this scenario.
    fn user(&self, scenario: &str) -> Rc<dyn ScriptUser>;
    /// Returns whether the script defines this function.
    fn has(&self, function: &str) -> bool;
    /// Calls functions in order, until one fails.
    fn call(
        &self,
        user: &Rc<dyn ScriptUser>,
        call: ScriptCall<'_, '_>,
        vars: &mut Vars<'_>,
    ) -> Called;
}

/// The script's data for one virtual user, which the script keeps between calls.
pub trait ScriptUser: std::any::Any {
    /// Returns `self` as `Any`, for downcasting.
    fn as_any(&self) -> &dyn std::any::Any;

    /// Calls a function that the script added for templates, and returns its result as text. `None`
    /// if there is no such function. An argument that is not a whole number is `None`.
    ///
    /// # Errors
    ///
    /// Returns the name of the error that the function threw.
    fn call(
        &self,
        function: &str,
        arguments: &[Option<i64>],
        vars: &Vars<'_>,
    ) -> Result<Option<String>, String>;
}

/// The functions to call, and their context.
pub enum ScriptCall<'c, 'i> {
    /// A step of a scenario.
    Step(&'c Call),
    /// The condition of a request.
    Condition(&'c Call),
    /// The condition of a loop, called after each round.
    While(&'c Call),
    /// Functions called before a request is built. They may change the request.
    Before {
        /// The step that sends the request.
        step: &'c RequestStep,
        /// Base URL of the plan.
        base: &'c str,
    },
    /// Functions called with a response.
    After {
        /// The step that sent the request.
        step: &'c RequestStep,
        /// The request as sent. `None` if it was not kept.
        sent: Option<&'c Built>,
        /// The response.
        response: &'c mut Inspection<'i>,
        /// Times of the request.
        moments: &'c Moments,
    },
    /// Functions called when a request has no usable response.
    Failed {
        /// Functions to call.
        calls: &'c [Call],
        /// Error of the request.
        error: Reason<'c>,
    },
}

/// State of a call after it was started.
pub enum Called {
    /// All functions have ended.
    Done(Result<Returned, ScriptError>),
    /// A function is waiting.
    Waiting(Box<dyn WaitingCall>),
}

/// The results of functions.
#[derive(Default)]
pub struct Returned {
    /// Changes to the request. `None` if there are none.
    pub change: Option<Box<RequestChange>>,
    /// Result of a condition.
    pub is_true: bool,
}

/// A call whose function is waiting.
pub trait WaitingCall {
    /// Returns `Ready` when all functions have ended.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()>;
    /// Returns whether anything pending can end the wait, such as a timer of this user.
    fn has_reason_to_wait(&self) -> bool;
    /// Returns the name and position of the waiting function.
    fn describe(&self) -> String;
    /// Copies the variables back, and returns the result.
    ///
    /// # Errors
    ///
    /// Returns the error of the function that failed.
    fn finish(self: Box<Self>, vars: &mut Vars<'_>) -> Result<Returned, ScriptError>;
}

/// Why a function failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptError {
    /// The function failed with this error, which ends the virtual user.
    Failed(String),
    /// The script has no function with this name. The error is counted, and the virtual user
    /// continues.
    Missing(String),
}

impl User<'_> {
    /// Calls functions and waits for them.
    pub(super) async fn call_script(
        &mut self,
        call: ScriptCall<'_, '_>,
    ) -> Result<Returned, IterationAbort> {
        let began_ns = self.worker.clock.now();
        let undefined = match &call {
            ScriptCall::Step(call) => Some(call.function.clone()),
            _ => None,
        };
        match (self.start_script(call), undefined) {
            (Some(called), _) => self.script_result(called, began_ns).await,
            // Without a script, no function is defined.
            (None, Some(name)) => self.scripted(Err(ScriptError::Missing(name))),
            (None, None) => Ok(Returned::default()),
        }
    }

    /// Returns the function that decides about a loop. `None` if the script does not define it, so
    /// that the loop's count decides.
    pub(super) fn decides<'c>(&self, call: Option<&'c Call>) -> Option<&'c Call> {
        call.filter(|call| {
            let host = self.script.as_ref();
            host.is_some_and(|host| host.has(&call.function))
        })
    }

    /// Calls a function that decides a condition. `None` if the script does not define it.
    pub(super) fn decide(&mut self, call: &Call) -> Option<Result<bool, IterationAbort>> {
        match self.start_script(ScriptCall::Condition(call))? {
            Called::Done(Err(ScriptError::Missing(_))) | Called::Waiting(_) => None,
            Called::Done(outcome) => Some(self.scripted(outcome).map(|returned| returned.is_true)),
        }
    }

    /// Waits for functions that have started. Their duration delays the next request's due time,
    /// because the server did not cause it.
    pub(super) async fn script_result(
        &mut self,
        called: Called,
        began_ns: u64,
    ) -> Result<Returned, IterationAbort> {
        let outcome = match called {
            Called::Done(outcome) => outcome,
            // Only a function that waits needs its own future.
            Called::Waiting(waiting) => Box::pin(self.wait_for_script(waiting)).await?,
        };
        let took_ns = self.worker.clock.now().saturating_sub(began_ns);
        self.due = self.due.delayed(took_ns);
        self.scripted(outcome)
    }

    /// Calls functions with an error that ends the iteration. The iteration ends with this error,
    /// even if a function fails.
    pub(super) async fn tell_script(
        &mut self,
        result: Result<(), IterationAbort>,
        calls: &[Call],
    ) -> Result<(), IterationAbort> {
        let Err(end) = &result else {
            return result;
        };
        let Some(error) = (!calls.is_empty()).then(|| end.to_accumulator()).flatten() else {
            return result;
        };
        let call = ScriptCall::Failed { calls, error };
        let _ = self.call_script(call).await;
        result
    }

    /// Starts functions. Returns `None` if the run has no script.
    fn start_script(&mut self, call: ScriptCall<'_, '_>) -> Option<Called> {
        let host = self.script.as_ref()?;
        let scenario = &self.program.scenarios[self.scenario].name;
        let user = self.vars.script.get_or_insert_with(|| host.user(scenario));
        let user = Rc::clone(user);
        Some(host.call(&user, call, &mut self.vars))
    }

    /// Waits for functions to end.
    async fn wait_for_script(
        &mut self,
        mut waiting: Box<dyn WaitingCall>,
    ) -> Result<Result<Returned, ScriptError>, IterationAbort> {
        let timeouts = &self.program.http.timeouts;
        let patience_ns = timeouts
            .headers_ns
            .or(timeouts.total_ns)
            .unwrap_or(PATIENCE_NS);
        let worker = self.worker;
        loop {
            let until = worker.clock.now().saturating_add(patience_ns);
            let mut sleep = std::pin::pin!(worker.sleep_until(until, &self.io.limit));
            let slept = std::future::poll_fn(|cx| {
                if waiting.poll(cx).is_ready() {
                    return Poll::Ready(None);
                }
                sleep.as_mut().poll(cx).map(Some)
            });
            match slept.await {
                None => return Ok(waiting.finish(&mut self.vars)),
                Some(Err(_)) => {
                    return Err(IterationAbort::Fault(measure::Fault::Unfinished, None));
                }
                Some(Ok(())) if waiting.has_reason_to_wait() => {}
                Some(Ok(())) => {
                    let what = format!(
                        "{} neither called back nor settled its promise",
                        waiting.describe()
                    );
                    worker.remark(what.clone());
                    return Ok(Err(ScriptError::Failed(what)));
                }
            }
        }
    }

    /// Continues after functions, or ends the iteration with their error.
    fn scripted(
        &mut self,
        outcome: Result<Returned, ScriptError>,
    ) -> Result<Returned, IterationAbort> {
        match outcome {
            Ok(returned) => Ok(returned),
            Err(ScriptError::Missing(function)) => {
                let now = self.worker.clock.now();
                let name = format!("Undefined function \"{function}\"");
                let remark = Event::Remark { name: &name };
                self.worker.recorder.borrow_mut().frontend(now, &remark);
                Ok(Returned::default())
            }
            Err(ScriptError::Failed(name)) => Err(IterationAbort::Unexpected("script", name)),
        }
    }

    /// Evaluates captures and starts the functions that receive the response. `None` if the
    /// response cannot be read.
    pub(super) fn start_after_response(
        &mut self,
        ongoing: &mut Ongoing<'_>,
    ) -> Option<(Result<(), CaptureFailed>, Option<Called>)> {
        let answer = std::mem::take(&mut ongoing.exchange.answer);
        let room = self.worker.memory.left();
        let streamed = ongoing.exchange.streamed.take();
        let mut inspection =
            Inspection::new(&answer, room, self.program.unpacking).with_stream(streamed.as_deref());
        let is_readable = inspection.unreadable().is_none();
        let early = is_readable.then(|| {
            let captured = self.capture(&ongoing.step.content, &mut inspection);
            let called = self.start_script(ScriptCall::After {
                step: ongoing.step,
                sent: ongoing.asked.as_ref(),
                response: &mut inspection,
                moments: &ongoing.exchange.moments,
            });
            (captured, called)
        });
        drop(inspection);
        ongoing.exchange.answer = answer;
        ongoing.exchange.streamed = streamed;
        early
    }
}
