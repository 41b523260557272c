//! Deadlines of one worker. Arrivals, think times and back-offs use an exact heap. Timeouts, which
//! rarely fire, use a coarse timer wheel (10 ms).
//!
//! The caller supplies the time to [`Deadlines::fire`].

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::BinaryHeap,
    rc::Rc,
    task::{Context, Poll, Waker},
};

/// Width of a slot of the timer wheel, in nanoseconds.
pub const TICK_NS: u64 = 10_000_000;
const SLOTS: usize = 2048;
/// The time that means "no deadline".
pub const NEVER: u64 = u64::MAX;

/// The deadlines of one worker.
#[derive(Debug)]
pub struct Deadlines {
    exact: BinaryHeap<Reverse<(u64, usize)>>,
    sleepers: Vec<Sleeper>,
    free: Vec<usize>,
    wheel: Vec<Vec<Rc<Limit>>>,
    tick: u64,
}

#[derive(Debug)]
enum Sleeper {
    Waiting(Waker),
    Fired,
    /// A cancelled entry. It becomes free when the heap reaches it.
    Gone,
}

impl Default for Deadlines {
    fn default() -> Self {
        let mut wheel = Vec::new();
        wheel.resize_with(SLOTS, Vec::new);
        Deadlines {
            exact: BinaryHeap::new(),
            sleepers: Vec::new(),
            free: Vec::new(),
            wheel,
            tick: 0,
        }
    }
}

impl Deadlines {
    /// Returns the time of the next exact deadline.
    #[must_use]
    pub fn next_exact(&self) -> u64 {
        self.exact.peek().map_or(NEVER, |Reverse((at, _))| *at)
    }

    /// Returns the time at which the wheel must be advanced next.
    #[must_use]
    pub fn next_tick(&self) -> u64 {
        (self.tick + 1) * TICK_NS
    }

    /// Starts the wheel at this time. Must be called before any limit is set.
    pub fn begin(&mut self, now_ns: u64) {
        self.tick = self.tick.max(now_ns / TICK_NS);
    }

    /// Wakes all expired exact deadlines and advances the wheel.
    pub fn fire(&mut self, now_ns: u64) {
        while let Some(Reverse((at, id))) = self.exact.peek().copied() {
            if at > now_ns {
                break;
            }
            self.exact.pop();
            match std::mem::replace(&mut self.sleepers[id], Sleeper::Fired) {
                Sleeper::Waiting(waker) => waker.wake(),
                Sleeper::Fired => {}
                Sleeper::Gone => {
                    self.sleepers[id] = Sleeper::Gone;
                    self.free.push(id);
                }
            }
        }
        // Process a slot one tick later, when all of its deadlines have passed.
        while self.tick < now_ns / TICK_NS {
            self.tick += 1;
            let due = std::mem::take(&mut self.wheel[self.tick as usize % SLOTS]);
            for limit in due {
                self.look_at(limit, now_ns);
            }
        }
    }

    fn look_at(&mut self, limit: Rc<Limit>, now_ns: u64) {
        // The entry is outdated, because the deadline was moved to an earlier time.
        if limit.queued_at.get() != self.tick {
            return;
        }
        limit.queued_at.set(NEVER);
        let deadline = limit.deadline.get();
        if deadline == NEVER {
            return;
        }
        if deadline <= now_ns {
            limit.expire();
        } else {
            self.enqueue(limit);
        }
    }

    fn enqueue(&mut self, limit: Rc<Limit>) {
        let wanted = limit.deadline.get() / TICK_NS + 1;
        let tick = wanted.clamp(self.tick + 1, self.tick + SLOTS as u64 - 1);
        limit.queued_at.set(tick);
        self.wheel[tick as usize % SLOTS].push(limit);
    }

    /// Sets or moves the deadline of a limit. Moving it to a later time costs nothing.
    pub fn limit(&mut self, limit: &Rc<Limit>, deadline_ns: u64) {
        limit.deadline.set(deadline_ns);
        limit.expired.set(false);
        if deadline_ns != NEVER && limit.queued_at.get() > deadline_ns / TICK_NS + 1 {
            self.enqueue(Rc::clone(limit));
        }
    }

