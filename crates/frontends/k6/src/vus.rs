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
    /// Number in the order of initialisation, from 1.
    pub id: u64,
    /// Number of iterations that have started.
    pub iterations: Cell<u64>,
    /// Number of iterations that have started, by scenario.
    in_scenario: RefCell<HashMap<usize, u64>>,
    /// Limit that ends a pause between iterations.
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

    /// Counts an iteration. Returns its number in the virtual user, and its number among those of
    /// the scenario.
    pub fn count(&self, scenario: usize) -> (u64, u64) {
        let in_vu = self.iterations.get();
        self.iterations.set(in_vu + 1);
        let mut counts = self.in_scenario.borrow_mut();
        let in_scenario = counts.entry(scenario).or_default();
        *in_scenario += 1;
        (in_vu, *in_scenario - 1)
    }

    /// Interrupts the virtual user's iteration or pause.
    pub fn interrupt(&self) {
        self.vu.interrupt();
        self.pause.borrow().abort();
    }
}

/// Virtual users that are not assigned to a scenario.
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
