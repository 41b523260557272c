//! Wakes tasks at exact times on `CLOCK_MONOTONIC`. Tokio's timers have a resolution of a
//! millisecond, while this thread is late by only tens of microseconds.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::{LabError, clock};

pub struct Timer {
    shared: Arc<TimerState>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct TimerState {
    waiting: Mutex<Sleepers>,
    changed: Condvar,
}

#[derive(Default)]
struct Sleepers {
    /// Sorted by time, then by order of registration.
    due: BinaryHeap<Reverse<(u64, u64)>>,
    wake: std::collections::HashMap<u64, oneshot::Sender<()>>,
    came: u64,
    over: bool,
}

impl TimerState {
    fn lock(&self) -> MutexGuard<'_, Sleepers> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Timer {
    pub fn start() -> Result<Self, LabError> {
        let shared = Arc::<TimerState>::default();
        let waking = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("lab-timer".to_owned())
            .spawn(move || wake(&waking))
            .map_err(LabError::Runtime)?;
        Ok(Self {
            shared,
            thread: Some(thread),
        })
    }

    pub async fn until(&self, due_ns: u64) {
        if clock::monotonic_ns() >= due_ns {
            return;
        }
        let (wake, woken) = oneshot::channel();
        {
            let mut waiting = self.shared.lock();
            let number = waiting.came;
            waiting.came += 1;
            let first = waiting.due.peek();
            let is_next = first.is_none_or(|Reverse((next, _))| due_ns < *next);
            waiting.due.push(Reverse((due_ns, number)));
            waiting.wake.insert(number, wake);
            if is_next {
                self.shared.changed.notify_one();
            }
        }
        let _ = woken.await;
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.lock().over = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn wake(shared: &TimerState) {
    let mut waiting = shared.lock();
    while !waiting.over {
        let now = clock::monotonic_ns();
        let next = waiting.due.peek().map(|Reverse((due, _))| *due);
        waiting = match next {
            Some(due) if due <= now => {
                if let Some(Reverse((_, number))) = waiting.due.pop()
                    && let Some(wake) = waiting.wake.remove(&number)
                {
                    let _ = wake.send(());
                }
                waiting
            }
            Some(due) => {
                let pause = Duration::from_nanos(due - now);
                let woken = shared.changed.wait_timeout(waiting, pause);
                woken.unwrap_or_else(PoisonError::into_inner).0
            }
            None => {
                let woken = shared.changed.wait(waiting);
                woken.unwrap_or_else(PoisonError::into_inner)
            }
        };
    }
}
