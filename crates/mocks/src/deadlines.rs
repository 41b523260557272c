//! Wakes responses at exact times, with a heap and one timerfd with absolute deadlines on the
//! serving loop. Late wake-ups do not add up.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::io;
use std::os::fd::OwnedFd;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::unix::AsyncFd;
use tokio::sync::oneshot;

use crate::clock;

pub(crate) struct Deadlines {
    timer: AsyncFd<OwnedFd>,
    waiting: RefCell<DeadlineQueue>,
}

#[derive(Default)]
struct DeadlineQueue {
    due: BinaryHeap<Reverse<(u64, u64)>>,
    wake: HashMap<u64, oneshot::Sender<()>>,
    came: u64,
}

impl Deadlines {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
        let timer = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        #[expect(
            deprecated,
            reason = "the replacement is `unsafe`: its caller must guarantee that the descriptor does not change"
        )]
        let timer = AsyncFd::new(timer)?;
        Ok(Self {
            timer,
            waiting: RefCell::default(),
        })
    }

    pub(crate) async fn until(&self, due_ns: u64) {
        if clock::now_ns() >= due_ns {
            return;
        }
        let (wake, woken) = oneshot::channel();
        {
            let mut waiting = self.waiting.borrow_mut();
            let number = waiting.came;
            waiting.came += 1;
            let first = waiting.due.peek();
            let is_next = first.is_none_or(|Reverse((next, _))| due_ns < *next);
            waiting.due.push(Reverse((due_ns, number)));
            waiting.wake.insert(number, wake);
            if is_next {
                self.arm(due_ns);
            }
        }
        let _ = woken.await;
    }

    fn arm(&self, due_ns: u64) {
        let timespec = |ns: u64| Timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        };
        let spec = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(due_ns.max(1)),
        };
        let _ = timerfd_settime(self.timer.get_ref(), TimerfdTimerFlags::ABSTIME, &spec);
    }

    pub(crate) async fn wake(&self) -> io::Result<()> {
        loop {
            let mut ready = self.timer.readable().await?;
            let _ = rustix::io::read(self.timer.get_ref(), &mut [0; 8]);
            ready.clear_ready();
            let mut waiting = self.waiting.borrow_mut();
            while let Some(&Reverse((due, number))) = waiting.due.peek() {
                if due > clock::now_ns() {
                    self.arm(due);
                    break;
                }
                waiting.due.pop();
                if let Some(wake) = waiting.wake.remove(&number) {
                    let _ = wake.send(());
                }
            }
        }
    }
}
