//! Mapping of socket errors and timeouts to faults.

use std::io;

use measure::Fault;
use rustix::io::Errno;

use crate::deadlines::Cut;

/// Returns the fault for a wait that ended early.
#[must_use]
pub fn timed_out(cut: Cut) -> Fault {
    match cut {
        Cut::Expired => Fault::ResponseTimeout,
        Cut::Aborted => Fault::Unfinished,
    }
}

/// Returns the fault for a socket error.
#[must_use]
pub fn socket_fault(error: &io::Error) -> Fault {
    match Errno::from_io_error(error) {
        Some(Errno::CONNREFUSED) => Fault::Refused,
        Some(Errno::CONNRESET | Errno::CONNABORTED) => Fault::Reset,
        Some(Errno::PIPE) => Fault::BrokenPipe,
        Some(Errno::TIMEDOUT) => Fault::ConnectTimeout,
        Some(Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN) => Fault::Unreachable,
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM) => Fault::NoDescriptors,
        Some(Errno::ADDRNOTAVAIL | Errno::ADDRINUSE) => Fault::NoPorts,
        _ if error.kind() == io::ErrorKind::UnexpectedEof => Fault::ClosedEarly,
        _ => super::tls::fault(error).unwrap_or(Fault::Other),
    }
}
