//! A load that can be changed during a run. A change takes effect at a time that all workers agree
//! on. Arrivals before that time keep their numbers and times.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use plan::{ActivePeriod, Load, Rate, Schedule, load::Fixed, units::MILLISECOND};

/// Time between the request for a change and its start.
pub const LEAD_NS: u64 = 500 * MILLISECOND;
/// Requests per second that one worker can handle. Above this rate, the run adds another worker.
pub const PER_WORKER: f64 = 15_000.0;
/// Minimum time between storing a change and its start. A change that is stored later is revoked.
pub const KNOWN_NS: u64 = LEAD_NS / 2;
/// Time between two checks for changes.
pub const LOOK_NS: u64 = 100 * MILLISECOND;
/// Maximum number of users. The numbering of iterations limits it.
pub const MOST_USERS: u32 = 1_000_000;

/// A load that can be changed during the run. Clones refer to the same state.
#[derive(Debug, Clone)]
pub struct LoadControl(Arc<LoadState>);

#[derive(Debug)]
struct LoadState {
    version: AtomicU64,
    state: Mutex<CurrentLoad>,
    closed_ns: u64,
    most: Most,
}

/// Maximum load that this process can produce.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Most {
    /// Maximum number of arrivals per second: the capacity of the workers divided by the requests
    /// per arrival.
    pub per_second: f64,
    /// Maximum number of users.
    pub users: u32,
}

/// The load, including all changes so far.
#[derive(Debug, Clone)]
pub struct CurrentLoad {
    /// Schedule of the intended starts, with the phases of the plan.
    pub schedule: Schedule,
    /// The load with its rates and users. A changed phase is split in two.
    pub load: Load,
    /// All changes in order of time.
    pub changes: Vec<Change>,
}

/// The quantity that a change sets, with its new value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum AdjustedLoad {
    /// Arrivals per second until the end of the phase.
    Rate(Rate),
    /// Number of users of a closed load until the end of the phase.
    Users(u32),
}

/// A change of the load.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Start of the change, in nanoseconds from the start.
    pub at_ns: u64,
    /// Phase of the plan in which the change takes effect.
    pub phase: u32,
    /// Value before the change.
    pub from: AdjustedLoad,
    /// Value after the change.
    pub to: AdjustedLoad,
    /// New number of planned arrivals, in total and by phase. `None` if the load is closed.
    pub planned: Option<(u64, Vec<u64>)>,
}

/// Why a change is rejected.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ChangeRefusal {
    /// The load cannot be changed.
    Fixed(Fixed),
    /// The load already has this value.
    Same,
    /// The value exceeds the limits of this process.
    TooMuch(AdjustedLoad, Most),
    /// This thread was delayed, so some workers might not notice the change in time.
    TooLate,
}

impl std::fmt::Display for ChangeRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ChangeRefusal::Fixed(reason) => reason.fmt(f),
            ChangeRefusal::Same => f.write_str("the load already has this value"),
            ChangeRefusal::TooMuch(AdjustedLoad::Rate(_), most) => write!(
                f,
                "more than the workers of this run can send, {:.0}/s ({:.0} requests/s for each worker): restart the test with more --workers, or at that rate",
                most.per_second.floor(),
                PER_WORKER
            ),
            ChangeRefusal::TooMuch(AdjustedLoad::Users(_), most) => write!(
                f,
                "more users than this process can have connections, {} (limited by open files, and to a million in any case): increase the limit with `ulimit -n` and restart the test",
                most.users
            ),
            ChangeRefusal::TooLate => {
                f.write_str("this machine was delayed, so nothing was changed: try again")
            }
        }
    }
}

impl LoadControl {
    /// Creates a control for a planned load.
    #[must_use]
    pub fn new(load: &Load, schedule: &Schedule, most: Most) -> LoadControl {
        let state = CurrentLoad {
            schedule: schedule.clone(),
            load: load.clone(),
            changes: Vec::new(),
        };
        LoadControl(Arc::new(LoadState {
            version: AtomicU64::new(0),
            closed_ns: schedule.end_ns(),
            state: Mutex::new(state),
            most,
        }))
    }

    /// Returns the limits of this process.
    #[must_use]
    pub fn most(&self) -> Most {
        self.0.most
    }

    /// Returns the load with all changes so far.
    #[must_use]
    pub fn state(&self) -> CurrentLoad {
        self.lock().clone()
    }

    /// Returns the changes after the first `known` changes, and the current load. `None` if there
    /// are no new changes.
    #[must_use]
    pub fn changes_since(&self, known: usize) -> Option<(Vec<Change>, Load)> {
        let state = self.lock();
        let new = state.changes.get(known..).filter(|new| !new.is_empty())?;
        Some((new.to_vec(), state.load.clone()))
    }

