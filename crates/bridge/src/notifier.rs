//! Wakes another thread through an eventfd. Further notifications do not write again until the
//! thread has handled the pending one.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering, fence},
};

use rustix::event::{EventfdFlags, eventfd};

#[derive(Debug)]
pub struct Notifier {
    fd: OwnedFd,
    /// Whether a notification was sent but has not been handled yet.
    rung: AtomicBool,
}

impl Notifier {
    /// Creates a notifier.
    ///
    /// # Errors
    ///
    /// Fails if no descriptor is available.
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
        // `SeqCst` makes everything that was queued before visible to the receiver.
        if !self.rung.swap(true, Ordering::SeqCst) {
            // A full eventfd is readable, so a failed write does not matter.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// Resets the notifier. Must be called before reading queues, so that later notifications wake
    /// the thread again. The flag is cleared last, because a concurrent write could otherwise be
    /// lost.
    #[inline]
    pub fn clear(&self) {
        self.hear(|| {});
    }

    #[inline]
    fn hear(&self, meanwhile: impl FnOnce()) {
        let mut count = [0; 8];
        // The read may fail, because the notifier may not have written yet.
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
