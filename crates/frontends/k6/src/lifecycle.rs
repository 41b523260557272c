//! The course of a run on its worker: virtual users, the executors, and the functions before and
//! after them.

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use engine::{driver::Driver, run::DriverMaker};
use k6::{exit::RunError, log::Level, metric, tags::Tags, threshold::evaluate::ThresholdSet};
use measure::{
    Fault,
    outcome::Failure,
    sample::{Intended, RequestOutcome},
};
use plan::{
    Share,
    units::{MILLISECOND, SECOND},
};
use script::k6::{Ended, Iteration, IterationInfo, Vu, VuId};
use tokio::task::spawn_local;
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
    deadlines::Limit,
    stop::Cause,
};

use crate::{
    addresses::Addresses,
    executors::ScenarioRun,
    host::{RunHost, SharedHost},
    result,
    shared::Shared,
    team::Start,
    vus::{IdleVus, PooledVu},
};

/// Interval at which gauges of virtual users are sampled.
const GAUGE_NS: u64 = SECOND;
/// Interval at which thresholds are evaluated.
const THRESHOLDS_NS: u64 = 2 * SECOND;

/// Returns the maker of the drivers, one for each worker.
pub fn driver(shared: &Arc<Shared>) -> DriverMaker {
    let shared = Arc::clone(shared);
    Arc::new(move |context| {
        Box::new(K6Driver {
            shared: Arc::clone(&shared),
            client: context.client,
            share: context.share,
        })
    })
}

struct K6Driver {
    shared: Arc<Shared>,
    client: HttpClientConfig,
    share: Share,
}

impl Driver for K6Driver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let mut client = Client::new(&worker, self.client);
            let addresses = Addresses::new(&self.shared, &worker);
            if let Some(addresses) = &addresses {
                client.set_address_rules(Rc::<Addresses>::clone(addresses));
            }
            let host = Rc::new(RunHost::new(&worker, client, &self.shared, addresses));
            let (shared, share) = (&self.shared, self.share);
            let part = |index, vus| shared.scenario_share(share, index).of_first(vus);
            let run = Rc::new(WorkerRun {
                worker,
                host,
                share,
                planned_vus: shared.plan.planned_vus_in(&part),
                max_vus: shared.plan.max_vus_in(&part),
                idle: IdleVus::default(),
                thresholds: RefCell::new(self.shared.thresholds.clone()),
                scenarios: RefCell::default(),
                vus: Cell::default(),
                shared: self.shared,
            });
            match run.is_leader() {
                true => run.lead().await,
                false => run.follow().await,
            }
        })
    }
}

/// A run on a worker.
pub struct WorkerRun {
    pub worker: Rc<Worker>,
    pub shared: Arc<Shared>,
    pub host: Rc<RunHost>,
    /// The worker's part of virtual users and arrivals.
    share: Share,
    /// Virtual users that this worker creates before the load.
    planned_vus: u64,
    /// Virtual users that this worker may create.
    max_vus: u64,
    pub idle: IdleVus,
    pub thresholds: RefCell<ThresholdSet>,
    scenarios: RefCell<Vec<Rc<ScenarioRun>>>,
    /// Virtual users of this worker.
    vus: Cell<u64>,
}

impl WorkerRun {
    /// Whether this worker calls the functions that run once.
    pub fn is_leader(&self) -> bool {
        self.worker.index == 0
    }

    /// Runs the test on the first worker.
    async fn lead(self: &Rc<Self>) {
        let team = &self.shared.team;
        let _member = team.join(&self.worker);
        let is_initialized = self.initialize().await && team.all_initialized(&self.worker).await;
        let start = match is_initialized {
            true => self.prepare_load().await,
            false => None,
        };
        team.start(start.clone());
        let has_started = start.is_some();
        if let Some(start) = start {
            // Thresholds and gauges concern all workers.
            let control = spawn_local(Rc::clone(self).control(start.base_ns));
            self.execute(start.base_ns).await;
            team.others_ended(&self.worker).await;
            control.abort();
        }
        if has_started {
            let now_ns = self.worker.clock.now();
            self.worker.end_arrivals(now_ns);
            self.shared.progress.end(now_ns);
            team.forget_reserved_requests(now_ns);
            self.note_unstarted();
            self.tear_down().await;
        }
        result::conclude(self, is_initialized).await;
    }

    /// Runs a further worker's part of the test.
    async fn follow(self: &Rc<Self>) {
        let team = &self.shared.team;
        let _member = team.join(&self.worker);
        if self.initialize().await
            && let Some(start) = team.started(&self.worker).await
        {
            let control = spawn_local(Rc::clone(self).control(start.base_ns));
            self.execute(start.base_ns).await;
            control.abort();
            self.worker.end_arrivals(self.worker.clock.now());
        }
        self.host.samples.flush();
        self.host.samples.hand_in();
    }

