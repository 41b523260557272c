//! Runs a plan's first scenario once for setup or teardown, without recording. The result is the
//! user's variables.

use std::{
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Map, Value};

use super::{Driver, scenario::load_script};
use crate::{
    program::Program,
    user::{self, Env, UserIo, hook::Hooks},
};
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
};

/// The variables after setup or teardown, or the reason why it failed.
pub type SetupOutcome = Result<Map<String, Value>, String>;

/// Receives the outcome of setup or teardown.
#[derive(Debug, Clone, Default)]
pub struct SetupResult(Arc<Mutex<Option<SetupOutcome>>>);

impl SetupResult {
    /// Takes the outcome. Returns `None` if setup or teardown did not finish.
    #[must_use]
    pub fn take(&self) -> Option<SetupOutcome> {
        let mut outcome = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        outcome.take()
    }
}

pub(crate) struct SetupDriver {
    pub program: Program,
    pub settings: HttpClientConfig,
    pub hooks: Option<Arc<dyn Hooks>>,
    pub result: SetupResult,
}

impl Driver for SetupDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let state = UserIo::default();
            let place = worker.enter(&state.limit);
            let script = load_script(self.hooks.as_deref(), &worker, &self.settings).flatten();
            let env = Env {
                client: Rc::new(Client::new(&worker, self.settings)),
                worker: Rc::clone(&worker),
                program: self.program,
                // The front end's hooks apply only to the load, not to setup or teardown.
                hook: None,
                script,
                publishers: None,
            };
            let outcome = {
                let mut flow = std::pin::pin!(user::once(&env, &state));
                std::future::poll_fn(|cx| {
                    // This is the only user, so a stop ends it immediately.
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
