//! The executors `constant-arrival-rate` and `ramping-arrival-rate`.

use std::{
    cell::RefCell,
    collections::VecDeque,
    future::poll_fn,
    rc::Rc,
    sync::{Arc, atomic::Ordering::Relaxed},
};

use k6::scenario::arrivals::ArrivalSchedule;
use tokio::task::spawn_local;

use super::ScenarioRun;
use crate::{
    exchange::{ArrivalExchange, HandedArrivals, IdleCount},
    vus::PooledVu,
};

/// A worker's virtual users that wait for an arrival.
pub struct IdleUsers {
    waiting: RefCell<VecDeque<Rc<PooledVu>>>,
    count: Arc<IdleCount>,
    handed: RefCell<HandedArrivals>,
}

impl IdleUsers {
    pub fn new(exchange: &ArrivalExchange) -> IdleUsers {
        let (count, handed) = exchange.join();
        IdleUsers {
            waiting: RefCell::default(),
            count,
            handed: RefCell::new(handed),
        }
    }

    fn put(&self, vu: Rc<PooledVu>) {
        self.waiting.borrow_mut().push_back(vu);
        self.count.add();
    }

    /// Takes a virtual user for an arrival of this worker.
    fn take(&self) -> Option<Rc<PooledVu>> {
        // Another worker may have sent an arrival for the ones that wait.
        match self.count.take() {
            true => self.remove(),
            false => None,
        }
    }

    /// Removes the virtual user that has waited longest, which was taken before.
    pub fn remove(&self) -> Option<Rc<PooledVu>> {
        self.waiting.borrow_mut().pop_front()
    }

    /// Waits for the intended start of an arrival from another worker.
    async fn next_handed(&self) -> Option<u64> {
        poll_fn(|cx| self.handed.borrow_mut().poll_recv(cx)).await
    }
}

impl ScenarioRun {
    pub(super) async fn arrive(
        self: &Rc<Self>,
        schedule: &ArrivalSchedule,
        vus: u64,
        max_vus: u64,
    ) {
        let worker = Rc::clone(&self.run.worker);
        for _ in 0..self.share.of_first(vus) {
            match self.take_vu() {
                Some(vu) => self.idle.put(vu),
                None => self.start_planned(|scenario, vu| async move { scenario.idle.put(vu) }),
            }
        }
        let handed = spawn_local(Rc::clone(self).receive_handed());
        for offset_ns in schedule.part(self.share.index, self.share.of) {
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
            match self.idle.take() {
                Some(vu) => self.start_arrival(vu, intended_ns),
                None if self.team().exchange.hand_over(intended_ns) => {}
                None => self.drop_arrival(max_vus),
            }
            tokio::task::consume_budget().await;
        }
        let end_ns = self.end_ns();
        if !self.stopped.is_aborted() && worker.clock.now() < end_ns {
            let _ = worker.sleep_until(end_ns, &self.stopped).await;
        }
        self.team().exchange.leave(&self.idle.count);
        handed.abort();
        let mut left = self.idle.handed.borrow_mut();
        while let Ok(intended_ns) = left.try_recv() {
            self.start_handed(intended_ns);
        }
    }

    /// Starts the iterations of arrivals from other workers.
    async fn receive_handed(self: Rc<Self>) {
        while let Some(intended_ns) = self.idle.next_handed().await {
            self.start_handed(intended_ns);
        }
    }

    fn start_handed(self: &Rc<Self>, intended_ns: u64) {
        let worker = &self.run.worker;
        let now_ns = worker.clock.now();
        worker.sample_levels(now_ns);
        worker.recorder.borrow_mut().advance(now_ns);
        if let Some(vu) = self.idle.remove() {
            self.start_arrival(vu, intended_ns);
        }
    }

    fn start_arrival(self: &Rc<Self>, vu: Rc<PooledVu>, intended_ns: u64) {
        let scenario = Rc::clone(self);
        self.start_task(async move {
            if !scenario.stopped.is_aborted()
                && let Some(number) = scenario.next_iteration(u64::MAX)
            {
                scenario.iterate(&vu, number, Some(intended_ns)).await;
            }
            scenario.idle.put(vu);
        });
    }

    /// Counts an arrival that no virtual user can run, and creates one more if possible.
    fn drop_arrival(self: &Rc<Self>, max_vus: u64) {
        self.run.worker.recorder.borrow_mut().run.skipped += 1;
        self.run.add_dropped(&self.tags, 1);
        let existing = self.progress().vus.load(Relaxed);
        if self.own_vus.get() < self.share.of_first(max_vus) {
            self.grow();
        } else if existing >= max_vus && self.team().is_first_warning() {
            self.run.host.warn(&format!(
                "Insufficient VUs, reached {existing} active VUs and cannot initialize more"
            ));
        }
    }

    /// Initialises one more virtual user, while iterations go on.
    fn grow(self: &Rc<Self>) {
        if self.is_growing.get() {
            return;
        }
        // Idle virtual users may be those of scenarios that start later.
        if self.run.is_full() {
            if let Some(vu) = self.take_vu() {
                self.idle.put(vu);
            }
            return;
        }
        self.is_growing.set(true);
        let scenario = Rc::clone(self);
        spawn_local(async move {
            if let Some(vu) = scenario.run.new_vu().await {
                scenario.run.idle.put(vu);
                if !scenario.is_over()
                    && let Some(vu) = scenario.take_vu()
                {
                    scenario.idle.put(vu);
                }
            }
            scenario.is_growing.set(false);
        });
    }
}
