//! Wakes another thread by an eventfd. It is written only once until it is handled.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering, fence},
};

use rustix::event::{EventfdFlags, eventfd};

#[derive(Debug)]
pub struct Notifier {
    fd: OwnedFd,
    /// Whether a notification was sent and is not handled yet.
    rung: AtomicBool,
}

impl Notifier {
    /// Creates a notifier.
    ///
    /// # Errors
    ///
    /// Fails if there is no descriptor.
    pub fn new() -> io::Result<Notifier> {
        Ok(Notifier {
            fd: eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?,
            rung: AtomicBool::new(false),
        })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub fn for_listener(&self) -> io::Result<OwnedFd> {
        self.fd.try_clone()
    }

    #[inline]
    pub fn ring(&self) {
        // The receiver sees everything that was queued before.
        if !self.rung.swap(true, Ordering::SeqCst) {
            // If the eventfd is full, it is readable anyway.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// Resets the notifier. Call it before reading queues, so that later notifications wake again.
    /// The flag is cleared last: otherwise a concurrent write could be consumed while the flag
    /// stays set.
    #[inline]
    pub fn clear(&self) {
        self.hear(|| {});
    }

    #[inline]
    fn hear(&self, meanwhile: impl FnOnce()) {
        let mut count = [0; 8];
        // The notifier may not have written yet.
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

    fn is_readable(notifier: &Notifier) -> bool {
        let mut fds = [PollFd::new(&notifier.fd, PollFlags::IN)];
        let at_once = rustix::time::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut fds, Some(&at_once)).expect("a descriptor") == 1
    }

    #[test]
    fn a_ring_while_it_is_being_heard_does_not_silence_it() {
        let notifier = Notifier::new().expect("a descriptor");
        notifier.ring();
        assert!(is_readable(&notifier));
        notifier.hear(|| notifier.ring());
        notifier.ring();
        assert!(is_readable(&notifier));
        notifier.clear();
        assert!(!is_readable(&notifier));
        notifier.ring();
        assert!(is_readable(&notifier));
    }

    #[test]
    fn whatever_is_queued_before_the_bell_rings_is_found() {
        const EACH: u64 = 20_000;
        let notifier = Notifier::new().expect("a descriptor");
        let (sender, receiver) = mpsc::channel();
        thread::scope(|scope| {
            for _ in 0..2 {
                let (sender, notifier) = (sender.clone(), &notifier);
                scope.spawn(move || {
                    for n in 0..EACH {
                        sender.send(n).expect("a listener");
                        notifier.ring();
                    }
                });
            }
            let mut found = 0;
            while found < 2 * EACH {
                let mut fds = [PollFd::new(&notifier.fd, PollFlags::IN)];
                let patience = rustix::time::Timespec {
                    tv_sec: 20,
                    tv_nsec: 0,
                };
                let ready = poll(&mut fds, Some(&patience)).expect("a descriptor");
                assert_eq!(ready, 1, "after {found}");
                notifier.clear();
                found += receiver.try_iter().count() as u64;
            }
        });
    }
}
