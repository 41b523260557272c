//! Polls a service that has stopped responding, and decides how often and for how long.

const CHANCES: usize = 8;
pub const SECONDS: f64 = 3.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollResult {
    Answered,
    Silent,
    Signal(u8),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PollOutcome {
    Answered,
    Silent,
    NotAsked,
    Signal(u8),
}

pub fn until_back<E>(
    left_s: impl Fn() -> f64,
    mut ask: impl FnMut(usize) -> Result<PollResult, E>,
) -> Result<PollOutcome, E> {
    let mut arrived = PollOutcome::NotAsked;
    for chance in 0..CHANCES {
        if left_s() < SECONDS {
            break;
        }
        match ask(chance)? {
            PollResult::Answered => return Ok(PollOutcome::Answered),
            PollResult::Signal(signal) => return Ok(PollOutcome::Signal(signal)),
            PollResult::Silent => arrived = PollOutcome::Silent,
        }
    }
    Ok(arrived)
}

#[cfg(test)]
mod tests {
    use std::{cell::Cell, rc::Rc};

    use worker::clock::Clock;

    use super::*;

    fn config(budget_s: u64, takes_s: u64, answers_at: usize) -> (PollOutcome, usize, u64) {
        let now = Rc::new(Cell::new(0));
        let clock = Clock::manual(now.clone());
        let left_s = || budget_s as f64 - clock.now() as f64 / 1e9;
        let mut count = 0;
        let arrived = until_back(left_s, |chance| {
            count += 1;
            now.set(now.get() + takes_s * 1_000_000_000);
            Ok::<PollResult, ()>(if chance == answers_at {
                PollResult::Answered
            } else {
                PollResult::Silent
            })
        });
        (arrived.unwrap(), count, now.get() / 1_000_000_000)
    }

    const NEVER: usize = usize::MAX;

    #[test]
    fn a_service_that_is_dead_for_good_is_asked_no_longer_than_the_budget_goes() {
        assert_eq!(config(300, 33, NEVER), (PollOutcome::Silent, 8, 264));
        assert_eq!(config(60, 33, NEVER), (PollOutcome::Silent, 2, 66));
        assert_eq!(config(12, 4, NEVER), (PollOutcome::Silent, 3, 12));
        assert_eq!(config(2, 4, NEVER), (PollOutcome::NotAsked, 0, 0));
    }

    #[test]
    fn whoever_comes_back_is_asked_no_more() {
        assert_eq!(config(60, 4, 2), (PollOutcome::Answered, 3, 12));
        let arrived = until_back(|| 60.0, |_| Ok::<PollResult, ()>(PollResult::Signal(2)));
        assert_eq!(arrived, Ok(PollOutcome::Signal(2)));
    }
}