    /// Adds an exact deadline in nanoseconds of the run, and returns its ID.
    pub fn add(&mut self, at: u64, waker: Waker) -> usize {
        let id = match self.free.pop() {
            Some(id) => {
                self.sleepers[id] = Sleeper::Waiting(waker);
                id
            }
            None => {
                self.sleepers.push(Sleeper::Waiting(waker));
                self.sleepers.len() - 1
            }
        };
        self.exact.push(Reverse((at, id)));
        id
    }
}

/// The time limit of a wait. The waiting task polls it.
#[derive(Debug)]
pub struct Limit {
    deadline: Cell<u64>,
    expired: Cell<bool>,
    aborted: Cell<bool>,
    queued_at: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

/// Why a wait ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cut {
    /// The deadline passed.
    Expired,
    /// The run ended.
    Aborted,
}

impl Default for Limit {
    fn default() -> Self {
        Limit {
            deadline: Cell::new(NEVER),
            expired: Cell::new(false),
            aborted: Cell::new(false),
            queued_at: Cell::new(NEVER),
            waker: RefCell::new(None),
        }
    }
}

impl Limit {
    /// Returns `Ready` if the wait must end. Otherwise, registers the caller to be woken.
    pub fn poll(&self, cx: &Context<'_>) -> Poll<Cut> {
        if self.aborted.get() {
            return Poll::Ready(Cut::Aborted);
        }
        if self.expired.get() {
            return Poll::Ready(Cut::Expired);
        }
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    /// Ends all current and future waits under this limit, because the run has ended.
    pub fn abort(&self) {
        self.aborted.set(true);
        self.wake();
    }

    /// Removes the deadline after the limited operation has finished.
    pub fn disarm(&self) {
        self.deadline.set(NEVER);
        self.expired.set(false);
    }

    /// Drops the waker. Otherwise, it would keep a whole task alive until the timeout.
    pub fn retire(&self) {
        self.disarm();
        self.waker.borrow_mut().take();
    }

    /// Returns whether the run has ended.
    #[must_use]
    pub fn is_aborted(&self) -> bool {
        self.aborted.get()
    }

    fn expire(&self) {
        self.expired.set(true);
        self.wake();
    }

    fn wake(&self) {
        if let Some(waker) = self.waker.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// A sleep until an exact time. Dropping it cancels the sleep.
#[derive(Debug)]
pub struct Sleep<'a> {
    deadlines: &'a RefCell<Deadlines>,
    at: u64,
    id: Option<usize>,
}

impl<'a> Sleep<'a> {
    /// Creates a sleep until `at`.
    #[must_use]
    pub fn until(deadlines: &'a RefCell<Deadlines>, at: u64) -> Sleep<'a> {
        Sleep {
            deadlines,
            at,
            id: None,
        }
    }
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: std::pin::Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let mut deadlines = self.deadlines.borrow_mut();
        let Some(id) = self.id else {
            let id = deadlines.add(self.at, cx.waker().clone());
            drop(deadlines);
            self.id = Some(id);
            return Poll::Pending;
        };
        match &mut deadlines.sleepers[id] {
            Sleeper::Waiting(waker) => {
                waker.clone_from(cx.waker());
                Poll::Pending
            }
            Sleeper::Fired | Sleeper::Gone => Poll::Ready(()),
        }
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id else { return };
        let mut deadlines = self.deadlines.borrow_mut();
        let fired = matches!(deadlines.sleepers[id], Sleeper::Fired);
        deadlines.sleepers[id] = Sleeper::Gone;
        if fired {
            deadlines.free.push(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Wake;

    use super::*;

    struct Flag(std::sync::atomic::AtomicBool);

    impl Wake for Flag {
        fn wake(self: std::sync::Arc<Self>) {
            self.0.store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }

    fn waker() -> (std::sync::Arc<Flag>, Waker) {
        let flag = std::sync::Arc::new(Flag(false.into()));
        (std::sync::Arc::clone(&flag), flag.into())
    }

    fn is_woken(flag: &Flag) -> bool {
        flag.0.load(std::sync::atomic::Ordering::Relaxed)
    }

    #[test]
    fn sleeps_end_at_their_moment() {
        let deadlines = RefCell::new(Deadlines::default());
        let (flag, waker) = waker();
        let mut cx = Context::from_waker(&waker);
        let mut sleep = std::pin::pin!(Sleep::until(&deadlines, 100));
        assert!(sleep.as_mut().poll(&mut cx).is_pending());
        assert_eq!(deadlines.borrow().next_exact(), 100);
        deadlines.borrow_mut().fire(99);
        assert!(!is_woken(&flag));
        deadlines.borrow_mut().fire(100);
        assert!(is_woken(&flag) && sleep.as_mut().poll(&mut cx).is_ready());
    }

    #[test]
    fn dropped_sleep_frees_its_place() {
        let deadlines = RefCell::new(Deadlines::default());
        let (flag, waker) = waker();
        let mut cx = Context::from_waker(&waker);
        for at in [100, 200, 300] {
            let mut sleep = Box::pin(Sleep::until(&deadlines, at));
            assert!(sleep.as_mut().poll(&mut cx).is_pending());
            drop(sleep);
            deadlines.borrow_mut().fire(at);
        }
        assert!(!is_woken(&flag));
        assert_eq!(deadlines.borrow().sleepers.len(), 1);
    }

    #[test]
    fn limits_expire_within_two_ticks() {
        let mut deadlines = Deadlines::default();
        let (flag, waker) = waker();
        let cx = Context::from_waker(&waker);
        let limit = Rc::new(Limit::default());
        deadlines.limit(&limit, 50 * TICK_NS);
        deadlines.limit(&limit, 80 * TICK_NS + 1);
        assert!(limit.poll(&cx).is_pending());
        for tick in 1..=80 {
            deadlines.fire(tick * TICK_NS);
        }
        assert!(!is_woken(&flag) && limit.poll(&cx).is_pending());
        deadlines.fire(82 * TICK_NS);
        assert!(is_woken(&flag));
        assert_eq!(limit.poll(&cx), Poll::Ready(Cut::Expired));
        deadlines.limit(&limit, 100_000 * TICK_NS);
        assert!(limit.poll(&cx).is_pending());
        deadlines.limit(&limit, 90 * TICK_NS);
        deadlines.fire(92 * TICK_NS);
        assert_eq!(limit.poll(&cx), Poll::Ready(Cut::Expired));
        limit.abort();
        assert_eq!(limit.poll(&cx), Poll::Ready(Cut::Aborted));
    }

    #[test]
    fn disarmed_limit_never_fires_and_retired_one_drops_its_waker() {
        let mut deadlines = Deadlines::default();
        let limit = Rc::new(Limit::default());
        let (flag, waker) = waker();
        deadlines.limit(&limit, 50 * TICK_NS);
        assert!(limit.poll(&Context::from_waker(&waker)).is_pending());
        limit.disarm();
        deadlines.fire(100 * TICK_NS);
        assert!(!is_woken(&flag));
        assert!(limit.poll(&Context::from_waker(&waker)).is_pending());
        drop(waker);
        assert_eq!(std::sync::Arc::strong_count(&flag), 2);
        limit.retire();
        assert_eq!(std::sync::Arc::strong_count(&flag), 1);
    }

    #[test]
    fn moved_limit_has_one_entry() {
        let mut deadlines = Deadlines::default();
        let limit = Rc::new(Limit::default());
        for round in 0..50 {
            deadlines.limit(&limit, (round * 100 + 90) * TICK_NS);
            deadlines.limit(&limit, (round * 100 + 10) * TICK_NS);
            deadlines.limit(&limit, (round * 100 + 190) * TICK_NS);
            deadlines.fire((round + 1) * 100 * TICK_NS);
        }
        let entries: usize = deadlines.wheel.iter().map(Vec::len).sum();
        assert!(entries <= 2, "{entries} entries");
    }

    #[test]
    fn distant_deadlines_survive_wheel_turns() {
        let mut deadlines = Deadlines::default();
        let limit = Rc::new(Limit::default());
        let (_, waker) = waker();
        let cx = Context::from_waker(&waker);
        deadlines.limit(&limit, 10_000 * TICK_NS);
        deadlines.fire(9_999 * TICK_NS);
        assert!(limit.poll(&cx).is_pending());
        deadlines.fire(10_002 * TICK_NS);
        assert!(limit.poll(&cx).is_ready());
    }
}
