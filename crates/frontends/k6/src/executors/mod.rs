//! The six executors. Each scenario is a task of each worker, and so is each of its virtual users.
//!
//! Virtual users, places of a ramp and arrivals of a scenario are numbered. A worker runs those of
//! its share.

mod arrivals;
mod ramp;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
};

use k6::{
    progress::Status,
    scenario::{Executor, Scenario},
    tags::Tags,
};
use measure::{LabelId, label::LabelGroup, sample::Intended};
use plan::{
    Share,
    units::{MILLISECOND, SECOND},
};
use tokio::task::spawn_local;
use worker::deadlines::Limit;

use self::arrivals::IdleUsers;
use crate::{lifecycle::WorkerRun, progress::ScenarioProgress, team::ScenarioTeam, vus::PooledVu};

/// How long a scenario waits for virtual users that another scenario returns.
const LONGEST_WAIT_NS: u64 = 2 * SECOND;

/// A worker's part of a scenario while it runs.
pub struct ScenarioRun {
    pub run: Rc<WorkerRun>,
    pub index: usize,
    pub scenario: Rc<Scenario>,
    /// Label of the iterations in the record.
    pub label: LabelId,
    /// Tags of samples that do not come from the script.
    pub tags: Tags,
    /// Start in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// The virtual users and arrivals that this worker runs.
    share: Share,
    /// Ends waits of the executor when the run is stopped.
    pub stopped: Rc<Limit>,
    /// Virtual users that run an iteration, or pause after one.
    busy: RefCell<Vec<Rc<PooledVu>>>,
    tasks: Cell<usize>,
    /// Limit that is aborted when the last task has ended.
    all_ended: RefCell<Rc<Limit>>,
    /// Virtual users of this worker.
    own_vus: Cell<u64>,
    /// Virtual users that wait for an arrival.
    idle: IdleUsers,
    is_growing: Cell<bool>,
    /// Whether the scenario has warned that it has too few virtual users.
    is_short: Cell<bool>,
}

impl ScenarioRun {
    pub fn new(run: &Rc<WorkerRun>, index: usize, base_ns: u64) -> Rc<ScenarioRun> {
        let scenario = Rc::new(run.shared.plan.scenarios[index].clone());
        let worker = &run.worker;
        let label = worker.label(LabelGroup::Iteration, "", &scenario.name);
        Rc::new(ScenarioRun {
            run: Rc::clone(run),
            index,
            share: run.scenario_share(index),
            label,
            tags: run.shared.scenario_tags(&scenario),
            start_ns: base_ns.saturating_add(scenario.start_time_ns),
            scenario,
            stopped: Rc::default(),
            busy: RefCell::default(),
            tasks: Cell::default(),
            own_vus: Cell::default(),
            all_ended: RefCell::default(),
            idle: IdleUsers::new(&run.shared.team.scenarios[index].exchange),
            is_growing: Cell::default(),
            is_short: Cell::default(),
        })
    }

    pub fn progress(&self) -> &ScenarioProgress {
        &self.run.shared.progress.scenarios[self.index]
    }

    fn team(&self) -> &ScenarioTeam {
        &self.run.shared.team.scenarios[self.index]
    }

    /// Returns the regular end, in nanoseconds from the start of the run.
    pub fn end_ns(&self) -> u64 {
        self.start_ns
            .saturating_add(self.scenario.executor.end_ns())
    }

    /// Returns whether no more iterations may start.
    fn is_over(&self) -> bool {
        self.stopped.is_aborted() || self.run.worker.clock.now() >= self.end_ns()
    }

    /// Ends the scenario immediately.
    pub fn stop(&self) {
        self.stopped.abort();
        self.interrupt_all();
    }

    fn interrupt_all(&self) {
        let busy = self.busy.borrow().clone();
        busy.iter().for_each(|vu| vu.interrupt());
    }

