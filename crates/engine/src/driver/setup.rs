//! The setup driver: a plan's first scenario carried out once beside the test, before the load or behind it. It goes through the
//! same engine, and what it leaves is its variables; its measurements are nobody's.

use std::{
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};

use super::Driver;
use crate::{
    client::{Client, Settings},
    program::Program,
    user::{self, Env, UserState},
    worker::Worker,
};

/// What became of a scenario beside the test: its variables, or what ended it.
pub type SetupOutcome = Result<Map<String, Value>, String>;

/// Where the outcome lies once the run is over.
#[derive(Debug, Clone, Default)]
pub struct SetupResult(Arc<Mutex<Option<SetupOutcome>>>);

impl SetupResult {
    /// Takes what became of it; nothing if it never came to its end.
    #[must_use]
    pub fn take(&self) -> Option<SetupOutcome> {
        let mut outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.take()
    }
}

/// Carries out the first scenario once.
pub(crate) struct SetupDriver {
    pub program: Program,
    pub settings: Settings,
    pub result: SetupResult,
}

impl Driver for SetupDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let state = UserState::default();
            let place = worker.enter(&state.limit);
            let env = Env {
                client: Client::new(&worker, self.settings),
                worker: Rc::clone(&worker),
                program: self.program,
                // A hook is shown the load alone.
                hook: None,
            };
            let outcome = {
                let mut flow = std::pin::pin!(user::once(&env, &state));
                std::future::poll_fn(|cx| {
                    // Nobody else would be drained: whoever asks for an end means this.
                    if worker.arrivals_end.poll(cx).is_ready() {
                        worker.abort();
                    }
                    flow.as_mut().poll(cx)
                })
                .await
            };
            let mut result = self.result.0.lock().unwrap_or_else(PoisonError::into_inner);
            *result = Some(outcome);
            drop(result);
            worker.leave(place);
        })
    }
}
