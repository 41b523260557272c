//! The main future of a worker. Sleeps on a timerfd until the next deadline, then runs the worker.
//!
//! Deadlines within the pacing slack share a wake-up ([`WakeupLatency::wake_at`]). Without slack,
//! the worker wakes early and polls for the last microseconds. Tokio's timer is too coarse, with a
//! resolution of milliseconds.

use std::{cell::Cell, io, os::fd::OwnedFd, task::Poll};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::unix::AsyncFd;

use crate::{wakeup::WakeupLatency, worker::Worker};

/// The main future of a worker.
pub struct Pacer {
    timer: AsyncFd<OwnedFd>,
    wakeup: Cell<WakeupLatency>,
    slack_ns: u64,
}

impl Pacer {
    /// Creates a pacer with this slack. Must be called inside the worker's runtime. Fails if no
    /// timer descriptor is available.
    pub fn new(slack_ns: u64) -> io::Result<Pacer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Pacer {
            timer: crate::sys::watch(timer)?,
            wakeup: Cell::default(),
            slack_ns,
        })
    }

    /// Runs the worker at every deadline until `done` returns `true`. Fails if the timer fails.
    pub async fn run(&self, worker: &Worker, done: impl Fn() -> bool) -> io::Result<()> {
        loop {
            let now = worker.clock.now();
            worker.sample_levels(now);
            worker.run_due(now);
            if done() {
                return Ok(());
            }
            let (deadline, exact) = worker.next_deadline();
            let wake_at = if exact {
                self.wakeup.get().wake_at(deadline, now, self.slack_ns)
            } else {
                deadline
            };
            if deadline <= now {
                tokio::task::yield_now().await;
            } else if wake_at <= now {
                tokio::task::yield_now().await;
                self.spun(worker, now);
            } else {
                self.sleep(worker, wake_at, deadline).await?;
            }
        }
    }

    /// Sleeps until the start of the run. Fails if the timer fails.
    pub async fn start(&self, worker: &Worker) -> io::Result<()> {
        self.sleep(worker, 0, 0).await
    }

    fn spun(&self, worker: &Worker, since_ns: u64) {
        let ns = worker.clock.now().saturating_sub(since_ns);
        let mut wakeup = self.wakeup.get();
        wakeup.spun(ns);
        self.wakeup.set(wakeup);
        let run = &mut worker.recorder.borrow_mut().run;
        match run.spin_ns.first_mut() {
            Some(sum) => *sum += ns,
            None => run.spin_ns.push(ns),
        }
    }

    /// Sleeps until `at_ns` (nanoseconds of the run), or until a task registers an earlier
    /// deadline.
    async fn sleep(&self, worker: &Worker, at_ns: u64, deadline_ns: u64) -> io::Result<()> {
        let absolute_ns = worker.clock.absolute(at_ns);
        let at = Timespec {
            tv_sec: (absolute_ns / 1_000_000_000) as i64,
            tv_nsec: (absolute_ns % 1_000_000_000) as i64,
        };
        let never = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let spec = Itimerspec {
            it_interval: never,
            it_value: at,
        };
        rustix::time::timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &spec)?;
        let alarm_ns = at_ns.min(deadline_ns);
        worker.alarm.set(alarm_ns);
        std::future::poll_fn(|cx| {
            if worker.alarm.is_before(alarm_ns) {
                return Poll::Ready(Ok(()));
            }
            worker.alarm.watch(cx);
            let mut guard = match self.timer.poll_read_ready(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(ready) => ready?,
            };
            let mut expirations = [0; 8];
            let _ = rustix::io::read(self.timer.get_ref(), &mut expirations);
            guard.clear_ready();
            let mut wakeup = self.wakeup.get();
            wakeup.woke(worker.clock.now().saturating_sub(at_ns));
            self.wakeup.set(wakeup);
            Poll::Ready(Ok(()))
        })
        .await
    }
}