    /// Runs the scenario until it ends.
    pub async fn execute(self: Rc<Self>) {
        let worker = Rc::clone(&self.run.worker);
        let is_stopped = worker
            .sleep_until(self.start_ns, &self.stopped)
            .await
            .is_err();
        if !is_stopped {
            self.progress().set_status(Status::Running);
            match &self.scenario.executor {
                Executor::ConstantVus { vus, .. } => self.loop_vus(*vus, u64::MAX),
                Executor::SharedIterations {
                    vus, iterations, ..
                } => self.loop_vus((*vus).min(*iterations), *iterations),
                Executor::PerVuIterations {
                    vus, iterations, ..
                } => self.repeat_vus(*vus, *iterations),
                Executor::RampingVus(ramp) => self.ramp(ramp).await,
                Executor::ConstantArrivalRate(rate) => {
                    self.arrive(&rate.schedule(), rate.pre_allocated_vus, rate.max_vus)
                        .await;
                }
                Executor::RampingArrivalRate(rate) => {
                    self.arrive(&rate.schedule(), rate.pre_allocated_vus, rate.max_vus)
                        .await;
                }
            }
            self.finish().await;
        }
        while let Some(vu) = self.idle.remove() {
            self.give_back(vu);
        }
        if self.team().is_last_to_end(self.run.worker.workers) {
            let status = match self.stopped.is_aborted() {
                true => Status::Interrupted,
                false => Status::Done,
            };
            self.progress().set_status(status);
            self.count_dropped();
        }
    }

    /// Waits for the tasks until the regular end and for the graceful stop, and then interrupts the
    /// remaining ones.
    async fn finish(&self) {
        if self.all_ended_by(self.end_ns()).await {
            return;
        }
        self.progress().set_status(Status::Stopping);
        let last_ns = self.end_ns().saturating_add(self.scenario.graceful_stop_ns);
        if !self.all_ended_by(last_ns).await {
            self.interrupt_all();
            self.all_ended_by(u64::MAX).await;
        }
    }

    /// Waits for all tasks, but at most until `at_ns`. Returns whether they have ended.
    async fn all_ended_by(&self, at_ns: u64) -> bool {
        if self.tasks.get() == 0 {
            return true;
        }
        let limit = Rc::<Limit>::default();
        *self.all_ended.borrow_mut() = Rc::clone(&limit);
        self.run.worker.sleep_until(at_ns, &limit).await.is_err()
    }

    /// Counts the iterations that an executor with a fixed number of iterations has not started.
    fn count_dropped(&self) {
        let planned = match self.scenario.executor {
            Executor::SharedIterations { iterations, .. } => iterations,
            Executor::PerVuIterations {
                vus, iterations, ..
            } => vus.saturating_mul(iterations),
            _ => return,
        };
        let dropped = planned.saturating_sub(self.progress().started.load(Relaxed));
        if dropped > 0 && !self.stopped.is_aborted() {
            self.run.add_dropped(&self.tags, dropped);
            self.run.shared.team.add_unstarted(dropped);
        }
    }

    /// Takes an idle virtual user for the rest of the scenario.
    fn take_vu(&self) -> Option<Rc<PooledVu>> {
        let vu = self.run.idle.take()?;
        self.own_vus.set(self.own_vus.get() + 1);
        self.progress().vus.fetch_add(1, Relaxed);
        Some(vu)
    }

    /// Waits for a virtual user that the plan provides for this scenario. If another scenario ends
    /// when this one starts, it returns its virtual users a moment later.
    async fn planned_vu(&self) -> Option<Rc<PooledVu>> {
        let worker = &self.run.worker;
        let last_ns = worker.clock.now().saturating_add(LONGEST_WAIT_NS);
        loop {
            if let Some(vu) = self.take_vu() {
                return Some(vu);
            }
            let now_ns = worker.clock.now();
            if self.is_over() {
                return None;
            }
            if now_ns >= last_ns {
                if !self.is_short.replace(true) {
                    let name = &self.scenario.name;
                    self.run.host.warn(&format!(
                        "scenario {name} has fewer VUs than planned, because none was idle"
                    ));
                }
                return None;
            }
            let limit = Limit::default();
            let _ = worker.sleep_until(now_ns + MILLISECOND, &limit).await;
        }
    }

