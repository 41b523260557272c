//! A doorbell between threads: an eventfd that is written to only when somebody listens and has not been told yet. It carries no data.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicBool, Ordering},
};

use rustix::event::{EventfdFlags, eventfd};

/// Rung by any thread, heard by one.
#[derive(Debug)]
pub struct Bell {
    fd: OwnedFd,
    /// Whether it has been rung since it was last heard: ringing it again would tell nothing.
    rung: AtomicBool,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> io::Result<Bell> {
        Ok(Bell {
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
        if !self.rung.swap(true, Ordering::AcqRel) {
            // It can only be full, and then it is readable.
            let _ = rustix::io::write(&self.fd, &1u64.to_ne_bytes());
        }
    }

    /// The listener looks at what is there: what comes from now on rings again.
    #[inline]
    pub fn heard(&self) {
        if self.rung.swap(false, Ordering::AcqRel) {
            let mut count = [0; 8];
            let _ = rustix::io::read(&self.fd, &mut count);
        }
    }
}
