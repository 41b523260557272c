//! The unsafe code of this crate: calls whose safety depends on the caller.

#![allow(
    unsafe_code,
    reason = "the only module of the engine with unsafe code; each use has a SAFETY comment"
)]

use std::{ffi::c_int, io, net::TcpStream, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// The kernel's `struct timex` on 64-bit Linux, as an array of words.
#[cfg(target_pointer_width = "64")]
type Timex = [i64; 26];

unsafe extern "C" {
    fn _exit(code: c_int) -> !;
    #[cfg(target_pointer_width = "64")]
    fn adjtimex(timex: *mut Timex) -> c_int;
}

/// Returns the kernel's maximum error of the wall clock, in microseconds. `Some(None)` means that
/// the clock is not synchronized, and `None` that the error is unknown.
#[must_use]
pub fn clock_error_us() -> Option<Option<u64>> {
    #[cfg(target_pointer_width = "64")]
    {
        /// The kernel's `TIME_ERROR`: the clock is not synchronized.
        const UNKEPT: c_int = 5;
        let mut timex: Timex = [0; 26];
        // SAFETY: the words are as long as the structure, which the kernel fills. Mode 0 (the first
        // word) changes nothing.
        let state = unsafe { adjtimex(&raw mut timex) };
        let error = u64::try_from(timex[3]).ok();
        (state >= 0).then(|| error.filter(|_| state != UNKEPT))
    }
    #[cfg(not(target_pointer_width = "64"))]
    None
}

/// Exits immediately, without flushing buffers, taking locks or waiting for threads.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: `_exit` has no preconditions and does not return.
    unsafe { _exit(c_int::from(code)) }
}

/// Registers a descriptor with the current runtime.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: `OwnedFd::as_raw_fd` always returns the same descriptor, which is open as long as the
    // `OwnedFd` exists. The `AsyncFd` owns it, so no other code can close it.
    unsafe { AsyncFd::register(fd) }.map_err(io::Error::from)
}

/// Registers a connection with the current runtime, for this interest.
pub fn watch_for(tcp: TcpStream, interest: Interest) -> io::Result<AsyncFd<TcpStream>> {
    // SAFETY: as above. A `TcpStream` owns its descriptor and always returns the same one, and the
    // `AsyncFd` owns the stream.
    unsafe { AsyncFd::register_with_interest(tcp, interest) }.map_err(io::Error::from)
}

/// Raises the limit on open files to the kernel's maximum. Returns the new limit.
#[must_use]
pub fn raise_descriptors() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    getrlimit(Resource::Nofile).current
}
