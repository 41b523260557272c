//! The life of a run on its worker: virtual users, `setup`, the executors, `teardown` and
//! `handleSummary`.

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use engine::{driver::Driver, run::DriverMaker};
use k6::{
    duration::DurationNs, exit::RunError, metric, options, threshold::evaluate::ThresholdSet,
};
use measure::{
    Fault,
    outcome::Failure,
    sample::{Intended, RequestOutcome},
};
use plan::units::{MILLISECOND, SECOND};
use script::k6::{CallError, Ended, Iteration, IterationInfo, Level, Vu, VuId};
use tokio::task::spawn_local;
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
    deadlines::{Limit, TICK_NS},
    stop::{Cause, Urgency},
};

use crate::{
    executors::ScenarioRun,
    host::{RunHost, SharedHost},
    result,
    shared::Shared,
    vus::{IdleVus, PooledVu},
};

/// How often gauges of virtual users are sampled.
const GAUGE_NS: u64 = SECOND;
/// How often thresholds are evaluated.
const THRESHOLDS_NS: u64 = 2 * SECOND;

/// Returns the maker of the driver, for a run with one worker.
pub fn driver(shared: &Arc<Shared>) -> DriverMaker {
    let shared = Arc::clone(shared);
    Arc::new(move |context| {
        Box::new(K6Driver {
            shared: Arc::clone(&shared),
            client: context.client,
        })
    })
}

struct K6Driver {
    shared: Arc<Shared>,
    client: HttpClientConfig,
}

impl Driver for K6Driver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let client = Client::new(&worker, self.client);
            let host = Rc::new(RunHost::new(&worker, client, &self.shared));
            let run = Rc::new(WorkerRun {
                worker,
                host,
                idle: IdleVus::default(),
                data: RefCell::default(),
                thresholds: RefCell::new(self.shared.thresholds.clone()),
                scenarios: RefCell::default(),
                vus: Cell::default(),
                shared: self.shared,
            });
            run.live().await;
        })
    }
}

/// How long a function of the script may take.
struct Patience {
    limit: DurationNs,
    /// Error after that time.
    late: RunError,
    /// Whether the function ends when the run is stopped. Otherwise only a second signal ends it.
    until_stop: bool,
}

/// Interrupts a function of the script when its time is over, or when the run is stopped.
struct Watch {
    worker: Rc<Worker>,
    vu: Rc<Vu>,
    /// Aborted when the function has returned.
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

/// A run on its worker.
pub struct WorkerRun {
    pub worker: Rc<Worker>,
    pub shared: Arc<Shared>,
    pub host: Rc<RunHost>,
    pub idle: IdleVus,
    /// What `setup` returned, as JSON.
    data: RefCell<Option<Arc<str>>>,
    pub thresholds: RefCell<ThresholdSet>,
    scenarios: RefCell<Vec<Rc<ScenarioRun>>>,
    /// Virtual users that exist.
    vus: Cell<u64>,
}

impl WorkerRun {
    async fn live(self: &Rc<Self>) {
        if self.initialize().await && self.set_up().await {
            self.execute().await;
            self.tear_down().await;
        }
        result::conclude(self).await;
    }

    /// Creates the virtual users that are planned. Returns whether they exist.
    async fn initialize(self: &Rc<Self>) -> bool {
        for _ in 0..self.shared.plan.planned_vus() {
            if self.worker.arrivals_end.is_aborted() {
                return false;
            }
            let Some(vu) = self.new_vu().await else {
                return false;
            };
            self.idle.put(vu);
            // Other tasks, such as the one that tells that the worker is alive, must run too.
            tokio::task::yield_now().await;
        }
        let now_ns = self.worker.clock.now();
        self.worker.start_late(now_ns);
        self.shared.progress.initialized_at(now_ns);
        true
    }

    /// Returns the number of virtual users that exist or are being initialised.
    pub fn existing(&self) -> u64 {
        self.vus.get()
    }

    /// Creates a virtual user. `None` if its init code failed, which ends the run.
    pub async fn new_vu(self: &Rc<Self>) -> Option<Rc<PooledVu>> {
        let number = self.vus.get() + 1;
        self.vus.set(number);
        let vu = self.vu(number).await;
        match vu {
            Ok(vu) => {
                self.shared.progress.initialized.fetch_add(1, Relaxed);
                Some(Rc::new(PooledVu::new(vu, number)))
            }
            Err(text) => {
                self.end_early(RunError::ScriptException(text));
                None
            }
        }
    }

    async fn vu(&self, number: u64) -> Result<Rc<Vu>, String> {
        let id = VuId {
            instance: number,
            test: number,
        };
        let host = Rc::new(SharedHost(Rc::clone(&self.host)));
        let options = self.shared.vu_options();
        let vu = Vu::new(&self.shared.script, host, id, options).await;
        vu.map_err(|error| error.to_string())
    }

    /// Notes why the run ends, and stops it.
    pub fn end_early(&self, reason: RunError) {
        let cause = reason.message();
        self.shared.end_early(reason);
        self.worker.common.stop.stop(Cause::Script(cause));
        self.worker.apply_stop(self.worker.clock.now());
    }

