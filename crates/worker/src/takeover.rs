//! Takeover of a lost node's share: the node's arrivals from a future time that all workers agree
//! on.
//!
//! Only scheduled arrivals of scenarios can be taken over. Users of a closed load, raw requests,
//! MQTT clients and external drivers keep their shares.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use plan::{Schedule, Share, schedule::Shard};

use crate::{WorkerPosition, load_control::KNOWN_NS};

/// The shares that were taken over so far. Clones refer to the same state.
#[derive(Debug, Clone, Default)]
pub struct ShardTakeover(Arc<TakeoverState>);

#[derive(Debug, Default)]
struct TakeoverState {
    version: AtomicU64,
    state: Mutex<Takeovers>,
}

#[derive(Debug, Default)]
struct Takeovers {
    /// Share of this process. `None` if this process cannot take over other shares.
    own: Option<Share>,
    end_ns: u64,
    taken_over: Vec<TakenOver>,
}

/// A share that was taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TakenOver {
    /// The lost node's share of all arrivals.
    pub share: Share,
    /// Intended start from which the arrivals are taken over, in nanoseconds from the start of the
    /// run.
    pub from_ns: u64,
}

/// Why a share cannot be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakeoverRefusal {
    /// The work does not support takeovers, or the run was not prepared for them.
    NotHere,
    /// Some of the arrivals already belong to this process.
    Own,
    /// No arrivals remain.
    Over,
    /// Some workers might not notice the takeover in time. Try again with a later time.
    TooLate,
}

impl std::fmt::Display for TakeoverRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            TakeoverRefusal::NotHere => "this process cannot take over arrivals",
            TakeoverRefusal::Own => "some of these arrivals already belong to this process",
            TakeoverRefusal::Over => "no arrivals remain after that time",
            TakeoverRefusal::TooLate => {
                "the request came too late: some workers would have missed it"
            }
        })
    }
}

impl std::error::Error for TakeoverRefusal {}

impl ShardTakeover {
    /// Minimum time between the request for a takeover and its start, in nanoseconds.
    pub const AHEAD_NS: u64 = KNOWN_NS;

    /// Takes over the arrivals of a share that are intended at `from_ns` or later. `now` returns
    /// the current time of the run.
    ///
    /// A takeover must be stored before it starts, because workers check for takeovers before they
    /// start an arrival. On failure, no arrival of the share is sent.
    pub fn take_over(
        &self,
        share: Share,
        from_ns: u64,
        now: impl Fn() -> u64,
    ) -> Result<(), TakeoverRefusal> {
        let mut state = self.lock();
        let own = state.own.ok_or(TakeoverRefusal::NotHere)?;
        let mut known = state.taken_over.iter().map(|taken_over| taken_over.share);
        if share.meets(own) || known.any(|known| known.meets(share)) {
            return Err(TakeoverRefusal::Own);
        }
        if from_ns > state.end_ns {
            return Err(TakeoverRefusal::Over);
        }
        state.taken_over.push(TakenOver { share, from_ns });
        self.0.version.fetch_add(1, Ordering::SeqCst);
        if now().saturating_add(KNOWN_NS) > from_ns {
            state.taken_over.pop();
            self.0.version.fetch_add(1, Ordering::SeqCst);
            return Err(TakeoverRefusal::TooLate);
        }
        Ok(())
    }

    /// Returns all takeovers in order.
    #[must_use]
    pub fn taken_over(&self) -> Vec<TakenOver> {
        self.lock().taken_over.clone()
    }

    /// Allows takeovers until the end of the schedule. `own` is the share of this process.
    pub fn open(&self, own: Share, schedule: &Schedule) {
        let mut state = self.lock();
        state.own = Some(own);
        state.end_ns = schedule.end_ns();
    }

    /// Returns the number of taken-over arrivals that are due by a time and belong to one of the
    /// workers.
    pub fn due(&self, schedule: &Schedule, position: WorkerPosition, until_ns: u64) -> u64 {
        let due = |taken_over: &TakenOver| {
            let share = position.part_of(taken_over.share);
            schedule.due_of_share(share, taken_over.from_ns, until_ns)
        };
        self.lock().taken_over.iter().map(due).sum()
    }

