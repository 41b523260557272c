//! A doorbell between threads: an eventfd that is written to only when somebody listens and has not been told yet. It carries no data.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering, fence},
};

use rustix::event::{EventfdFlags, eventfd};

/// Rung by any thread, heard by one.
#[derive(Debug)]
pub struct Notifier {
    fd: OwnedFd,
    /// Whether it has been rung since it was last heard: ringing it again would tell nothing.
    rung: AtomicBool,
}

impl Notifier {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Notifier> {
        Ok(Notifier {
            fd: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            rung: AtomicBool::new(false),
        })
    }

    /// Readable when it has been rung.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The same descriptor, for a runtime of the listener's.
    pub fn for_listener(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    /// Something is there.
    #[inline]
    pub fn ring(&self) {
        // What was queued before is seen by whoever hears it.
        if !self.rung.swap(true, Ordering::SeqCst) {
            // It can only be full, and then it is readable.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// The listener looks at what is there: what comes from now on rings again. In this order: who rings between the two finds the bell
    /// rung already, and what was queued before it is looked at next. Read behind it, that ring would be taken away and the bell be rung for
    /// ever, and silent.
    #[inline]
    pub fn heard(&self) {
        self.hear(|| {});
    }

    #[inline]
    fn hear(&self, meanwhile: impl FnOnce()) {
        let mut count = [0; 8];
        // Nothing to be read: whoever rang has not come to writing yet, and will.
        let _ = rustix::io::read(&self.fd, &mut count);
        meanwhile();
        self.rung.store(false, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use rustix::event::{PollFd, PollFlags, poll};

    use super::*;

    fn is_readable(bell: &Notifier) -> bool {
        let mut fds = [PollFd::new(&bell.fd, PollFlags::IN)];
        let at_once = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&at_once)).expect("a descriptor") == 1
    }

    #[test]
    fn a_ring_while_it_is_being_heard_does_not_silence_it() {
        let bell = Notifier::new().expect("a descriptor");
        bell.ring();
        assert!(is_readable(&bell));
        bell.hear(|| bell.ring());
        bell.ring();
        assert!(is_readable(&bell));
        bell.heard();
        assert!(!is_readable(&bell));
        bell.ring();
        assert!(is_readable(&bell));
    }

    #[test]
    fn whatever_is_queued_before_the_bell_rings_is_found() {
        const EACH: u64 = 20_000;
        let bell = Notifier::new().expect("a descriptor");
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..2 {
                let (sender, bell) = (sender.clone(), &bell);
                scope.spawn(move || {
                    for n in 0..EACH {
                        sender.send(n).expect("a listener");
                        bell.ring();
                    }
                });
            }
            let mut found = 0;
            while found < 2 * EACH {
                let mut fds = [PollFd::new(&bell.fd, PollFlags::IN)];
                // A ring that got lost would be waited for to the end of the test's patience.
                let patience = rustix::time::Timespec {
                    tv_sec: 20,
                    tv_nsec: 0,
                };
                let ready = poll(&mut fds, Some(&patience)).expect("a descriptor");
                assert_eq!(ready, 1, "after {found}");
                bell.heard();
                found += receiver.try_iter().count() as u64;
            }
        });
    }
}
