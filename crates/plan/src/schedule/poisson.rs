//! Poisson arrivals. Time is divided into slots of 100 ms, and each slot has its own random
//! numbers, keyed by (seed, phase, slot).
//!
//! A Poisson process is memoryless, so the slots can be drawn independently. The planned number of
//! arrivals is the exact number for this seed.

use crate::{
    Phase, Shape,
    rng::{Purpose, Rng},
    units::{MILLISECOND, SECOND},
};

const SLOT_NS: u64 = 100 * MILLISECOND;

#[derive(Debug, Clone)]
pub(super) struct PoissonPhase {
    seed: u64,
    phase: u32,
    start_ns: u64,
    duration_ns: u64,
    /// Events per nanosecond in each second of the phase. A constant rate has a single entry.
    rates: Vec<f64>,
    /// Number of arrivals before each slot, and finally the total number.
    before: Vec<u64>,
    /// Cache of the last drawn slot. Drawing a slot again for each of its arrivals would take
    /// quadratic time.
    drawn: std::cell::RefCell<(usize, Vec<u64>)>,
}

impl PoissonPhase {
    pub fn new(start_ns: u64, phase: &Phase, index: u32, seed: u64) -> PoissonPhase {
        let rates = match phase.shape {
            Shape::Rate(rate) => vec![rate.count as f64 / rate.per_ns as f64],
            Shape::Staircase { from, to } => super::staircase(from, to, phase.duration_ns)
                .map(super::segment::per_second)
                .collect(),
            Shape::Count(_) | Shape::Pause => vec![0.0],
        };
        let mut poisson = PoissonPhase {
            seed,
            phase: index,
            start_ns,
            duration_ns: phase.duration_ns,
            rates,
            before: Vec::new(),
            drawn: std::cell::RefCell::default(),
        };
        let slots = phase.duration_ns.div_ceil(SLOT_NS) as usize;
        let mut total = 0;
        let mut scratch = Vec::new();
        for slot in 0..slots {
            poisson.before.push(total);
            poisson.draw(slot, &mut scratch);
            total += scratch.len() as u64;
        }
        poisson.before.push(total);
        *poisson.drawn.borrow_mut() = (usize::MAX, scratch);
        poisson
    }

    pub fn total(&self) -> u64 {
        self.before.last().copied().unwrap_or(0)
    }

    pub fn at(&self, j: u64) -> u64 {
        let slot = self.before.partition_point(|before| *before <= j) - 1;
        let mut drawn = self.drawn.borrow_mut();
        if drawn.0 != slot {
            let mut times = std::mem::take(&mut drawn.1);
            self.draw(slot, &mut times);
            *drawn = (slot, times);
        }
        drawn.1[(j - self.before[slot]) as usize]
    }

    fn draw(&self, slot: usize, into: &mut Vec<u64>) {
        into.clear();
        let begin = slot as u64 * SLOT_NS;
        let length = SLOT_NS.min(self.duration_ns - begin) as f64;
        let second = (begin / SECOND) as usize;
        let rate = self.rates[second.min(self.rates.len() - 1)];
        if rate <= 0.0 {
            return;
        }
        let mut rng = Rng::keyed(self.seed, Purpose::Slot, u64::from(self.phase), slot as u64);
        let mut at = rng.exponential() / rate;
        while at < length {
            into.push(self.start_ns + begin + at as u64);
            at += rng.exponential() / rate;
        }
    }
}