    /// Returns the number of arrivals of shard `shard` out of `of` that are due by a time,
    /// including all changes.
    pub fn due_of_shard(&self, shard: u64, of: u64, until_ns: u64) -> u64 {
        self.lock().schedule.due_of_shard(shard, of, until_ns)
    }

    /// Changes the load for the rest of the current phase. `now` returns the current time of the
    /// run. Removed users finish their iteration.
    ///
    /// A change must be stored before its start, because workers check for changes before they
    /// start an arrival. A change that is stored too late is revoked before any worker can read it.
    pub fn change(&self, to: AdjustedLoad, now: impl Fn() -> u64) -> Result<Change, ChangeRefusal> {
        let mut state = self.lock();
        // Changes start in the order in which they were requested.
        let newest = state.changes.last().map_or(0, |change| change.at_ns + 1);
        let at_ns = (now() + LEAD_NS).max(newest);
        let from = state.at(at_ns, self.0.closed_ns)?;
        if from.is_rate() == to.is_rate() && self.0.most.is_below(to) {
            return Err(ChangeRefusal::TooMuch(to, self.0.most));
        }
        let changed = state.with(from, to, at_ns)?;
        let change = changed.changes.last().cloned().ok_or(ChangeRefusal::Same)?;
        let before = std::mem::replace(&mut *state, changed);
        self.0.version.fetch_add(1, Ordering::SeqCst);
        if now() + KNOWN_NS > at_ns {
            *state = before;
            self.0.version.fetch_add(1, Ordering::SeqCst);
            return Err(ChangeRefusal::TooLate);
        }
        Ok(change)
    }

    /// Returns the current value, which a change would replace. Fails if the load cannot be
    /// changed.
    pub fn now(&self, now_ns: u64) -> Result<AdjustedLoad, ChangeRefusal> {
        self.lock().at(now_ns + LEAD_NS, self.0.closed_ns)
    }

