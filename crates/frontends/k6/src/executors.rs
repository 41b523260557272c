//! The six executors. Each scenario is a task of the worker, and so is each of its virtual users.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
    sync::atomic::Ordering::Relaxed,
};

use k6::{
    progress::Status,
    scenario::{Executor, RampingVus, Scenario, arrivals::ArrivalSchedule},
    tags::Tags,
};
use measure::{LabelId, label::LabelGroup, sample::Intended};
use tokio::task::spawn_local;
use worker::deadlines::Limit;

use crate::{lifecycle::WorkerRun, progress::ScenarioProgress, vus::PooledVu};

/// A scenario while it runs.
pub struct ScenarioRun {
    pub run: Rc<WorkerRun>,
    pub index: usize,
    pub scenario: Rc<Scenario>,
    /// Label of the iterations in the record.
    pub label: LabelId,
    /// Tags of samples that are not the script's.
    pub tags: Tags,
    /// Start in nanoseconds from the start of the run.
    pub start_ns: u64,
    /// Iterations that have started.
    pub started: Cell<u64>,
    /// Ends waits of the executor when the run is stopped.
    pub stopped: Rc<Limit>,
    /// Virtual users in an iteration or in a pause after one.
    busy: RefCell<Vec<Rc<PooledVu>>>,
    tasks: Cell<usize>,
    /// Aborted when the last task has ended.
    all_ended: RefCell<Rc<Limit>>,
    /// Virtual users that wait for an arrival.
    idle: RefCell<VecDeque<Rc<PooledVu>>>,
    is_growing: Cell<bool>,
}

impl ScenarioRun {
    pub fn new(run: &Rc<WorkerRun>, index: usize, base_ns: u64) -> Rc<ScenarioRun> {
        let scenario = Rc::new(run.shared.plan.scenarios[index].clone());
        let worker = &run.worker;
        let label = worker.label(LabelGroup::Iteration, "", &scenario.name);
        Rc::new(ScenarioRun {
            run: Rc::clone(run),
            index,
            label,
            tags: run.shared.scenario_tags(&scenario),
            start_ns: base_ns.saturating_add(scenario.start_time_ns),
            scenario,
            started: Cell::default(),
            stopped: Rc::default(),
            busy: RefCell::default(),
            tasks: Cell::default(),
            all_ended: RefCell::default(),
            idle: RefCell::default(),
            is_growing: Cell::default(),
        })
    }

    pub fn progress(&self) -> &ScenarioProgress {
        &self.run.shared.progress.scenarios[self.index]
    }

    /// Returns the regular end, in nanoseconds from the start of the run.
    pub fn end_ns(&self) -> u64 {
        self.start_ns
            .saturating_add(self.scenario.executor.end_ns())
    }

    /// Whether no iteration may start any more.
    fn is_over(&self) -> bool {
        self.stopped.is_aborted() || self.run.worker.clock.now() >= self.end_ns()
    }

    /// Ends the scenario at once.
    pub fn stop(&self) {
        self.stopped.abort();
        self.interrupt_all();
    }

    fn interrupt_all(&self) {
        let busy = self.busy.borrow().clone();
        busy.iter().for_each(|vu| vu.interrupt());
    }

