//! The front doors that there are: whose test files can be run. One line each.

use formats::{Locustfiles, Reader, native};

/// Readers of test files, in the order in which they are asked whether a file is theirs.
pub const READERS: [&dyn Reader; 4] = [
    &native::Plans,
    &door_artillery::Scripts,
    &Locustfiles,
    &door_wrk::Scripts,
];
