//! Arrivals and users of a load that can be changed. Every action on an arrival is preceded by a
//! check for changes, so that all workers follow the same load.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    rc::Rc,
};

use plan::{
    Share,
    schedule::{Arrival, Shard},
};

use super::takeover::TakeoverArrivals;
use worker::{
    Worker,
    load_control::{KNOWN_NS, LOOK_NS, LoadControl, LoadView},
};

pub(super) enum WorkerArrivals<'a> {
    Planned(Shard<'a>),
    /// Arrivals of a load that can be changed.
    Steered(Steered),
    TakeoverArrivals(TakeoverArrivals<'a>),
}

pub(super) struct Steered {
    view: LoadView,
    next: u64,
    step: u64,
}

impl Steered {
    pub fn new(load_control: &LoadControl, share: Share) -> Steered {
        Steered {
            view: load_control.view(),
            next: share.index,
            step: share.of.max(1),
        }
    }

    /// Returns the next arrival, at most one poll interval before it is due. `None` if no arrivals
    /// remain.
    async fn next(&mut self, worker: &Worker) -> Option<Arrival> {
        loop {
            let now = worker.clock.now();
            self.view.renew();
            let schedule = &self.view.state().schedule;
            let arrival = schedule.at(self.next);
            let over_ns = schedule.end_ns().saturating_sub(KNOWN_NS);
            let until_ns = arrival.map_or(over_ns, |arrival| arrival.intended_ns);
            let is_over = worker.arrivals_end.is_aborted();
            if now >= until_ns || is_over || arrival.is_some() && until_ns - now <= LOOK_NS {
                self.next += self.step;
                return arrival;
            }
            let _ = worker
                .sleep_until(until_ns.min(now + LOOK_NS), &worker.arrivals_end)
                .await;
        }
    }

    /// Returns whether an arrival is still planned when it is due. If not, the arrival returns to
    /// the schedule.
    fn is_due(&mut self, arrival: Arrival) -> bool {
        if !self.view.renew() || self.view.state().schedule.at(arrival.number) == Some(arrival) {
            return true;
        }
        self.next = arrival.number;
        false
    }
}

impl WorkerArrivals<'_> {
    /// Returns the next arrival. `None` if no arrivals remain.
    pub async fn next(&mut self, worker: &Worker) -> Option<Arrival> {
        match self {
            WorkerArrivals::Planned(shard) => shard.next(),
            WorkerArrivals::Steered(steered) => steered.next(worker).await,
            WorkerArrivals::TakeoverArrivals(arrivals) => arrivals.next(worker).await,
        }
    }

    /// Returns whether the arrival is still in the schedule. If a change removed it, the next
    /// arrival gets its number.
    pub fn is_due(&mut self, arrival: Arrival) -> bool {
        match self {
            WorkerArrivals::Planned(_) | WorkerArrivals::TakeoverArrivals(_) => true,
            WorkerArrivals::Steered(steered) => steered.is_due(arrival),
        }
    }
}

pub(super) struct UserPool {
    view: RefCell<LoadView>,
    users: RefCell<Vec<Rc<Member>>>,
    planned: u32,
}

#[derive(Debug, Default)]
pub(super) struct Member {
    pub goes_on: Cell<bool>,
    rounds: Cell<u64>,
    /// Version of the load, and the end of the user's active period in that version.
    until: Cell<(u64, u64)>,
}

const BEYOND: u64 = 1 << 60;
/// The smallest prime above [`worker::load_control::MOST_USERS`]. It keeps iteration numbers unique
/// and free of patterns.
const STRIDE: u64 = 1_000_003;

impl UserPool {
    pub fn new(load_control: &LoadControl) -> UserPool {
        let view = load_control.view();
        UserPool {
            planned: view.state().users(),
            view: RefCell::new(view),
            users: RefCell::default(),
        }
    }

    pub fn renew(&self) {
        self.view.borrow_mut().renew();
    }

    /// Returns the version of the load, which increases with every change.
    pub fn version(&self) -> u64 {
        self.view.borrow().version()
    }

    /// Returns the start times and numbers of this worker's users whose active period ends after a
    /// time, in order.
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

    pub fn member(&self, user: u32) -> Rc<Member> {
        let mut users = self.users.borrow_mut();
        if users.len() <= user as usize {
            users.resize_with(user as usize + 1, Rc::default);
        }
        Rc::clone(&users[user as usize])
    }

    /// Returns the number of the iteration that a user starts now. `None` if the user must stop.
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
    use worker::load_control::{MOST_USERS, Most};

    #[test]
    fn iteration_numbers_are_unique_for_added_users() {
        let load = Load::users(3, 1);
        let most = Most {
            per_second: 1.0,
            users: MOST_USERS,
        };
        let pool = UserPool::new(&LoadControl::new(&load, &Schedule::new(&load, 1), most));
        assert_eq!(
            [(0, 0), (2, 0), (0, 1)].map(|(user, round)| pool.number(user, round)),
            [0, 2, 3]
        );
        assert!(u64::from(MOST_USERS) < STRIDE);
        assert!(!(2..=1000).any(|n| STRIDE.is_multiple_of(n)));
        let users = (0..50).chain(MOST_USERS - 50..MOST_USERS);
        let numbers: BTreeSet<u64> = users
            .flat_map(|user| (0..50).map(move |round| (user, round)))
            .map(|(user, round)| pool.number(user, round))
            .collect();
        assert_eq!(numbers.len(), 100 * 50);
    }
}