    /// Runs the scenario to its end.
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
        for vu in self.idle.borrow_mut().drain(..) {
            self.give_back(vu);
        }
        let status = match self.stopped.is_aborted() {
            true => Status::Interrupted,
            false => Status::Done,
        };
        self.progress().set_status(status);
    }

    /// Waits for the tasks: until the regular end, then for the graceful stop, and interrupts what
    /// is left.
    async fn finish(&self) {
        if self.all_ended_by(self.end_ns()).await {
            return self.count_dropped();
        }
        self.progress().set_status(Status::Stopping);
        let last_ns = self.end_ns().saturating_add(self.scenario.graceful_stop_ns);
        if !self.all_ended_by(last_ns).await {
            self.interrupt_all();
            self.all_ended_by(u64::MAX).await;
        }
        self.count_dropped();
    }

    /// Waits for all tasks, at most until a time. Returns whether they have ended.
    async fn all_ended_by(&self, at_ns: u64) -> bool {
        if self.tasks.get() == 0 {
            return true;
        }
        let limit = Rc::<Limit>::default();
        *self.all_ended.borrow_mut() = Rc::clone(&limit);
        self.run.worker.sleep_until(at_ns, &limit).await.is_err()
    }

    /// Counts iterations that an executor with a number of iterations has not started.
    fn count_dropped(&self) {
        let planned = match self.scenario.executor {
            Executor::SharedIterations { iterations, .. } => iterations,
            Executor::PerVuIterations {
                vus, iterations, ..
            } => vus.saturating_mul(iterations),
            _ => return,
        };
        let dropped = planned.saturating_sub(self.started.get());
        if dropped > 0 && !self.stopped.is_aborted() {
            self.run.add_dropped(&self.tags, dropped);
            self.run.add_unstarted(dropped);
        }
    }

    /// Takes a virtual user that waits, for the rest of the scenario.
    fn take_vu(&self) -> Option<Rc<PooledVu>> {
        let vu = self.run.idle.take()?;
        self.progress().vus.fetch_add(1, Relaxed);
        Some(vu)
    }

    /// Takes a virtual user that the plan has for this scenario.
    fn take_planned_vu(&self) -> Option<Rc<PooledVu>> {
        let vu = self.take_vu();
        if vu.is_none() {
            let name = &self.scenario.name;
            let text = format!("scenario {name} has fewer VUs than planned, because none was idle");
            self.run.host.warn(&text);
        }
        vu
    }

    fn give_back(&self, vu: Rc<PooledVu>) {
        self.progress().vus.fetch_sub(1, Relaxed);
        self.run.idle.put(vu);
    }

    fn start_task(self: &Rc<Self>, task: impl Future<Output = ()> + 'static) {
        self.tasks.set(self.tasks.get() + 1);
        let scenario = Rc::clone(self);
        spawn_local(async move {
            task.await;
            scenario.tasks.set(scenario.tasks.get() - 1);
            if scenario.tasks.get() == 0 {
                scenario.all_ended.borrow().abort();
            }
        });
    }

    /// Runs an iteration, and then the pause of `minIterationDuration`. Iterations of a schedule
    /// have an intended start.
    async fn iterate(&self, vu: &Rc<PooledVu>, intended_ns: Option<u64>) {
        let now_ns = self.run.worker.clock.now();
        let number = self.started.get();
        self.started.set(number + 1);
        let intended = match intended_ns {
            Some(ns) => Intended::scheduled(ns),
            None => Intended::after_previous(now_ns, 0),
        };
        self.busy.borrow_mut().push(Rc::clone(vu));
        self.run.iterate(self, vu, number, intended).await;
        self.forget_busy(vu);
        // A virtual user without waits must not keep others from running.
        tokio::task::consume_budget().await;
    }

    fn forget_busy(&self, vu: &Rc<PooledVu>) {
        let mut busy = self.busy.borrow_mut();
        if let Some(place) = busy.iter().position(|other| Rc::ptr_eq(other, vu)) {
            busy.swap_remove(place);
        }
    }

    /// Starts virtual users that share a number of iterations.
    fn loop_vus(self: &Rc<Self>, vus: u64, iterations: u64) {
        for _ in 0..vus {
            let Some(vu) = self.take_planned_vu() else {
                break;
            };
            let scenario = Rc::clone(self);
            self.start_task(async move {
                while !scenario.is_over() && scenario.started.get() < iterations {
                    scenario.iterate(&vu, None).await;
                }
                scenario.give_back(vu);
            });
        }
    }

    /// Starts virtual users with a number of iterations each.
    fn repeat_vus(self: &Rc<Self>, vus: u64, iterations: u64) {
        for _ in 0..vus {
            let Some(vu) = self.take_planned_vu() else {
                break;
            };
            let scenario = Rc::clone(self);
            self.start_task(async move {
                for _ in 0..iterations {
                    if scenario.is_over() {
                        break;
                    }
                    scenario.iterate(&vu, None).await;
                }
                scenario.give_back(vu);
            });
        }
    }

    async fn ramp(self: &Rc<Self>, ramp: &RampingVus) {
        let worker = &self.run.worker;
        let mut slots: Vec<Rc<RampSlot>> = Vec::new();
        for step in ramp.steps() {
            let at_ns = self.start_ns.saturating_add(step.at_ns);
            if worker.clock.now() < at_ns && worker.sleep_until(at_ns, &self.stopped).await.is_err()
            {
                break;
            }
            let vus = usize::try_from(step.vus).unwrap_or(usize::MAX);
            while slots.len() < vus {
                slots.push(Rc::default());
            }
            for slot in slots.iter().take(vus) {
                self.activate(slot);
            }
            let last_ns = self.end_ns().saturating_add(self.scenario.graceful_stop_ns);
            let interrupt_ns = at_ns.saturating_add(ramp.graceful_ramp_down_ns);
            for slot in slots.iter().skip(vus).filter(|slot| slot.is_active.get()) {
                self.deactivate(slot, interrupt_ns.min(last_ns));
            }
        }
        let end_ns = self.end_ns();
        if !self.stopped.is_aborted() && worker.clock.now() < end_ns {
            let _ = worker.sleep_until(end_ns, &self.stopped).await;
        }
    }

    fn activate(self: &Rc<Self>, slot: &Rc<RampSlot>) {
        if !slot.is_active.replace(true) {
            slot.activations.set(slot.activations.get() + 1);
        }
        if slot.vu.borrow().is_some() {
            return;
        }
        let Some(vu) = self.take_planned_vu() else {
            return;
        };
        *slot.vu.borrow_mut() = Some(Rc::clone(&vu));
        let (scenario, slot) = (Rc::clone(self), Rc::clone(slot));
        self.start_task(async move {
            while slot.is_active.get() && !scenario.is_over() {
                scenario.iterate(&vu, None).await;
            }
            slot.vu.borrow_mut().take();
            scenario.give_back(vu);
        });
    }

    /// Lets a virtual user finish its iteration, and interrupts it later.
    fn deactivate(self: &Rc<Self>, slot: &Rc<RampSlot>, last_ns: u64) {
        slot.is_active.set(false);
        let (scenario, slot) = (Rc::clone(self), Rc::clone(slot));
        let before = slot.activations.get();
        spawn_local(async move {
            let limit = Limit::default();
            let worker = &scenario.run.worker;
            let _ = worker.sleep_until(last_ns, &limit).await;
            let is_same = slot.activations.get() == before && !slot.is_active.get();
            if let Some(vu) = slot.vu.borrow().as_ref().filter(|_| is_same) {
                vu.interrupt();
            }
        });
    }

    async fn arrive(self: &Rc<Self>, schedule: &ArrivalSchedule, vus: u64, max_vus: u64) {
        let worker = Rc::clone(&self.run.worker);
        for _ in 0..vus {
            let Some(vu) = self.take_planned_vu() else {
                break;
            };
            self.idle.borrow_mut().push_back(vu);
        }
        let mut has_warned = false;
        for offset_ns in schedule.iter() {
            let intended_ns = self.start_ns.saturating_add(offset_ns);
            if worker.clock.now() < intended_ns {
                let slept = worker.sleep_until(intended_ns, &self.stopped).await;
                if slept.is_err() {
                    break;
                }
            } else if self.stopped.is_aborted() {
                break;
            }
            let now_ns = worker.clock.now();
            worker.sample_levels(now_ns);
            worker.recorder.borrow_mut().advance(now_ns);
            let vu = self.idle.borrow_mut().pop_front();
            match vu {
                Some(vu) => self.start_arrival(vu, intended_ns),
                None => {
                    worker.recorder.borrow_mut().run.skipped += 1;
                    self.run.add_dropped(&self.tags, 1);
                    let existing = self.progress().vus.load(Relaxed);
                    if existing < max_vus {
                        self.grow();
                    } else if !has_warned {
                        has_warned = true;
                        self.run.host.warn(&format!(
                            "Insufficient VUs, reached {existing} active VUs and cannot \
                             initialize more"
                        ));
                    }
                }
            }
            tokio::task::consume_budget().await;
        }
        let end_ns = self.end_ns();
        if !self.stopped.is_aborted() && worker.clock.now() < end_ns {
            let _ = worker.sleep_until(end_ns, &self.stopped).await;
        }
    }

    fn start_arrival(self: &Rc<Self>, vu: Rc<PooledVu>, intended_ns: u64) {
        let scenario = Rc::clone(self);
        self.start_task(async move {
            if !scenario.stopped.is_aborted() {
                scenario.iterate(&vu, Some(intended_ns)).await;
            }
            scenario.idle.borrow_mut().push_back(vu);
        });
    }

    /// Initialises one more virtual user, while iterations go on.
    fn grow(self: &Rc<Self>) {
        // Idle virtual users may be those of scenarios that start later.
        if self.run.existing() >= self.run.shared.plan.max_vus() {
            if let Some(vu) = self.take_vu() {
                self.idle.borrow_mut().push_back(vu);
            }
            return;
        }
        if self.is_growing.replace(true) {
            return;
        }
        let scenario = Rc::clone(self);
        spawn_local(async move {
            if let Some(vu) = scenario.run.new_vu().await {
                if scenario.is_over() {
                    scenario.run.idle.put(vu);
                } else {
                    scenario.progress().vus.fetch_add(1, Relaxed);
                    scenario.idle.borrow_mut().push_back(vu);
                }
            }
            scenario.is_growing.set(false);
        });
    }
}

/// A place of a ramp. Those with the lowest numbers stay.
#[derive(Default)]
struct RampSlot {
    is_active: Cell<bool>,
    /// The virtual user whose task runs.
    vu: RefCell<Option<Rc<PooledVu>>>,
    /// Number of times that the place became active. A virtual user is interrupted only if this
    /// has not changed since it was stopped.
    activations: Cell<u64>,
}
