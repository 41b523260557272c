//! Virtual users that exist and wait for a scenario.

use std::{
    cell::{Cell, RefCell},
    collections::{HashMap, VecDeque},
    rc::Rc,
};

use script::k6::Vu;
use worker::deadlines::Limit;

/// A virtual user with its counts.
pub struct PooledVu {
    pub vu: Rc<Vu>,
    /// Number from 1, in the order of initialisation.
    pub id: u64,
    /// Iterations that have started.
    pub iterations: Cell<u64>,
    /// Iterations that have started, by scenario.
    in_scenario: RefCell<HashMap<usize, u64>>,
    /// Ends a pause between iterations.
    pub pause: RefCell<Rc<Limit>>,
}

impl PooledVu {
    pub fn new(vu: Rc<Vu>, id: u64) -> PooledVu {
        PooledVu {
            vu,
            id,
            iterations: Cell::default(),
            in_scenario: RefCell::default(),
            pause: RefCell::default(),
        }
    }

    /// Counts an iteration. Returns its number in the virtual user, and among those of the scenario.
    pub fn count(&self, scenario: usize) -> (u64, u64) {
        let in_vu = self.iterations.get();
        self.iterations.set(in_vu + 1);
        let mut counts = self.in_scenario.borrow_mut();
        let in_scenario = counts.entry(scenario).or_default();
        *in_scenario += 1;
        (in_vu, *in_scenario - 1)
    }

    /// Ends what the virtual user does: its iteration, or its pause.
    pub fn interrupt(&self) {
        self.vu.interrupt();
        self.pause.borrow().abort();
    }
}

/// Virtual users that no scenario has.
#[derive(Default)]
pub struct IdleVus(RefCell<VecDeque<Rc<PooledVu>>>);

impl IdleVus {
    /// Takes the virtual user that has waited longest.
    pub fn take(&self) -> Option<Rc<PooledVu>> {
        self.0.borrow_mut().pop_front()
    }

    pub fn put(&self, vu: Rc<PooledVu>) {
        self.0.borrow_mut().push_back(vu);
    }
}
