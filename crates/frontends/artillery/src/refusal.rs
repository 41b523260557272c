//! Artillery's messages and exit codes for refused scripts.

use formats::Original;

pub const FAILED: u8 = 1;
pub const WORKER_DIED: u8 = 11;

#[must_use]
pub fn validation(message: &str) -> Original {
    Original {
        out: format!("Scenario validation error: {message}\n"),
        err: String::new(),
        code: FAILED,
        explained: true,
    }
}

#[must_use]
pub fn no_target() -> Original {
    Original {
        out: String::new(),
        err: "Error: No target specified and no environment chosen".to_owned(),
        code: FAILED,
        explained: false,
    }
}

#[must_use]
pub fn worker(error: &str) -> Original {
    Original {
        out: format!("worker error, id: 1 {error}\n"),
        err: String::new(),
        code: WORKER_DIED,
        explained: true,
    }
}
