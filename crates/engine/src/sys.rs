//! The unsafe corner of the engine: what the standard library and tokio only offer with a promise to keep. Nothing else.

#![allow(
    unsafe_code,
    reason = "the one module of the engine that may; each use gives its SAFETY reason"
)]

use std::{ffi::c_int, io, net::TcpStream, os::fd::OwnedFd};

use tokio::io::{Interest, unix::AsyncFd};

/// The kernel's `struct timex` on 64-bit Linux, as words: what is asked for stands in the first, what is answered behind it.
#[cfg(target_pointer_width = "64")]
type Timex = [i64; 26];

unsafe extern "C" {
    fn _exit(code: c_int) -> !;
    #[cfg(target_pointer_width = "64")]
    fn adjtimex(timex: *mut Timex) -> c_int;
}

/// By how much the kernel says that its wall clock may be off, in microseconds; an inner none where nobody keeps it, an outer one where it
/// does not say.
#[must_use]
pub fn clock_error_us() -> Option<Option<u64>> {
    #[cfg(target_pointer_width = "64")]
    {
        /// `TIME_ERROR`: the clock is not synchronised.
        const UNKEPT: c_int = 5;
        let mut timex: Timex = [0; 26];
        // SAFETY: the words are as long as the structure, which the kernel fills; modes of 0, the first word, change nothing.
        let state = unsafe { adjtimex(&raw mut timex) };
        // The fourth word is the largest error.
        let error = u64::try_from(timex[3]).ok();
        (state >= 0).then(|| error.filter(|_| state != UNKEPT))
    }
    #[cfg(not(target_pointer_width = "64"))]
    None
}

/// Ends the process without waiting for anything: no buffers, no locks, no other threads.
pub fn exit_at_once(code: u8) -> ! {
    // SAFETY: has no preconditions and does not return.
    unsafe { _exit(c_int::from(code)) }
}

/// Registers a descriptor with the current runtime.
///
/// # Errors
/// When the kernel cannot watch it.
pub fn watch(fd: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    // SAFETY: `OwnedFd::as_raw_fd` always answers the same descriptor, which is open as long as the `OwnedFd` lives; the
    // `AsyncFd` owns it and is the only one that could close it.
    unsafe { AsyncFd::register(fd) }.map_err(io::Error::from)
}

/// Registers a connection with the current runtime, for what it is to be watched for.
///
/// # Errors
/// When the kernel cannot watch it.
pub fn watch_for(tcp: TcpStream, interest: Interest) -> io::Result<AsyncFd<TcpStream>> {
    // SAFETY: as above: a `TcpStream` owns its descriptor and always answers the same one; the `AsyncFd` owns the stream.
    unsafe { AsyncFd::register_with_interest(tcp, interest) }.map_err(io::Error::from)
}
