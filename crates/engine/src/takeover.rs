//! Takeover of a lost node's share: its arrivals from a moment shortly ahead that all workers agree
//! on. The caller detects the loss and records it.
//!
//! Only scheduled arrivals of scenarios can be taken over. Users of a closed load, raw requests,
//! MQTT clients and external drivers keep their shares. Limits per process stay as they are.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use plan::{Load, Schedule, Share, schedule::Shard};

use crate::{compiled::Compiled, load_control::KNOWN_NS, run::EngineOptions};

/// Shares taken over so far. Clones refer to the same state.
#[derive(Debug, Clone, Default)]
pub struct ShardTakeover(Arc<TakeoverState>);

#[derive(Debug, Default)]
struct TakeoverState {
    version: AtomicU64,
    state: Mutex<Takeovers>,
}

#[derive(Debug, Default)]
struct Takeovers {
    /// The process's own share. `None` if it cannot take over any.
    own: Option<Share>,
    end_ns: u64,
    adopted: Vec<Adopted>,
}

/// A share that was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Adopted {
    /// Its share of all arrivals.
    pub share: Share,
    /// First intended start taken over, in nanoseconds from the start.
    pub from_ns: u64,
}

/// Why a share cannot be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeoverRefusal {
    /// The work does not allow it, or the run was not prepared for it.
    NotHere,
    /// Some of these arrivals belong to this process already.
    Own,
    /// No arrivals are left.
    Over,
    /// Some workers might not know in time. Try again with a later moment.
    TooLate,
}

impl std::fmt::Display for TakeoverRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TakeoverRefusal::NotHere => "this process can take over no arrivals",
            TakeoverRefusal::Own => "some of these arrivals already belong to this process",
            TakeoverRefusal::Over => "no arrivals remain after that time",
            TakeoverRefusal::TooLate => {
                "it was requested too late: some workers would not have seen it"
            }
        })
    }
}

impl std::error::Error for TakeoverRefusal {}

impl ShardTakeover {
    /// Minimum time ahead of the moment from which a share is taken over.
    pub const AHEAD_NS: u64 = KNOWN_NS;

    /// Takes over the arrivals of a share that are intended at `from_ns` or later. `now` returns
    /// the current time of the run.
    ///
    /// Workers check for takeovers before they act on a moment, so it must be stored before its
    /// moment. If this thread was delayed past that, it is revoked before anyone can read it.
    ///
    /// On failure nothing of the share is sent.
    pub fn adopt(
        &self,
        share: Share,
        from_ns: u64,
        now: impl Fn() -> u64,
    ) -> Result<(), TakeoverRefusal> {
        let mut state = self.lock();
        let own = state.own.ok_or(TakeoverRefusal::NotHere)?;
        let mut known = state.adopted.iter().map(|adopted| adopted.share);
        if share.meets(own) || known.any(|known| known.meets(share)) {
            return Err(TakeoverRefusal::Own);
        }
        if from_ns > state.end_ns {
            return Err(TakeoverRefusal::Over);
        }
        state.adopted.push(Adopted { share, from_ns });
        self.0.version.fetch_add(1, Ordering::SeqCst);
        if now().saturating_add(KNOWN_NS) > from_ns {
            state.adopted.pop();
            self.0.version.fetch_add(1, Ordering::SeqCst);
            return Err(TakeoverRefusal::TooLate);
        }
        Ok(())
    }

    /// All takeovers in order.
    #[must_use]
    pub fn adopted(&self) -> Vec<Adopted> {
        self.lock().adopted.clone()
    }

    /// Creates the state of a run. `None` unless it has scheduled scenarios that cannot be changed
    /// at run time.
    pub(crate) fn new(
        work: &Compiled,
        options: &EngineOptions,
        is_steered: bool,
    ) -> Option<ShardTakeover> {
        let is_own = options.driver.is_none() && work.program.is_some() && !options.is_late;
        let arrives = matches!(work.load, Load::Open { .. });
        (options.adopts && is_own && arrives && !is_steered).then(|| {
            options.adoptions.open(options.share, &work.schedule);
            options.adoptions.clone()
        })
    }

    pub(crate) fn open(&self, own: Share, schedule: &Schedule) {
        let mut state = self.lock();
        state.own = Some(own);
        state.end_ns = schedule.end_ns();
    }

    /// Number of taken-over arrivals due until a moment that belong to one of `of` workers.
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

    pub(crate) fn view(&self) -> TakeoverView {
        TakeoverView {
            adoptions: self.clone(),
            version: 0,
            known: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Takeovers> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(crate) struct TakeoverView {
    adoptions: ShardTakeover,
    version: u64,
    known: usize,
}

impl TakeoverView {
    /// Returns takeovers since the last call. It sees all that were stored before the call.
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
        // Revoked ones were removed before the lock was free.
        let news = state.adopted.get(self.known..).unwrap_or_default().to_vec();
        self.known = state.adopted.len();
        news
    }
}

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

    fn opened() -> ShardTakeover {
        let adoptions = ShardTakeover::default();
        adoptions.open(OWN, &schedule());
        adoptions
    }

    #[test]
    fn takeover_is_visible_before_its_moment() {
        let adoptions = opened();
        let mut view = adoptions.view();
        assert!(view.news().is_empty());
        let from_ns = SECOND + ShardTakeover::AHEAD_NS;
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
    fn late_takeover_is_revoked() {
        let adoptions = opened();
        let mut view = adoptions.view();
        let now = Cell::new(SECOND);
        let held_up = || now.replace(now.get() + 1);
        let from_ns = SECOND + ShardTakeover::AHEAD_NS - 1;
        assert_eq!(
            adoptions.adopt(LOST, from_ns, held_up),
            Err(TakeoverRefusal::TooLate)
        );
        assert!(view.news().is_empty() && adoptions.adopted().is_empty());
        assert_eq!(adoptions.due(&schedule(), (0, 1), 10 * SECOND), 0);
        assert_eq!(adoptions.adopt(LOST, 2 * SECOND, held_up), Ok(()));
        assert_eq!(view.news().len(), 1);
    }

    #[test]
    fn duplicate_or_unprepared_takeover_is_rejected() {
        let ahead = |adoptions: &ShardTakeover, share| adoptions.adopt(share, 2 * SECOND, || 0);
        assert_eq!(
            ahead(&ShardTakeover::default(), LOST),
            Err(TakeoverRefusal::NotHere)
        );
        let adoptions = opened();
        assert_eq!(ahead(&adoptions, OWN), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&adoptions, OWN.part(1, 2)), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&adoptions, LOST.part(1, 2)), Ok(()));
        assert_eq!(ahead(&adoptions, LOST), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&adoptions, LOST.part(0, 2)), Ok(()));
        let late = adoptions.adopt(Share { index: 2, of: 3 }, 10 * SECOND + 1, || 0);
        assert_eq!(late, Err(TakeoverRefusal::Over));
    }
}
