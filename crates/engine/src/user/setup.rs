//! A scenario carried out once beside the test: what comes before the load, and what comes behind it. It goes through the same
//! engine, and what it leaves is its variables; its measurements are nobody's.

use std::{
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use measure::sample::Intended;
use serde_json::{Map, Value};

use super::{End, Start, User, UserState};
use crate::{driver::Driver, worker::Worker};

/// What became of a scenario beside the test: its variables, or what ended it.
pub type SetupOutcome = Result<Map<String, Value>, String>;

/// Carries out the plan's first scenario once.
#[derive(Debug, Clone, Default)]
pub struct SetupDriver {
    /// What became of it; empty before it came to its end.
    pub outcome: Arc<Mutex<Option<SetupOutcome>>>,
}

impl SetupDriver {
    /// Takes what became of it.
    #[must_use]
    pub fn take(&self) -> Option<SetupOutcome> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.take()
    }
}

impl Driver for SetupDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let state = UserState::default();
            let place = worker.enter(&state.limit);
            let start = Start {
                number: 0,
                intended: Intended::after_previous(worker.clock.now(), 0),
                scenario: 0,
            };
            let mut user = User::new(&worker, &state, start);
            let outcome = {
                let mut flow = std::pin::pin!(async {
                    match worker.program.scenarios.first() {
                        Some(scenario) => user.flow(&scenario.ops, 0, scenario.ops.len()).await,
                        None => Ok(()),
                    }
                });
                std::future::poll_fn(|cx| {
                    // Nobody else would be drained: whoever asks for an end means this.
                    if worker.arrivals_end.poll(cx).is_ready() {
                        worker.abort();
                    }
                    flow.as_mut().poll(cx)
                })
                .await
            };
            let outcome = match outcome {
                Ok(()) => Ok(user.vars.into_own()),
                Err(end) => Err(text(&end)),
            };
            *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
            worker.leave(place);
        })
    }
}

fn text(end: &End) -> String {
    match end {
        End::Fault(fault, _) => fault.text().to_owned(),
        End::Answered(_, fault, _) => fault.text().to_owned(),
        End::Failed(failure) => format!("{failure}"),
        End::Capture => "Failed capture or match".to_owned(),
        End::Named(name, _) | End::Unsendable(name, ..) | End::Unexpected(name) => name.clone(),
    }
}