    /// Creates the virtual users that are planned. Returns whether they exist.
    async fn initialize(self: &Rc<Self>) -> bool {
        for _ in 0..self.planned_vus {
            if self.worker.arrivals_end.is_aborted() {
                return false;
            }
            let Some(vu) = self.new_vu().await else {
                return false;
            };
            self.idle.put(vu);
            // Let other tasks run too, for example the task that updates the worker's heartbeat.
            tokio::task::yield_now().await;
        }
        self.worker.start_late(self.worker.clock.now());
        self.shared.team.note_initialized();
        true
    }

    /// Calls `setup`. Returns when the load starts, which is now. `None` if it does not start.
    async fn prepare_load(&self) -> Option<Start> {
        let progress = &self.shared.progress;
        progress.initialized_at(self.worker.clock.now());
        let data = self.set_up().await.ok()?;
        let base_ns = self.worker.clock.now();
        progress.begin(base_ns);
        Some(Start { base_ns, data })
    }

    /// Returns the part of a scenario's virtual users and arrivals that this worker runs.
    pub fn scenario_share(&self, scenario: usize) -> Share {
        self.shared.scenario_share(self.share, scenario)
    }

    /// Whether this worker may not create more virtual users.
    pub fn is_full(&self) -> bool {
        self.vus.get() >= self.max_vus
    }

    /// Creates a virtual user. Returns `None` if its init code failed, which ends the run.
    pub async fn new_vu(self: &Rc<Self>) -> Option<Rc<PooledVu>> {
        self.vus.set(self.vus.get() + 1);
        let number = self.shared.team.next_vu();
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

    /// Creates a virtual user. Number 0 runs `setup`, `teardown` and `handleSummary`.
    pub async fn vu(&self, number: u64) -> Result<Rc<Vu>, String> {
        let id = VuId {
            instance: number,
            test: number,
        };
        let host = Rc::new(SharedHost(Rc::clone(&self.host)));
        let options = self.shared.vu_options();
        let vu = Vu::new(&self.shared.script, host, id, options).await;
        vu.map_err(|error| error.to_string())
    }

    /// Stops the run early, and stores the reason.
    pub fn end_early(&self, reason: RunError) {
        let cause = reason.message();
        self.shared.end_early(reason);
        self.worker.common.stop.stop(Cause::Script(cause));
        self.worker.apply_stop(self.worker.clock.now());
    }

    /// Runs the worker's part of all scenarios to their ends.
    async fn execute(self: &Rc<Self>, base_ns: u64) {
        let scenarios = (0..self.shared.plan.scenarios.len())
            .map(|index| ScenarioRun::new(self, index, base_ns));
        let scenarios: Vec<Rc<ScenarioRun>> = scenarios.collect();
        scenarios.clone_into(&mut self.scenarios.borrow_mut());
        let tasks: Vec<_> = scenarios
            .into_iter()
            .map(|scenario| spawn_local(scenario.execute()))
            .collect();
        for task in tasks {
            if let Err(error) = task.await
                && error.is_panic()
            {
                std::panic::resume_unwind(error.into_panic());
            }
        }
        self.scenarios.borrow_mut().clear();
    }

    /// Counts iterations that could not start.
    pub fn add_dropped(&self, tags: &Tags, dropped: u64) {
        let values = [(metric::DROPPED_ITERATIONS, dropped as f64)];
        self.host.add(tags, &values);
    }

    /// Says in the report how many iterations of closed loops could not start. The ledger has no
    /// place for them.
    fn note_unstarted(&self) {
        let unstarted = self.shared.team.unstarted();
        if unstarted > 0 {
            self.worker.remark(format!(
                "{unstarted} iterations could not start, so the load was lower than planned: see \
                 `dropped_iterations` in the summary"
            ));
        }
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
            if self.is_leader() {
                self.gauges();
            }
            self.host.samples.flush();
            if self.shared.thresholds.may_abort() {
                self.host.samples.hand_in();
            }
            let since_base_ns = next_ns - base_ns;
            let is_time = since_base_ns > 0 && since_base_ns.is_multiple_of(THRESHOLDS_NS);
            if is_time && self.is_leader() {
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
        let is_in_ledger = intended.is_paced() || !self.shared.has_arrivals();
        worker.recorder.borrow_mut().run.started += u64::from(is_in_ledger);
        scenario.progress().busy.fetch_add(1, Relaxed);
        worker.users.set(worker.users.get() + 1);
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
                data: self.shared.team.setup_data(),
            })
            .await;
        let done_ns = worker.clock.now();
        worker.users.set(worker.users.get() - 1);
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

    /// Waits until an iteration has lasted for the minimum duration.
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
