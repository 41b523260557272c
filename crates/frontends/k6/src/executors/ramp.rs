//! The executor `ramping-vus`.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use k6::scenario::RampingVus;
use tokio::task::spawn_local;
use worker::deadlines::Limit;

use super::ScenarioRun;
use crate::vus::PooledVu;

/// A place of a ramp. Those with the lowest numbers stay.
#[derive(Default)]
struct RampSlot {
    is_active: Cell<bool>,
    /// Whether a task runs the place, or waits for its virtual user.
    has_task: Cell<bool>,
    /// The virtual user whose task runs.
    vu: RefCell<Option<Rc<PooledVu>>>,
    /// Number of times that the place became active. A virtual user is interrupted only if this
    /// has not changed since it was stopped.
    activations: Cell<u64>,
}

/// Frees a place when its task ends, also if it found no virtual user.
struct EndOfSlot(Rc<RampSlot>);

impl Drop for EndOfSlot {
    fn drop(&mut self) {
        self.0.vu.borrow_mut().take();
        self.0.has_task.set(false);
    }
}

impl ScenarioRun {
    pub(super) async fn ramp(self: &Rc<Self>, ramp: &RampingVus) {
        let worker = &self.run.worker;
        let mut slots: Vec<Rc<RampSlot>> = Vec::new();
        for step in ramp.steps() {
            let at_ns = self.start_ns.saturating_add(step.at_ns);
            if worker.clock.now() < at_ns && worker.sleep_until(at_ns, &self.stopped).await.is_err()
            {
                break;
            }
            let vus = self.share.of_first(step.vus);
            let vus = usize::try_from(vus).unwrap_or(usize::MAX);
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
        if slot.has_task.replace(true) {
            return;
        }
        let end = EndOfSlot(Rc::clone(slot));
        self.start_planned(move |scenario, vu| async move {
            let slot = &end.0;
            *slot.vu.borrow_mut() = Some(Rc::clone(&vu));
            while slot.is_active.get() && !scenario.is_over() {
                scenario.iterate_next(&vu).await;
            }
            drop(end);
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
}