    /// Creates a view for one worker, which has not seen any takeovers.
    #[must_use]
    pub fn view(&self) -> TakeoverView {
        TakeoverView {
            takeovers: self.clone(),
            version: 0,
            known: 0,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Takeovers> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A worker's view of the takeovers, which returns those that the worker has not seen yet.
#[derive(Debug)]
pub struct TakeoverView {
    takeovers: ShardTakeover,
    version: u64,
    known: usize,
}

impl TakeoverView {
    /// Returns the takeovers that were added since the last call. No takeover that was stored before
    /// this call is missed.
    #[inline]
    pub fn news(&mut self) -> Vec<TakenOver> {
        if self.takeovers.0.version.load(Ordering::SeqCst) == self.version {
            return Vec::new();
        }
        self.look()
    }

    #[cold]
    fn look(&mut self) -> Vec<TakenOver> {
        let state = self.takeovers.lock();
        self.version = self.takeovers.0.version.load(Ordering::SeqCst);
        // Revoked takeovers were removed before the lock was released.
        let news = state
            .taken_over
            .get(self.known..)
            .unwrap_or_default()
            .to_vec();
        self.known = state.taken_over.len();
        news
    }
}

/// Returns the arrivals in a worker's part of a taken-over share.
#[must_use]
pub fn shard<'a>(
    taken_over: TakenOver,
    schedule: &'a Schedule,
    position: WorkerPosition,
) -> Shard<'a> {
    schedule.shard_from(position.part_of(taken_over.share), taken_over.from_ns)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use plan::{FirstArrival, Load, Phase, Rate, Shape, units::SECOND};

    use super::*;

    const OWN: Share = Share { index: 0, of: 3 };
    const LOST: Share = Share { index: 1, of: 3 };
    const ONLY_WORKER: WorkerPosition = WorkerPosition {
        index: 0,
        workers: 1,
    };

    fn schedule() -> Schedule {
        let phase = Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(30)));
        let load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        Schedule::new(&load, 1)
    }

    fn opened() -> ShardTakeover {
        let takeovers = ShardTakeover::default();
        takeovers.open(OWN, &schedule());
        takeovers
    }

    #[test]
    fn takeover_is_visible_before_its_moment() {
        let takeovers = opened();
        let mut view = takeovers.view();
        assert!(view.news().is_empty());
        let from_ns = SECOND + ShardTakeover::AHEAD_NS;
        assert_eq!(takeovers.take_over(LOST, from_ns, || SECOND), Ok(()));
        let taken_over = TakenOver {
            share: LOST,
            from_ns,
        };
        assert_eq!(view.news(), [taken_over]);
        assert!(view.news().is_empty());
        assert_eq!(takeovers.taken_over(), [taken_over]);
        assert_eq!(takeovers.due(&schedule(), ONLY_WORKER, from_ns), 0);
        let of_workers = |until| {
            (0..2)
                .map(|index| {
                    takeovers.due(&schedule(), WorkerPosition { index, workers: 2 }, until)
                })
                .sum::<u64>()
        };
        assert_eq!(takeovers.due(&schedule(), ONLY_WORKER, 3 * SECOND), 17);
        assert_eq!(of_workers(3 * SECOND), 17);
    }

    #[test]
    fn late_takeover_is_revoked() {
        let takeovers = opened();
        let mut view = takeovers.view();
        let now = Cell::new(SECOND);
        let held_up = || now.replace(now.get() + 1);
        let from_ns = SECOND + ShardTakeover::AHEAD_NS - 1;
        assert_eq!(
            takeovers.take_over(LOST, from_ns, held_up),
            Err(TakeoverRefusal::TooLate)
        );
        assert!(view.news().is_empty() && takeovers.taken_over().is_empty());
        assert_eq!(takeovers.due(&schedule(), ONLY_WORKER, 10 * SECOND), 0);
        assert_eq!(takeovers.take_over(LOST, 2 * SECOND, held_up), Ok(()));
        assert_eq!(view.news().len(), 1);
    }

    #[test]
    fn duplicate_or_unprepared_takeover_is_rejected() {
        let ahead = |takeovers: &ShardTakeover, share| takeovers.take_over(share, 2 * SECOND, || 0);
        assert_eq!(
            ahead(&ShardTakeover::default(), LOST),
            Err(TakeoverRefusal::NotHere)
        );
        let takeovers = opened();
        assert_eq!(ahead(&takeovers, OWN), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&takeovers, OWN.part(1, 2)), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&takeovers, LOST.part(1, 2)), Ok(()));
        assert_eq!(ahead(&takeovers, LOST), Err(TakeoverRefusal::Own));
        assert_eq!(ahead(&takeovers, LOST.part(0, 2)), Ok(()));
        let late = takeovers.take_over(Share { index: 2, of: 3 }, 10 * SECOND + 1, || 0);
        assert_eq!(late, Err(TakeoverRefusal::Over));
    }
}
