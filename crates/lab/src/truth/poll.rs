//! Waits for sockets and for one timerfd with absolute deadlines, using epoll.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::io::Errno;
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Wait {
    No,
    Until(u64),
    Forever,
}

#[derive(Clone, Copy)]
pub(super) struct Ready {
    pub(super) token: u64,
    pub(super) flags: EventFlags,
}

const TIMER: u64 = u64::MAX;
/// Maximum number of events per call, so that due releases are checked often.
const AT_ONCE: usize = 128;

pub(super) struct Poll {
    epoll: OwnedFd,
    timer: OwnedFd,
    armed: u64,
    events: Vec<Event>,
}

impl Poll {
    pub(super) fn new() -> io::Result<Self> {
        let epoll = epoll::create(CreateFlags::CLOEXEC)?;
        // Use a timerfd, because the kernel adds the timer slack to epoll's own timeout.
        let timer = timerfd_create(
            TimerfdClockId::Monotonic,
            TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK,
        )?;
        let poll = Self {
            epoll,
            timer,
            armed: 0,
            events: Vec::with_capacity(AT_ONCE),
        };
        poll.add(&poll.timer, TIMER, EventFlags::IN | EventFlags::ET)?;
        Ok(poll)
    }

    pub(super) fn add(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::add(
            &self.epoll,
            fd,
            EventData::new_u64(token),
            flags,
        )?)
    }

    pub(super) fn change(&self, fd: impl AsFd, token: u64, flags: EventFlags) -> io::Result<()> {
        Ok(epoll::modify(
            &self.epoll,
            fd,
            EventData::new_u64(token),
            flags,
        )?)
    }

    pub(super) fn wait(&mut self, wait: Wait, ready: &mut Vec<Ready>) -> io::Result<()> {
        const NO_TIME: Timespec = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = match wait {
            Wait::No => Some(&NO_TIME),
            Wait::Until(moment) => {
                self.arm(moment)?;
                None
            }
            Wait::Forever => None,
        };
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), timeout) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        ready.extend(
            self.events
                .drain(..)
                .map(|Event { flags, data, .. }| Ready {
                    token: data.u64(),
                    flags,
                })
                .filter(|ready| ready.token != TIMER),
        );
        Ok(())
    }

    fn arm(&mut self, moment: u64) -> io::Result<()> {
        if self.armed == moment {
            return Ok(());
        }
        let timespec = |ns: u64| Timespec {
            tv_sec: (ns / 1_000_000_000).cast_signed(),
            tv_nsec: (ns % 1_000_000_000).cast_signed(),
        };
        let spec = Itimerspec {
            it_interval: timespec(0),
            it_value: timespec(moment.max(1)),
        };
        timerfd_settime(&self.timer, TimerfdTimerFlags::ABSTIME, &spec)?;
        self.armed = moment;
        Ok(())
    }
}
