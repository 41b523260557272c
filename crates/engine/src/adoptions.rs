//! What a process carries out beside its own share of a run, because the process that it belonged to is lost: the arrivals of another
//! share, from a moment shortly ahead that every worker agrees on. Whether somebody is lost, from when on he certainly sends nothing, and
//! who writes that down, is for others to say.
//!
//! Only arrivals of scenarios can be taken over. Users of a closed load stay whose they are, and so do the arrivals of raw requests on fixed
//! connections, of MQTT clients and of whatever drives itself: there an adoption is refused. What a plan caps for each process - users,
//! connections - stays what it is for those that are left.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use plan::{Load, Schedule, Share, schedule::Shard};

use crate::{compiled::Compiled, course::KNOWN_NS, run::Options};

/// What a process has taken over by now. Copies are the same.
#[derive(Debug, Clone, Default)]
pub struct Adoptions(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    /// Counts what was taken over, so that whoever has seen the newest need not ask for the lock.
    version: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// What the process carries out anyway; none where it cannot take anything over.
    own: Option<Share>,
    /// The moment behind which nothing is intended.
    end_ns: u64,
    adopted: Vec<Adopted>,
}

/// A share that was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Of all arrivals, those of this share ...
    pub share: Share,
    /// ... which are intended at this moment or behind it, in nanoseconds from the start.
    pub from_ns: u64,
}

/// Why a share cannot be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// Its work is not such that arrivals could be another's, or it was not prepared for that.
    NotHere,
    /// Some of these arrivals are its own already.
    Own,
    /// Nothing is intended any more by then.
    Over,
    /// Not every worker would have known in time: ask again, from a later moment on.
    TooLate,
}

impl std::fmt::Display for Refused {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Refused::NotHere => "this process can take over no arrivals",
            Refused::Own => "some of these arrivals are this process's already",
            Refused::Over => "no arrivals are left by then",
            Refused::TooLate => "it was asked for too late: not every worker would have known",
        })
    }
}

impl std::error::Error for Refused {}

impl Adoptions {
    /// How long ahead of its moment a share must be taken over, at least.
    pub const AHEAD_NS: u64 = KNOWN_NS;

    /// Has the process carry out, beside its own, the arrivals of another share that are intended at a moment or behind it; `now` says how
    /// far the run is.
    ///
    /// Nobody acts on a moment before it has come, and whoever acts has looked for shares behind that: so it is enough that this one was
    /// there before its moment. Where this thread was held up for longer, it is taken back before anybody can have it.
    ///
    /// # Errors
    /// Why it stays as it is: nothing of the share is sent by this process then.
    pub fn adopt(&self, share: Share, from_ns: u64, now: impl Fn() -> u64) -> Result<(), Refused> {
        let mut state = self.lock();
        let own = state.own.ok_or(Refused::NotHere)?;
        let mut known = state.adopted.iter().map(|adopted| adopted.share);
        if share.meets(own) || known.any(|known| known.meets(share)) {
            return Err(Refused::Own);
        }
        if from_ns > state.end_ns {
            return Err(Refused::Over);
        }
        state.adopted.push(Adopted { share, from_ns });
        self.0.version.fetch_add(1, Ordering::SeqCst);
        if now().saturating_add(KNOWN_NS) > from_ns {
            state.adopted.pop();
            self.0.version.fetch_add(1, Ordering::SeqCst);
            return Err(Refused::TooLate);
        }
        Ok(())
    }

    /// What was taken over, in the order in which it was.
    #[must_use]
    pub fn adopted(&self) -> Vec<Adopted> {
        self.lock().adopted.clone()
    }

    /// Those of a run, where it may be asked to take something over: of scenarios that arrive by a schedule which stays as it is.
    pub(crate) fn of(work: &Compiled, options: &Options, is_steered: bool) -> Option<Adoptions> {
        let is_own = options.driver.is_none() && work.program.is_some() && !options.is_late;
        let arrives = matches!(work.load, Load::Open { .. });
        (options.adopts && is_own && arrives && !is_steered).then(|| {
            options.adoptions.open(options.share, &work.schedule);
            options.adoptions.clone()
        })
    }

    /// From now on shares can be taken over by a process with this one.
    pub(crate) fn open(&self, own: Share, schedule: &Schedule) {
        let mut state = self.lock();
        state.own = Some(own);
        state.end_ns = schedule.end_ns();
    }

    /// Of everything that was taken over, the arrivals that are due until a moment of one of so many workers.
    pub(crate) fn due(
        &self,
        schedule: &Schedule,
        (worker, workers): (u64, u64),
        until_ns: u64,
    ) -> u64 {
        let due = |adopted: &Adopted| {
            let share = adopted.share.part(worker, workers);
            schedule.due_of_share(share, adopted.from_ns, until_ns)
        };
        self.lock().adopted.iter().map(due).sum()
    }

