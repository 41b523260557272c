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

/// One branch on its way.
type Branch<'f> = Pin<Box<dyn Future<Output = Result<(), End>> + 'f>>;

impl<'a> User<'a> {
    /// Carries out all branches; the first error ends the user, but only when all have come to their end: a request that is
    /// under way is never left without an entry in the books.
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
        let result = {
            let branches = users.iter_mut().zip(&fork.branches);
            let waiting = branches
                .map(|(user, (from, to))| Box::pin(user.whole(ops, *from, *to)) as Branch<'_>)
                .collect();
            all(waiting, fork.limit).await
        };
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
    async fn whole(&mut self, ops: &'a [Op], from: usize, to: usize) -> Result<(), End> {
        let result = self.flow(ops, from, to).await;
        self.end_groups(&result);
        result
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

/// Runs futures, at most so many at a time, to their end; the first error in time is the result.
async fn all(waiting: Vec<Branch<'_>>, limit: usize) -> Result<(), End> {
    let mut waiting = VecDeque::from(waiting);
    let mut running: Vec<Branch<'_>> = Vec::new();
    let mut result = Ok(());
    std::future::poll_fn(|cx| {
        loop {
            let mut ended = false;
            running.retain_mut(|branch| match branch.as_mut().poll(cx) {
                Poll::Pending => true,
                Poll::Ready(end) => {
                    ended = true;
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
    result
}
