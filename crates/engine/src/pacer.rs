//! The worker's main future: it waits for the next deadline - asleep on one timerfd, then awake and polling for the last
//! few microseconds - and turns the worker when it has come.
//!
//! tokio's own timer is not used: it counts in milliseconds. Time spent spinning is accounted apart, because it is not
//! work.

use std::{cell::Cell, io, os::fd::OwnedFd, task::Poll};

use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec};
use tokio::io::unix::AsyncFd;

use crate::{wakeup::WakeupLatency, worker::Worker};

/// Paces one worker.
pub struct Pacer {
    timer: AsyncFd<OwnedFd>,
    wakeup: Cell<WakeupLatency>,
}

impl Pacer {
    /// A pacer; must be made inside the worker's runtime.
    ///
    /// # Errors
    /// When the kernel has no descriptor for its timer.
    pub fn new() -> io::Result<Pacer> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let timer = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Pacer {
            timer: crate::sys::watch(timer)?,
            wakeup: Cell::default(),
        })
    }

    /// Turns the worker at every deadline until `done` says so.
    ///
    /// # Errors
    /// When the kernel's timer fails.
    pub async fn run(&self, worker: &Worker, done: impl Fn() -> bool) -> io::Result<()> {
        loop {
            let now = worker.clock.now();
            worker.look(now);
            worker.turn(now);
            if done() {
                return Ok(());
            }
            let (deadline, exact) = worker.next_deadline();
            let gap = deadline.saturating_sub(now);
            let early = if exact {
                self.wakeup.get().early_ns(now)
            } else {
                0
            };
            if gap == 0 {
                tokio::task::yield_now().await;
            } else if gap <= early {
                // Runs what is ready and asks the kernel once, without waiting.
                tokio::task::yield_now().await;
                self.spun(worker, now);
            } else {
                self.sleep(worker, deadline - early).await?;
            }
        }
    }

    /// Sleeps until the start of the test.
    ///
    /// # Errors
    /// When the kernel's timer fails.
    pub async fn start(&self, worker: &Worker) -> io::Result<()> {
        self.sleep(worker, 0).await
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

    /// Sleeps until a moment of the test, or until somebody needs an earlier one.
    async fn sleep(&self, worker: &Worker, at_ns: u64) -> io::Result<()> {
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
        worker.alarm.set(at_ns);
        std::future::poll_fn(|cx| {
            if worker.alarm.is_before(at_ns) {
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
