//! What a worker does of a load that may be changed while it goes on: which arrival is its next, and which users are there. It looks for
//! changes behind every moment on which it acts, so that all workers go by the same load. What a virtual user does is not its business.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

use plan::{
    Share,
    schedule::{Arrival, Shard},
};

use super::adopting::Adopting;
use crate::{
    course::{Course, KNOWN_NS, LOOK_NS, View},
    worker::Worker,
};

/// The arrivals of one worker.
pub(super) enum Arrivals<'a> {
    /// As they were planned.
    Planned(Shard<'a>),
    /// Of a load that may be changed.
    Steered(Steered),
    /// As they were planned, with those of others that may be taken over.
    Adopting(Adopting<'a>),
}

/// The next arrival of a load that may be changed.
pub(super) struct Steered {
    view: View,
    next: u64,
    step: u64,
}

impl Steered {
    pub fn of(course: &Course, share: Share) -> Steered {
        Steered {
            view: course.view(),
            next: share.index,
            step: share.of.max(1),
        }
    }

    /// The next arrival, at most one look before it is due; none when no more can come.
    async fn next(&mut self, worker: &Worker) -> Option<Arrival> {
        loop {
            let now = worker.clock.now();
            self.view.renew();
            let schedule = &self.view.state().schedule;
            let arrival = schedule.at(self.next);
            // Whoever changes the load has told of it by then.
            let over_ns = schedule.end_ns().saturating_sub(KNOWN_NS);
            let until_ns = arrival.map_or(over_ns, |arrival| arrival.intended_ns);
            let is_over = worker.arrivals_end.is_aborted();
            if now >= until_ns || is_over || arrival.is_some() && until_ns - now <= LOOK_NS {
                self.next += self.step;
                return arrival;
            }
            // A run that ends meanwhile is noticed above.
            let _ = worker
                .sleep_until(until_ns.min(now + LOOK_NS), &worker.arrivals_end)
                .await;
        }
    }

    /// Whether an arrival whose moment has come still is one; else it is given back.
    fn is_due(&mut self, arrival: Arrival) -> bool {
        if !self.view.renew() || self.view.state().schedule.at(arrival.number) == Some(arrival) {
            return true;
        }
        self.next = arrival.number;
        false
    }
}

impl Arrivals<'_> {
    /// The next arrival; none when no more can come.
    pub async fn next(&mut self, worker: &Worker) -> Option<Arrival> {
        match self {
            Arrivals::Planned(shard) => shard.next(),
            Arrivals::Steered(steered) => steered.next(worker).await,
            Arrivals::Adopting(adopting) => adopting.next(worker).await,
        }
    }

    /// Whether an arrival whose moment has come still is one; else it was given back, and another comes in its place.
    pub fn is_due(&mut self, arrival: Arrival) -> bool {
        match self {
            Arrivals::Planned(_) | Arrivals::Adopting(_) => true,
            Arrivals::Steered(steered) => steered.is_due(arrival),
        }
    }
}

/// The users of one worker, of a closed load that may be changed.
pub(super) struct Crew {
    view: RefCell<View>,
    /// By number, those of other workers too.
    users: RefCell<Vec<Rc<Member>>>,
    /// How many users the plan has.
    planned: u32,
}

/// One user.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// Whether it carries out an iteration, or is about to.
    pub goes_on: Cell<bool>,
    /// Iterations that it has begun.
    rounds: Cell<u64>,
    /// As of which version of the load it stays until when.
    until: Cell<(u64, u64)>,
}

/// Numbers of iterations of users whom the plan does not have begin here: nobody comes so far otherwise.
const BEYOND: u64 = 1 << 60;
/// The smallest prime number above [`crate::course::MOST_USERS`]: no two of their iterations have a number, and no pattern of the test's.
const STRIDE: u64 = 1_000_003;

impl Crew {
    pub fn of(course: &Course) -> Crew {
        let view = course.view();
        Crew {
            planned: view.state().users(),
            view: RefCell::new(view),
            users: RefCell::default(),
        }
    }

    /// Looks for changes.
    pub fn renew(&self) {
        self.view.borrow_mut().renew();
    }

    /// Another number behind every change.
    pub fn version(&self) -> u64 {
        self.view.borrow().version()
    }

    /// Who of a worker's users comes when, of those whose stay does not end before a moment, in the order of time.
    pub fn coming(&self, share: Share, now_ns: u64) -> VecDeque<(u64, u32)> {
        let view = self.view.borrow();
        let own = (0..view.state().users()).filter(|user| share.has(u64::from(*user)));
        let mut coming: Vec<(u64, u32)> = own
            .flat_map(|user| {
                let stays = view.state().stays(user).into_iter();
                let ahead = stays.filter(|stay| stay.until_ns > now_ns);
                ahead.map(move |stay| (stay.from_ns, user))
            })
            .collect();
        coming.sort_unstable();
        coming.into()
    }

    /// A user.
    pub fn member(&self, user: u32) -> Rc<Member> {
        let mut users = self.users.borrow_mut();
        if users.len() <= user as usize {
            users.resize_with(user as usize + 1, Rc::default);
        }
        Rc::clone(&users[user as usize])
    }

    /// The number of the iteration that a user begins at a moment that has come; none where it is to go.
    pub fn next(&self, member: &Member, user: u32, now_ns: u64) -> Option<u64> {
        self.renew();
        let (version, until_ns) = member.until.get();
        if version != self.version() || now_ns >= until_ns {
            let stays = self.view.borrow().state().stays(user).into_iter();
            let mut there = stays.filter(|stay| (stay.from_ns..stay.until_ns).contains(&now_ns));
            member.until.set((self.version(), there.next()?.until_ns));
        }
        let round = member.rounds.replace(member.rounds.get() + 1);
        Some(self.number(user, round))
    }

    /// The number of a user's next iteration: of those that the plan has, the one that it would have had.
    fn number(&self, user: u32, round: u64) -> u64 {
        match user.checked_sub(self.planned) {
            None => round * u64::from(self.planned) + u64::from(user),
            Some(beyond) => BEYOND + round * STRIDE + u64::from(beyond),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use plan::{Load, Schedule};

    use super::*;
    use crate::course::{MOST_USERS, Most};

    #[test]
    fn iterations_have_numbers_of_their_own_also_those_of_users_who_came_later() {
        let load = Load::users(3, 1);
        let most = Most {
            per_second: 1.0,
            users: MOST_USERS,
        };
        let crew = Crew::of(&Course::of(&load, &Schedule::new(&load, 1), most));
        assert_eq!(
            [(0, 0), (2, 0), (0, 1)].map(|(user, round)| crew.number(user, round)),
            [0, 2, 3]
        );
        assert!(u64::from(MOST_USERS) < STRIDE);
        assert!(!(2..=1000).any(|n| STRIDE.is_multiple_of(n)));
        let users = (0..50).chain(MOST_USERS - 50..MOST_USERS);
        let numbers: BTreeSet<u64> = users
            .flat_map(|user| (0..50).map(move |round| (user, round)))
            .map(|(user, round)| crew.number(user, round))
            .collect();
        assert_eq!(numbers.len(), 100 * 50);
    }
}