    /// Creates a view of the load for one worker.
    #[must_use]
    pub fn view(&self) -> LoadView {
        let state = self.lock();
        LoadView {
            version: self.0.version.load(Ordering::SeqCst),
            state: state.clone(),
            load_control: self.clone(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, CurrentLoad> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Most {
    fn is_below(self, wanted: AdjustedLoad) -> bool {
        match wanted {
            AdjustedLoad::Rate(rate) => rate.as_f64() > self.per_second,
            AdjustedLoad::Users(users) => users > self.users,
        }
    }
}

impl CurrentLoad {
    fn at(&self, at_ns: u64, end_ns: u64) -> Result<AdjustedLoad, ChangeRefusal> {
        if at_ns >= end_ns {
            return Err(ChangeRefusal::Fixed(Fixed::Over));
        }
        let found = match self.load {
            Load::Closed { .. } => self.load.constant_users_at(at_ns).map(AdjustedLoad::Users),
            _ => self.load.constant_rate_at(at_ns).map(AdjustedLoad::Rate),
        };
        found.map_err(ChangeRefusal::Fixed)
    }

    fn with(
        &self,
        from: AdjustedLoad,
        to: AdjustedLoad,
        at_ns: u64,
    ) -> Result<CurrentLoad, ChangeRefusal> {
        let (schedule, load, planned) = match (from, to) {
            (AdjustedLoad::Rate(_), AdjustedLoad::Users(_)) => {
                return Err(ChangeRefusal::Fixed(Fixed::NoUsers));
            }
            (AdjustedLoad::Users(_), AdjustedLoad::Rate(_)) => {
                return Err(ChangeRefusal::Fixed(Fixed::NoRate));
            }
            (AdjustedLoad::Users(_), AdjustedLoad::Users(users)) => {
                let load = self.load.with_users(at_ns, users);
                (self.schedule.clone(), load, None)
            }
            (AdjustedLoad::Rate(_), AdjustedLoad::Rate(rate)) => {
                let schedule = self.schedule.with_rate(at_ns, rate);
                let phases = 0..schedule.phase_ends().len() as u32;
                let of_phases = phases.map(|phase| schedule.phase_total(phase)).collect();
                let planned = Some((schedule.total(), of_phases));
                (schedule, self.load.with_rate(at_ns, rate), planned)
            }
        };
        if from.figure() == to.figure() {
            return Err(ChangeRefusal::Same);
        }
        let change = Change {
            at_ns,
            phase: schedule.phase_at(at_ns),
            from,
            to,
            planned,
        };
        Ok(CurrentLoad {
            changes: [&self.changes[..], &[change]].concat(),
            schedule,
            load,
        })
    }

    /// Returns the periods in which a user of a closed load is active.
    #[must_use]
    pub fn stays(&self, user: u32) -> Vec<ActivePeriod> {
        let phases = self.load.user_phases().unwrap_or_default();
        ActivePeriod::all(&phases, user, self.schedule.end_ns())
    }

    /// Returns the number of users of a closed load, otherwise 0.
    #[must_use]
    pub fn users(&self) -> u32 {
        match self.load {
            Load::Closed { users, .. } => users,
            _ => 0,
        }
    }
}

impl AdjustedLoad {
    fn is_rate(self) -> bool {
        matches!(self, AdjustedLoad::Rate(_))
    }

    /// Returns the value as a number: arrivals per second, or users.
    #[must_use]
    pub fn figure(self) -> f64 {
        match self {
            AdjustedLoad::Rate(rate) => rate.as_f64(),
            AdjustedLoad::Users(users) => f64::from(users),
        }
    }
}

/// A worker's copy of the current load, which it updates when the load changes.
#[derive(Debug, Clone)]
pub struct LoadView {
    load_control: LoadControl,
    version: u64,
    state: CurrentLoad,
}

impl LoadView {
    /// Loads new changes, including all changes stored before the call. Returns whether there are
    /// any.
    pub fn renew(&mut self) -> bool {
        if self.load_control.0.version.load(Ordering::SeqCst) == self.version {
            return false;
        }
        *self = self.load_control.view();
        true
    }

    /// Returns the version of the load, which increases with every change.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the load as of the last [`LoadView::renew`].
    pub fn state(&self) -> &CurrentLoad {
        &self.state
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use plan::{FirstArrival, Phase, Shape, units::SECOND};

    use super::*;

    const MOST: Most = Most {
        per_second: 1000.0,
        users: 100,
    };

    fn load_control() -> LoadControl {
        let phase = Phase::new(10 * SECOND, Shape::Rate(Rate::per_second(50)));
        let load = Load::Open {
            phases: vec![phase],
            first: FirstArrival::AtStart,
        };
        LoadControl::new(&load, &Schedule::new(&load, 1), MOST)
    }

    fn rate(per_second: u64) -> AdjustedLoad {
        AdjustedLoad::Rate(Rate::per_second(per_second))
    }

    #[test]
    fn change_is_visible_before_its_start() {
        let load_control = load_control();
        let mut view = load_control.view();
        assert!(!view.renew());
        let change = load_control.change(rate(80), || SECOND).unwrap();
        assert_eq!(
            (change.at_ns, change.from, change.to),
            (SECOND + LEAD_NS, rate(50), rate(80))
        );
        assert!(view.renew());
        assert!(!view.renew());
        assert_eq!(view.state().schedule.total(), 75 + 680);
        assert_eq!(change.planned, Some((755, vec![755])));
        let next = load_control.change(rate(10), || SECOND).unwrap();
        assert_eq!((next.at_ns, next.from), (SECOND + LEAD_NS + 1, rate(80)));
    }

    #[test]
    fn late_change_is_revoked() {
        let load_control = load_control();
        let mut view = load_control.view();
        let now = Cell::new(0);
        let held_up = || now.replace(now.get() + KNOWN_NS + 1);
        let refused = load_control.change(rate(80), held_up);
        assert_eq!(refused, Err(ChangeRefusal::TooLate));
        view.renew();
        assert_eq!(view.state().schedule.total(), 500);
        assert!(load_control.state().changes.is_empty());
    }

    #[test]
    fn unchangeable_load_is_kept() {
        let load_control = load_control();
        let refused = |wanted, at| load_control.change(wanted, || at).unwrap_err();
        assert_eq!(refused(rate(50), SECOND), ChangeRefusal::Same);
        assert_eq!(
            refused(rate(80), 9_600 * MILLISECOND),
            ChangeRefusal::Fixed(Fixed::Over)
        );
        assert_eq!(
            refused(AdjustedLoad::Users(3), SECOND),
            ChangeRefusal::Fixed(Fixed::NoUsers)
        );
        assert_eq!(
            refused(rate(1001), SECOND),
            ChangeRefusal::TooMuch(rate(1001), MOST)
        );
        let load = Load::users(3, SECOND);
        let users = LoadControl::new(&load, &Schedule::new(&load, 1), MOST);
        let refused = |wanted| users.change(wanted, || 0).unwrap_err();
        assert_eq!(refused(rate(1)), ChangeRefusal::Fixed(Fixed::NoRate));
        assert_eq!(refused(AdjustedLoad::Users(3)), ChangeRefusal::Same);
        assert_eq!(
            refused(AdjustedLoad::Users(101)),
            ChangeRefusal::TooMuch(AdjustedLoad::Users(101), MOST)
        );
        assert!(users.state().changes.is_empty());
        assert_eq!(
            users
                .change(AdjustedLoad::Users(4), || 0)
                .map(|change| change.from),
            Ok(AdjustedLoad::Users(3))
        );
    }
}