    /// Starts a task with a virtual user that the plan provides.
    fn start_planned<T: Future<Output = ()> + 'static>(
        self: &Rc<Self>,
        task: impl FnOnce(Rc<ScenarioRun>, Rc<PooledVu>) -> T + 'static,
    ) {
        let idle = self.take_vu();
        let scenario = Rc::clone(self);
        self.start_task(async move {
            let vu = match idle {
                Some(vu) => Some(vu),
                None => scenario.planned_vu().await,
            };
            if let Some(vu) = vu {
                task(scenario, vu).await;
            }
        });
    }

    fn give_back(&self, vu: Rc<PooledVu>) {
        self.own_vus.set(self.own_vus.get() - 1);
        self.progress().vus.fetch_sub(1, Relaxed);
        self.run.idle.put(vu);
    }

    fn start_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.tasks.set(self.tasks.get() + 1);
        let scenario = Rc::clone(self);
        spawn_local(async move {
            let _end = EndOfTask(scenario);
            task.await;
        });
    }

    /// Returns the number of an iteration that starts now, among those of all workers. `None` if as
    /// many have started as the scenario may have.
    fn next_iteration(&self, most: u64) -> Option<u64> {
        let more = |started: u64| (started < most).then_some(started + 1);
        let started = &self.progress().started;
        started.fetch_update(Relaxed, Relaxed, more).ok()
    }

    /// Runs an iteration, and then the pause of `minIterationDuration`. Iterations of a schedule
    /// have an intended start.
    async fn iterate(&self, vu: &Rc<PooledVu>, number: u64, intended_ns: Option<u64>) {
        let now_ns = self.run.worker.clock.now();
        let intended = match intended_ns {
            Some(ns) => Intended::scheduled(ns),
            None => Intended::after_previous(now_ns, 0),
        };
        self.busy.borrow_mut().push(Rc::clone(vu));
        self.run.iterate(self, vu, number, intended).await;
        self.forget_busy(vu);
        // A virtual user that never waits must not prevent others from running.
        tokio::task::consume_budget().await;
    }

    /// Runs an iteration of a closed loop.
    async fn iterate_next(&self, vu: &Rc<PooledVu>) {
        if let Some(number) = self.next_iteration(u64::MAX) {
            self.iterate(vu, number, None).await;
        }
    }

    fn forget_busy(&self, vu: &Rc<PooledVu>) {
        let mut busy = self.busy.borrow_mut();
        if let Some(place) = busy.iter().position(|other| Rc::ptr_eq(other, vu)) {
            busy.swap_remove(place);
        }
    }

    /// Starts virtual users that share a number of iterations.
    fn loop_vus(self: &Rc<Self>, vus: u64, iterations: u64) {
        for _ in 0..self.share.of_first(vus) {
            self.start_planned(move |scenario, vu| async move {
                while !scenario.is_over()
                    && let Some(number) = scenario.next_iteration(iterations)
                {
                    scenario.iterate(&vu, number, None).await;
                }
                scenario.give_back(vu);
            });
        }
    }

    /// Starts virtual users that each run a number of iterations.
    fn repeat_vus(self: &Rc<Self>, vus: u64, iterations: u64) {
        for _ in 0..self.share.of_first(vus) {
            self.start_planned(move |scenario, vu| async move {
                for _ in 0..iterations {
                    if scenario.is_over() {
                        break;
                    }
                    scenario.iterate_next(&vu).await;
                }
                scenario.give_back(vu);
            });
        }
    }
}

/// Counts a task as ended when it is dropped, also after a panic, so that its scenario ends.
struct EndOfTask(Rc<ScenarioRun>);

impl Drop for EndOfTask {
    fn drop(&mut self) {
        let scenario = &self.0;
        if std::thread::panicking() {
            scenario
                .run
                .worker
                .common
                .stop
                .fail("a virtual user crashed");
        }
        scenario.tasks.set(scenario.tasks.get() - 1);
        if scenario.tasks.get() == 0 {
            scenario.all_ended.borrow().abort();
        }
    }
}
