//! How Artillery itself ends where it refuses a script: in its words, with its exit codes.

use formats::Original;

/// Artillery's code for a preparation that failed.
pub const FAILED: u8 = 1;
/// Artillery's code for a worker that died.
pub const WORKER_DIED: u8 = 11;

/// Its schema says no.
#[must_use]
pub fn validation(message: &str) -> Original {
    Original {
        out: format!("Scenario validation error: {message}\n"),
        err: String::new(),
        code: FAILED,
        // The original does not say where.
        explained: true,
    }
}

/// There is nothing to send requests to.
#[must_use]
pub fn no_target() -> Original {
    Original {
        out: String::new(),
        err: "Error: No target specified and no environment chosen".to_owned(),
        code: FAILED,
        explained: false,
    }
}

/// Its worker would have died of this error.
#[must_use]
pub fn worker(error: &str) -> Original {
    Original {
        out: format!("worker error, id: 1 {error}\n"),
        err: String::new(),
        code: WORKER_DIED,
        explained: true,
    }
}