    /// For a worker, which looks often.
    pub(crate) fn view(&self) -> View {
        View {
            adoptions: self.clone(),
            version: 0,
            known: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a worker knows of it.
#[derive(Debug)]
pub(crate) struct View {
    adoptions: Adoptions,
    version: u64,
    known: usize,
}

impl View {
    /// Looks for shares that came since the last look: what was taken over until now is known behind this.
    #[inline]
    pub fn news(&mut self) -> Vec<Adopted> {
        if self.adoptions.0.version.load(Ordering::SeqCst) == self.version {
            return Vec::new();
        }
        self.look()
    }

    #[cold]
    fn look(&mut self) -> Vec<Adopted> {
        let state = self.adoptions.lock();
        self.version = self.adoptions.0.version.load(Ordering::SeqCst);
        // What was taken back nobody has seen: it was gone before the lock was free.
        let news = state.adopted.get(self.known..).unwrap_or_default().to_vec();
        self.known = state.adopted.len();
        news
    }
}

/// The arrivals of a share that was taken over which are one worker's, in order.
pub(crate) fn shard<'a>(
    adopted: Adopted,
    schedule: &'a Schedule,
    (worker, workers): (u64, u64),
) -> Shard<'a> {
    schedule.shard_from(adopted.share.part(worker, workers), adopted.from_ns)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use plan::{FirstArrival, Phase, Rate, Shape, units::SECOND};

    use super::*;

    const OWN: Share = Share { index: 0, of: 3 };
    const LOST: Share = Share { index: 1, of: 3 };

    fn schedule() -> Schedule {
        let phase = Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(30)));
        let load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        Schedule::new(&load, 1)
    }

    fn opened() -> Adoptions {
        let adoptions = Adoptions::default();
        adoptions.open(OWN, &schedule());
        adoptions
    }

    #[test]
    fn a_share_is_taken_over_ahead_and_is_known_to_whoever_looks() {
        let adoptions = opened();
        let mut view = adoptions.view();
        assert!(view.news().is_empty());
        let from_ns = SECOND + Adoptions::AHEAD_NS;
        assert_eq!(adoptions.adopt(LOST, from_ns, || SECOND), Ok(()));
        let adopted = Adopted {
            share: LOST,
            from_ns,
        };
        assert_eq!(view.news(), [adopted]);
        assert!(view.news().is_empty());
        assert_eq!(adoptions.adopted(), [adopted]);
        // Ten a second, from 1.25 s on.
        assert_eq!(adoptions.due(&schedule(), (0, 1), from_ns), 0);
        let of_workers = |until| {
            (0..2)
                .map(|worker| adoptions.due(&schedule(), (worker, 2), until))
                .sum::<u64>()
        };
        assert_eq!(adoptions.due(&schedule(), (0, 1), 3 * SECOND), 17);
        assert_eq!(of_workers(3 * SECOND), 17);
    }

    #[test]
    fn what_comes_too_late_is_taken_back() {
        let adoptions = opened();
        let mut view = adoptions.view();
        let now = Cell::new(SECOND);
        let held_up = || now.replace(now.get() + 1);
        let from_ns = SECOND + Adoptions::AHEAD_NS - 1;
        assert_eq!(
            adoptions.adopt(LOST, from_ns, held_up),
            Err(Refused::TooLate)
        );
        assert!(view.news().is_empty() && adoptions.adopted().is_empty());
        assert_eq!(adoptions.due(&schedule(), (0, 1), 10 * SECOND), 0);
        assert_eq!(adoptions.adopt(LOST, 2 * SECOND, held_up), Ok(()));
        assert_eq!(view.news().len(), 1);
    }

    #[test]
    fn no_arrival_can_be_anybodys_twice_nor_be_taken_over_where_nobody_is_prepared() {
        let ahead = |adoptions: &Adoptions, share| adoptions.adopt(share, 2 * SECOND, || 0);
        assert_eq!(ahead(&Adoptions::default(), LOST), Err(Refused::NotHere));
        let adoptions = opened();
        assert_eq!(ahead(&adoptions, OWN), Err(Refused::Own));
        assert_eq!(ahead(&adoptions, OWN.part(1, 2)), Err(Refused::Own));
        assert_eq!(ahead(&adoptions, LOST.part(1, 2)), Ok(()));
        assert_eq!(ahead(&adoptions, LOST), Err(Refused::Own));
        assert_eq!(ahead(&adoptions, LOST.part(0, 2)), Ok(()));
        let late = adoptions.adopt(Share { index: 2, of: 3 }, 10 * SECOND + 1, || 0);
        assert_eq!(late, Err(Refused::Over));
    }
}
