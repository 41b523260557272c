//! Computes when the tokens of a response are due. The schedule is a function of the arrivals and
//! the seed, so late wake-ups never delay later requests.

use std::sync::{Mutex, OnceLock, PoisonError};

use crate::draw::Draws;
use crate::fifo::Fifo;
use crate::random::mix;

/// Timing of the simulated model.
#[derive(Debug, Clone)]
pub(super) struct Rhythm {
    /// Time from taking a batch slot to the first token.
    pub(super) ttft_ns: u64,
    /// Extra time before the first token for each token of the prompt.
    pub(super) prefill_ns: u64,
    /// Time between two tokens.
    pub(super) gap_ns: u64,
    pub(super) spread: Spread,
    /// Number of requests served at a time. Other requests wait in order of arrival.
    pub(super) slots: usize,
    /// Duration of a stall. 0 means no stalls.
    pub(super) stall_ns: u64,
    /// Time between the starts of two stalls.
    pub(super) every_ns: u64,
}

/// Distribution from which times are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spread {
    Constant,
    Exponential,
}

impl Spread {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        match text {
            "constant" => Ok(Spread::Constant),
            "exponential" => Ok(Spread::Exponential),
            _ => Err("use constant or exponential".to_owned()),
        }
    }
}

/// When a response starts, and when each of its tokens is due.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TokenSchedule {
    pub(super) start_ns: u64,
    pub(super) due_ns: Vec<u64>,
}

pub(super) struct Scheduler {
    rhythm: Rhythm,
    draws: Draws,
    queue: Mutex<Fifo>,
    /// Arrival of the first request. The stalls are scheduled relative to it.
    origin_ns: OnceLock<u64>,
}

impl Scheduler {
    pub(super) fn new(rhythm: Rhythm, seed: u64) -> Self {
        Self {
            queue: Mutex::new(Fifo::new(rhythm.slots)),
            draws: Draws::new(seed),
            origin_ns: OnceLock::new(),
            rhythm,
        }
    }

    /// Schedules request `n`. Must be called in order of arrival.
    pub(super) fn admit(&self, n: u64, arrival_ns: u64, prompt: u64, tokens: u64) -> TokenSchedule {
        let origin = *self.origin_ns.get_or_init(|| arrival_ns);
        let prefill = self.rhythm.prefill_ns.saturating_mul(prompt);
        let first = self.draw(self.rhythm.ttft_ns, n, 0).saturating_add(prefill);
        let mut offsets = Vec::with_capacity(usize::try_from(tokens).unwrap_or(0));
        let mut offset = first;
        for token in 0..tokens {
            if token > 0 {
                offset = offset.saturating_add(self.draw(self.rhythm.gap_ns, n, token));
            }
            offsets.push(offset);
        }
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let start_ns = queue.admit(arrival_ns, offset) - offset;
        drop(queue);
        let due = |offset: u64| self.after_stall(origin, start_ns.saturating_add(offset));
        TokenSchedule {
            start_ns,
            due_ns: offsets.into_iter().map(due).collect(),
        }
    }

    fn draw(&self, mean_ns: u64, n: u64, token: u64) -> u64 {
        match self.rhythm.spread {
            Spread::Constant => mean_ns,
            Spread::Exponential => self.draws.exponential(mean_ns, mix(n) ^ token),
        }
    }

    /// Returns the end of the stall that contains the time, or the time itself if there is none.
    /// The first stall begins `every` after the first arrival.
    fn after_stall(&self, origin: u64, time: u64) -> u64 {
        let Rhythm {
            stall_ns, every_ns, ..
        } = self.rhythm;
        let since = time.saturating_sub(origin);
        let within = since % every_ns;
        if since >= every_ns && within < stall_ns {
            time - within + stall_ns
        } else {
            time
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scheduler(slots: usize, stall_ns: u64, spread: Spread) -> Scheduler {
        let rhythm = Rhythm {
            ttft_ns: 100,
            prefill_ns: 2,
            gap_ns: 10,
            spread,
            slots,
            stall_ns,
            every_ns: 1000,
        };
        Scheduler::new(rhythm, 7)
    }

    #[test]
    fn tokens_follow_prefill_at_regular_gaps() {
        let scheduler = scheduler(9, 0, Spread::Constant);
        let schedule = scheduler.admit(0, 5000, 3, 3);
        assert_eq!(schedule.start_ns, 5000);
        assert_eq!(schedule.due_ns, [5106, 5116, 5126]);
    }

    #[test]
    fn requests_wait_for_a_slot_in_order() {
        let scheduler = scheduler(2, 0, Spread::Constant);
        let start = |n, arrival| scheduler.admit(n, arrival, 0, 6).start_ns;
        assert_eq!(
            [start(0, 0), start(1, 10), start(2, 20), start(3, 30)],
            [0, 10, 150, 160]
        );
    }

    #[test]
    fn tokens_within_a_stall_are_due_at_its_end() {
        let scheduler = scheduler(9, 15, Spread::Constant);
        scheduler.admit(0, 500, 0, 1);
        let schedule = scheduler.admit(1, 1390, 0, 4);
        assert_eq!(schedule.due_ns, [1490, 1515, 1515, 1520]);
    }

    #[test]
    fn exponential_draws_have_their_mean() {
        let scheduler = scheduler(9, 0, Spread::Exponential);
        let due: Vec<u64> = (0..2000)
            .map(|n| {
                let due = scheduler.admit(n, 0, 0, 11).due_ns;
                due[10] - due[0]
            })
            .collect();
        let mean = due.iter().sum::<u64>() as f64 / due.len() as f64;
        assert!((mean / 100.0 - 1.0).abs() < 0.05, "{mean}");
        assert_ne!(due[0], due[1]);
    }
}
