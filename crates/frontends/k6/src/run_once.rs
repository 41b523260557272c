//! Functions of the script that run once: `setup`, `teardown` and `handleSummary`, with their time
//! limits.

use std::{cell::Cell, rc::Rc, sync::Arc};

use k6::{duration::DurationNs, exit::RunError, log::Level, metric, options};
use script::k6::{CallError, SummaryOutput, Vu};
use tokio::task::spawn_local;
use worker::{
    Worker,
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
};

use crate::lifecycle::WorkerRun;

/// The time limit of a function of the script.
struct CallTimeout {
    limit: DurationNs,
    /// Error if the time limit is exceeded.
    late: RunError,
    /// Whether the function ends when the run is stopped. If not, only a second signal ends it.
    until_stop: bool,
}

/// Interrupts a function of the script when its time is over, or when the run is stopped.
struct Watch {
    worker: Rc<Worker>,
    vu: Rc<Vu>,
    /// Limit that is aborted when the function has returned.
    ended: Rc<Limit>,
    is_late: Rc<Cell<bool>>,
    last_ns: u64,
    until_stop: bool,
}

impl Watch {
    async fn run(self) {
        loop {
            let now_ns = self.worker.clock.now();
            let is_stopped = match self.until_stop {
                true => self.worker.arrivals_end.is_aborted(),
                false => self.worker.common.stop.urgency() == Urgency::Abort,
            };
            if now_ns >= self.last_ns || is_stopped {
                self.is_late.set(!is_stopped);
                return self.vu.interrupt();
            }
            let next_ns = self.last_ns.min(now_ns + TICK_NS);
            if self.worker.sleep_until(next_ns, &self.ended).await.is_err() {
                return;
            }
        }
    }
}

/// `setup` has failed, or the run was stopped, so that the executors must not run.
pub struct LoadRefused;

impl WorkerRun {
    /// Calls `setup`. Returns its result as JSON, which is `None` if there is none. Fails if the
    /// executors must not run.
    pub async fn set_up(&self) -> Result<Option<Arc<str>>, LoadRefused> {
        let unless_stopped = |data| match self.worker.arrivals_end.is_aborted() {
            true => Err(LoadRefused),
            false => Ok(data),
        };
        let is_wanted = self.shared.options.no_setup != Some(true);
        if !is_wanted || !self.shared.script.has_function("setup") {
            return unless_stopped(None);
        }
        let limit = self.shared.options.setup_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_SETUP_TIMEOUT);
        let late = RunError::SetupTimeout(limit);
        let data = match self.vu(0).await {
            Ok(vu) => {
                let timeout = CallTimeout {
                    limit,
                    late,
                    until_stop: true,
                };
                self.within(timeout, &vu, vu.call_setup()).await
            }
            Err(text) => Err(Some(RunError::ScriptException(text))),
        };
        self.add_traffic("::setup");
        match data {
            Ok(data) => unless_stopped(data.map(Arc::from)),
            Err(reason) => {
                if let Some(reason) = reason {
                    self.end_early(reason);
                }
                Err(LoadRefused)
            }
        }
    }

    /// Calls `teardown`, unless the run must end immediately.
    pub async fn tear_down(&self) {
        let is_wanted = self.shared.options.no_teardown != Some(true)
            && self.worker.common.stop.urgency() != Urgency::Abort;
        if !is_wanted || !self.shared.script.has_function("teardown") {
            return;
        }
        let limit = self.shared.options.teardown_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_SETUP_TIMEOUT);
        let late = RunError::TeardownTimeout(limit);
        let data = self.shared.team.setup_data();
        let ended = match self.vu(0).await {
            Ok(vu) => {
                let timeout = CallTimeout {
                    limit,
                    late,
                    until_stop: false,
                };
                self.within(timeout, &vu, vu.call_teardown(data)).await
            }
            Err(text) => Err(Some(RunError::ScriptException(text))),
        };
        self.add_traffic("::teardown");
        if let Err(Some(reason)) = ended {
            self.shared.end_early(reason);
        }
    }

    /// Calls `handleSummary`. `None` if the script has none, or if it failed.
    pub async fn handle_summary(&self, data: String) -> Option<Vec<SummaryOutput>> {
        let is_ended = self.worker.common.stop.urgency() == Urgency::Abort;
        if is_ended || !self.shared.script.has_function("handleSummary") {
            return None;
        }
        let limit = self.shared.options.handle_summary_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_HANDLE_SUMMARY_TIMEOUT);
        let late = "handleSummary() execution timed out".to_owned();
        let outputs = match self.vu(0).await {
            Ok(vu) => {
                let timeout = CallTimeout {
                    limit,
                    late: RunError::OtherTimeout(late),
                    until_stop: false,
                };
                let outputs = self.within(timeout, &vu, vu.call_handle_summary(data));
                outputs.await.map_err(|reason| {
                    let text = reason.as_ref().map_or(String::new(), RunError::message);
                    if let Some(reason @ RunError::OtherTimeout(_)) = reason {
                        self.shared.end_early(reason);
                    }
                    text
                })
            }
            Err(text) => Err(text),
        };
        match outputs {
            Ok(outputs) => outputs,
            // Only a second signal interrupts it without a reason.
            Err(text) if text.is_empty() => None,
            Err(text) => {
                self.host
                    .log(Level::Error, &text, &[("hint", "script exception")]);
                None
            }
        }
    }

    /// Waits for a function of the script, and interrupts it after its time limit. Fails without a
    /// reason if the run was stopped, because that reason is already stored.
    async fn within<T>(
        &self,
        timeout: CallTimeout,
        vu: &Rc<Vu>,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, Option<RunError>> {
        let ended = Rc::<Limit>::default();
        let is_late = Rc::new(Cell::new(false));
        let last_ns = self.worker.clock.now();
        let last_ns = last_ns.saturating_add(timeout.limit.non_negative());
        let watch = Watch {
            worker: Rc::clone(&self.worker),
            vu: Rc::clone(vu),
            ended: Rc::clone(&ended),
            is_late: Rc::clone(&is_late),
            last_ns,
            until_stop: timeout.until_stop,
        };
        spawn_local(watch.run());
        let result = call.await;
        ended.abort();
        match result {
            Ok(value) => Ok(value),
            Err(_) if is_late.get() => Err(Some(timeout.late)),
            Err(CallError::Failed(error)) => {
                Err(Some(RunError::ScriptException(error.to_string())))
            }
            Err(CallError::Interrupted) => Err(None),
        }
    }

    /// Adds the bytes that `setup` or `teardown` transferred.
    fn add_traffic(&self, group: &str) {
        let traffic = self.host.traffic.borrow_mut().remove(&0);
        let (sent, received) = traffic.unwrap_or_default();
        let tags = self.shared.run_tags().with("group", group);
        let values = [
            (metric::DATA_SENT, sent as f64),
            (metric::DATA_RECEIVED, received as f64),
        ];
        self.host.add(&tags, &values);
    }
}
