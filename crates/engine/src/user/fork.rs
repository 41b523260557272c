//! Parallel steps. Each branch is a clone of the user with a separate limit. The branches share the
//! user's connections. Afterwards, variables are merged in the order of the branches.

use std::{collections::VecDeque, pin::Pin, rc::Rc, task::Poll};

use super::{IterationAbort, User, UserIo};
use crate::program::{Fork, Op};
use worker::client::pool::ConnectionPool;

type Branch<'f> = Pin<Box<dyn Future<Output = (Result<(), IterationAbort>, u64)> + 'f>>;

impl<'a> User<'a> {
    /// Runs all branches until they finish. If a branch failed, the first error then ends the user.
    /// Every request in flight is recorded.
    pub(super) async fn fork(&mut self, ops: &'a [Op], fork: &Fork) -> Result<(), IterationAbort> {
        let pool = Rc::new(ConnectionPool::shared(1));
        pool.take_over(&self.io.pool);
        let own: Vec<UserIo> = fork
            .branches
            .iter()
            .map(|_| UserIo::with_pool(Rc::clone(&pool)))
            .collect();
        let places: Vec<usize> = own.iter().map(|io| self.worker.watch(&io.limit)).collect();
        let begun = self.clone();
        let mut users: Vec<User<'_>> = own
            .iter()
            .enumerate()
            .map(|(i, io)| begun.branch(io, i))
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
        self.io.pool.take_over(&pool);
        for place in places {
            self.worker.unwatch(place);
        }
        for user in users {
            self.due = self.due.later(user.due);
            self.jar.merge_fork(&begun.jar, user.jar);
            self.vars.merge_fork(&begun.vars, user.vars);
        }
        result
    }

    async fn whole(
        &mut self,
        ops: &'a [Op],
        from: usize,
        to: usize,
    ) -> (Result<(), IterationAbort>, u64) {
        let at = self.worker.clock.now();
        let result = self.run_ops(ops, from, to).await;
        self.end_groups(&result);
        (result, self.worker.clock.now().saturating_sub(at))
    }

    fn branch<'k>(&self, io: &'k UserIo, number: usize) -> User<'k>
    where
        'a: 'k,
    {
        let mut user: User<'k> = self.clone();
        user.io = io;
        // Groups around the parallel steps belong to the original user.
        user.open.clear();
        user.rng = self.rng.fork(number as u64);
        user
    }
}

struct Spent {
    took_ns: u64,
    paused_ns: u64,
}

/// Returns how long the branches would have taken without pauses.
fn without_pauses(spent: &[Spent], limit: usize) -> u64 {
    let mut free = vec![0_u64; limit.clamp(1, spent.len().max(1))];
    for branch in spent {
        if let Some(first) = free.iter_mut().min() {
            *first += branch.took_ns.saturating_sub(branch.paused_ns);
        }
    }
    free.into_iter().max().unwrap_or(0)
}

/// Runs futures with limited concurrency until they finish. Returns the earliest error, and the
/// duration of each future.
async fn all(waiting: Vec<Branch<'_>>, limit: usize) -> (Result<(), IterationAbort>, Vec<u64>) {
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
    fn only_pauses_that_delay_the_end_count() {
        let without = |all: &[(u64, u64)], limit| {
            let spent = |(took_ns, paused_ns): &(u64, u64)| Spent {
                took_ns: *took_ns,
                paused_ns: *paused_ns,
            };
            without_pauses(&all.iter().map(spent).collect::<Vec<_>>(), limit)
        };
        // All branches run in parallel. Without pauses, they take 40 and 90.
        assert_eq!(without(&[(100, 60), (90, 0)], 5), 90);
        assert_eq!(without(&[(100, 60), (30, 0)], 5), 40);
        assert_eq!(without(&[(100, 60), (50, 0), (20, 10)], 2), 50);
        assert_eq!(without(&[(100, 60), (50, 0), (30, 0)], 2), 70);
        assert_eq!(without(&[(100, 60), (50, 10)], 1), 80);
        assert_eq!(without(&[], 3), 0);
    }
}