    async fn set_up(&self) -> bool {
        let is_wanted = self.shared.options.no_setup != Some(true);
        if !is_wanted || !self.shared.script.has_function("setup") {
            return !self.worker.arrivals_end.is_aborted();
        }
        let limit = self.shared.options.setup_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_SETUP_TIMEOUT);
        let late = RunError::SetupTimeout(limit);
        let data = match self.vu(0).await {
            Ok(vu) => {
                let patience = Patience {
                    limit,
                    late,
                    until_stop: true,
                };
                self.within(patience, &vu, vu.call_setup()).await
            }
            Err(text) => Err(Some(RunError::ScriptException(text))),
        };
        self.add_traffic("::setup");
        match data {
            Ok(data) => {
                *self.data.borrow_mut() = data.map(Arc::from);
                !self.worker.arrivals_end.is_aborted()
            }
            Err(reason) => {
                if let Some(reason) = reason {
                    self.end_early(reason);
                }
                false
            }
        }
    }

    async fn tear_down(&self) {
        let is_wanted = self.shared.options.no_teardown != Some(true)
            && self.worker.common.stop.urgency() != Urgency::Abort;
        if !is_wanted || !self.shared.script.has_function("teardown") {
            return;
        }
        let limit = self.shared.options.teardown_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_SETUP_TIMEOUT);
        let late = RunError::TeardownTimeout(limit);
        let data = self.setup_data();
        let ended = match self.vu(0).await {
            Ok(vu) => {
                let patience = Patience {
                    limit,
                    late,
                    until_stop: false,
                };
                self.within(patience, &vu, vu.call_teardown(data)).await
            }
            Err(text) => Err(Some(RunError::ScriptException(text))),
        };
        self.add_traffic("::teardown");
        if let Err(Some(reason)) = ended {
            self.shared.end_early(reason);
        }
    }

    /// Returns what `setup` returned, as JSON.
    pub fn setup_data(&self) -> Option<Arc<str>> {
        self.data.borrow().clone()
    }

    /// Calls `handleSummary`. `None` if the script has none, or if it failed.
    pub async fn handle_summary(&self, data: String) -> Option<Vec<script::k6::SummaryOutput>> {
        let is_ended = self.worker.common.stop.urgency() == Urgency::Abort;
        if is_ended || !self.shared.script.has_function("handleSummary") {
            return None;
        }
        let limit = self.shared.options.handle_summary_timeout;
        let limit = limit.unwrap_or(options::DEFAULT_HANDLE_SUMMARY_TIMEOUT);
        let late = "handleSummary() execution timed out".to_owned();
        let outputs = match self.vu(0).await {
            Ok(vu) => {
                let patience = Patience {
                    limit,
                    late: RunError::OtherTimeout(late),
                    until_stop: false,
                };
                let outputs = self.within(patience, &vu, vu.call_handle_summary(data));
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

    /// Waits for a function of the script, and interrupts it after a time. Fails without a reason
    /// if the run was stopped, whose reason is known.
    async fn within<T>(
        &self,
        patience: Patience,
        vu: &Rc<Vu>,
        call: impl Future<Output = Result<T, CallError>>,
    ) -> Result<T, Option<RunError>> {
        let ended = Rc::<Limit>::default();
        let is_late = Rc::new(Cell::new(false));
        let last_ns = self.worker.clock.now();
        let last_ns = last_ns.saturating_add(patience.limit.non_negative());
        let watch = Watch {
            worker: Rc::clone(&self.worker),
            vu: Rc::clone(vu),
            ended: Rc::clone(&ended),
            is_late: Rc::clone(&is_late),
            last_ns,
            until_stop: patience.until_stop,
        };
        spawn_local(watch.run());
        let result = call.await;
        ended.abort();
        match result {
            Ok(value) => Ok(value),
            Err(_) if is_late.get() => Err(Some(patience.late)),
            Err(CallError::Failed(error)) => {
                Err(Some(RunError::ScriptException(error.to_string())))
            }
            Err(CallError::Interrupted) => Err(None),
        }
    }

    /// Adds the bytes of `setup` or `teardown`.
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

    /// Runs all scenarios to their ends.
    async fn execute(self: &Rc<Self>) {
        let base_ns = self.worker.clock.now();
        self.shared.progress.begin(base_ns);
        let scenarios = (0..self.shared.plan.scenarios.len())
            .map(|index| ScenarioRun::new(self, index, base_ns));
        let scenarios: Vec<Rc<ScenarioRun>> = scenarios.collect();
        scenarios.clone_into(&mut self.scenarios.borrow_mut());
        let tasks: Vec<_> = scenarios
            .into_iter()
            .map(|scenario| spawn_local(scenario.execute()))
            .collect();
        let control = spawn_local(Rc::clone(self).control(base_ns));
        for task in tasks {
            if let Err(error) = task.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        control.abort();
        // A run whose iterations are done ends before its longest duration.
        let now_ns = self.worker.clock.now();
        self.shared.progress.end(now_ns);
        self.worker.end_arrivals(now_ns);
        self.scenarios.borrow_mut().clear();
    }

    /// Samples gauges, evaluates thresholds, and stops the scenarios when the run is stopped.
    async fn control(self: Rc<Self>, base_ns: u64) {
        let mut next_ns = base_ns;
        loop {
            let is_over = self
                .worker
                .sleep_until(next_ns, &self.worker.arrivals_end)
                .await
                .is_err();
            if is_over {
                let scenarios = self.scenarios.borrow().clone();
                scenarios.iter().for_each(|scenario| scenario.stop());
                return;
            }
            self.gauges();
            self.host.samples.outputs.borrow_mut().flush();
            let since_base_ns = next_ns - base_ns;
            if since_base_ns > 0 && since_base_ns.is_multiple_of(THRESHOLDS_NS) {
                let elapsed_ns = self.shared.progress.elapsed_ns(next_ns);
                result::evaluate_during_run(&self, elapsed_ns);
            }
            next_ns += GAUGE_NS;
        }
    }

    fn gauges(&self) {
        let progress = &self.shared.progress;
        let values = [
            (metric::VUS, progress.active_vus() as f64),
            (metric::VUS_MAX, progress.initialized.load(Relaxed) as f64),
        ];
        self.host.add(&self.shared.run_tags(), &values);
    }

    /// Runs an iteration, with its samples and its record.
    pub async fn iterate(
        &self,
        scenario: &ScenarioRun,
        vu: &Rc<PooledVu>,
        number: u64,
        intended: Intended,
    ) {
        let worker = &self.worker;
        let start_ns = worker.clock.now();
        let (in_vu, in_vu_scenario) = vu.count(scenario.index);
        let progress = &self.shared.progress;
        worker.recorder.borrow_mut().run.started += 1;
        scenario.progress().started.fetch_add(1, Relaxed);
        scenario.progress().busy.fetch_add(1, Relaxed);
        worker.users.set(progress.active.fetch_add(1, Relaxed) + 1);
        self.host.begin_iteration(vu.id, intended, start_ns);
        let ended = vu
            .vu
            .run(Iteration {
                function: scenario.scenario.exec.clone(),
                info: IterationInfo {
                    scenario: scenario.scenario.name.clone(),
                    in_vu,
                    in_vu_scenario,
                    in_instance: number,
                    in_test: number,
                },
                tags: scenario.scenario.tags.clone(),
                env: scenario.scenario.env.clone(),
                data: self.setup_data(),
            })
            .await;
        let done_ns = worker.clock.now();
        worker.users.set(progress.active.fetch_sub(1, Relaxed) - 1);
        scenario.progress().busy.fetch_sub(1, Relaxed);
        self.count_iteration(scenario, vu.id, &ended, done_ns - start_ns);
        self.record_iteration(scenario, intended, &ended, done_ns);
        worker.run_due(done_ns);
        if ended != Ended::Interrupted {
            self.pause(vu, start_ns).await;
        }
    }

    fn record_iteration(
        &self,
        scenario: &ScenarioRun,
        intended: Intended,
        ended: &Ended,
        done_ns: u64,
    ) {
        let outcome = match ended {
            Ended::Completed => RequestOutcome::Ok,
            Ended::Failed(_) => RequestOutcome::Failed(Failure::Check("exception")),
            Ended::Interrupted => RequestOutcome::Unanswered(Fault::Cancelled),
        };
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.iteration(done_ns, scenario.label, intended, outcome);
    }

    fn count_iteration(&self, scenario: &ScenarioRun, vu: u64, ended: &Ended, took_ns: u64) {
        let progress = &self.shared.progress;
        let traffic = self.host.traffic.borrow_mut().remove(&vu);
        let (sent, received) = traffic.unwrap_or_default();
        let mut values = vec![
            (metric::DATA_SENT, sent as f64),
            (metric::DATA_RECEIVED, received as f64),
        ];
        if *ended == Ended::Interrupted {
            progress.interrupted.fetch_add(1, Relaxed);
        } else {
            progress.completed.fetch_add(1, Relaxed);
            scenario.progress().ended.fetch_add(1, Relaxed);
            let took_ms = took_ns as f64 / MILLISECOND as f64;
            values.push((metric::ITERATION_DURATION, took_ms));
            values.push((metric::ITERATIONS, 1.0));
        }
        self.host.add(&scenario.tags, &values);
        if let Ended::Failed(error) = ended {
            let fields = [
                ("executor", scenario.scenario.executor.kind().name()),
                ("hint", "script exception"),
                ("scenario", scenario.scenario.name.as_str()),
                ("source", "stacktrace"),
            ];
            self.host.log(Level::Error, &error.to_string(), &fields);
        }
    }

    /// Waits until an iteration has lasted as long as it must.
    async fn pause(&self, vu: &PooledVu, start_ns: u64) {
        let Some(least) = self.shared.options.min_iteration_duration else {
            return;
        };
        let at_ns = start_ns.saturating_add(least.non_negative());
        if at_ns > self.worker.clock.now() {
            let limit = Rc::<Limit>::default();
            *vu.pause.borrow_mut() = Rc::clone(&limit);
            let _ = self.worker.sleep_until(at_ns, &limit).await;
        }
    }
}
