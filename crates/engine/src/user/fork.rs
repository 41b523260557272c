//! Steps at the same time: each branch is a copy of the virtual user with a limit of its own over the shared connections, which
//! for a user without a pool is its one: there requests queue in the order in which they come up. What the branches set is put
//! together afterwards, in their order.

use std::{collections::VecDeque, pin::Pin, rc::Rc, task::Poll};

use super::{End, User, UserState};
use crate::{
    client::pool::Pool,
    deadlines::Limit,
    program::{Fork, Op},
};

/// One branch on its way; it answers how it ended and how long it took.
type Branch<'f> = Pin<Box<dyn Future<Output = (Result<(), End>, u64)> + 'f>>;

impl<'a> User<'a> {
    /// Carries out all branches; the first error ends the user, but only when all have come to their end: a request that is
    /// under way is never left without an entry in the ledger.
    pub(super) async fn fork(&mut self, ops: &'a [Op], fork: &Fork) -> Result<(), End> {
        let pool = Rc::new(Pool::shared(1));
        pool.take_over(&self.state.pool);
        let own: Vec<UserState> = fork
            .branches
            .iter()
            .map(|_| UserState {
                limit: Rc::new(Limit::default()),
                pool: Rc::clone(&pool),
            })
            .collect();
        let places: Vec<usize> = own
            .iter()
            .map(|state| self.worker.watch(&state.limit))
            .collect();
        let begun = self.clone();
        let mut users: Vec<User<'_>> = own
            .iter()
            .enumerate()
            .map(|(i, state)| begun.branch(state, i))
            .collect();
        let at = self.worker.clock.now();
        let (result, took) = {
            let branches = users.iter_mut().zip(&fork.branches);
            let waiting = branches
                .map(|(user, (from, to))| Box::pin(user.whole(ops, *from, *to)) as Branch<'_>)
                .collect();
            all(waiting, fork.limit).await
        };
        let spent: Vec<Spent> = users
            .iter()
            .zip(&took)
            .map(|(user, took)| Spent {
                took_ns: *took,
                paused_ns: user.paused_ns.saturating_sub(begun.paused_ns),
            })
            .collect();
        if spent.iter().any(|branch| branch.paused_ns > 0) {
            let whole = self.worker.clock.now().saturating_sub(at);
            self.paused_ns += whole.saturating_sub(without_pauses(&spent, fork.limit));
        }
        self.state.pool.take_over(&pool);
        for place in places {
            self.worker.unwatch(place);
        }
        for user in users {
            self.due = self.due.later(user.due);
            self.jar.adopt(&begun.jar, user.jar);
            self.vars.adopt(&begun.vars, user.vars);
        }
        result
    }

    /// Carries out a branch, and ends the groups that it leaves open.
    async fn whole(&mut self, ops: &'a [Op], from: usize, to: usize) -> (Result<(), End>, u64) {
        let at = self.worker.clock.now();
        let result = self.flow(ops, from, to).await;
        self.end_groups(&result);
        (result, self.worker.clock.now().saturating_sub(at))
    }

    /// A copy that waits under a limit of its own and draws other numbers.
    fn branch<'k>(&self, state: &'k UserState, number: usize) -> User<'k>
    where
        'a: 'k,
    {
        let mut user: User<'k> = self.clone();
        user.state = state;
        // Those around the fork are its own, and end behind it.
        user.open.clear();
        user.rng = self.rng.fork(number as u64);
        user
    }
}

/// What a branch spent.
struct Spent {
    took_ns: u64,
    /// For so long of that it paused.
    paused_ns: u64,
}

/// How long branches would have taken together, at most so many at a time, had none of them paused and everything else taken as long as it
/// did: only what is longer than that did their pauses hold up whoever waits for all of them.
fn without_pauses(spent: &[Spent], limit: usize) -> u64 {
    // When each place among those that go on at the same time is free.
    let mut free = vec![0_u64; limit.clamp(1, spent.len().max(1))];
    for branch in spent {
        if let Some(first) = free.iter_mut().min() {
            *first += branch.took_ns.saturating_sub(branch.paused_ns);
        }
    }
    free.into_iter().max().unwrap_or(0)
}

/// Runs futures, at most so many at a time, to their end; the first error in time is the result. Beside it, how long each took: those
/// behind an error that never began, none.
async fn all(waiting: Vec<Branch<'_>>, limit: usize) -> (Result<(), End>, Vec<u64>) {
    let mut took = vec![0; waiting.len()];
    let mut waiting: VecDeque<_> = waiting.into_iter().enumerate().collect();
    let mut running: Vec<(usize, Branch<'_>)> = Vec::new();
    let mut result = Ok(());
    std::future::poll_fn(|cx| {
        loop {
            let mut ended = false;
            running.retain_mut(|(number, branch)| match branch.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready((end, ns)) => {
                    ended = true;
                    took[*number] = ns;
                    if result.is_ok() {
                        result = end;
                    }
                    false
                }
            });
            let mut begun = false;
            // After an error nothing new begins.
            while running.len() < limit && result.is_ok() {
                let Some(branch) = waiting.pop_front() else {
                    break;
                };
                running.push(branch);
                begun = true;
            }
            if running.is_empty() {
                return Poll::Ready(());
            }
            if !begun && !ended {
                return Poll::Pending;
            }
        }
    })
    .await;
    (result, took)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_pauses_that_hold_up_the_end_count() {
        let without = |all: &[(u64, u64)], limit| {
            let spent = |(took_ns, paused_ns): &(u64, u64)| Spent {
                took_ns: *took_ns,
                paused_ns: *paused_ns,
            };
            without_pauses(&all.iter().map(spent).collect::<Vec<_>>(), limit)
        };
        // All at once: the longest without its pause, 40 of 100 and 90 without any.
        assert_eq!(without(&[(100, 60), (90, 0)], 5), 90);
        assert_eq!(without(&[(100, 60), (30, 0)], 5), 40);
        // Two at a time: the third follows whoever is first at its end.
        assert_eq!(without(&[(100, 60), (50, 0), (20, 10)], 2), 50);
        assert_eq!(without(&[(100, 60), (50, 0), (30, 0)], 2), 70);
        // One after the other nothing is at the same time.
        assert_eq!(without(&[(100, 60), (50, 10)], 1), 80);
        assert_eq!(without(&[], 3), 0);
    }
}
