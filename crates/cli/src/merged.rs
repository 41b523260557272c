//! `loadline merge`: puts the parts of a run together that several machines carried out. What belongs together is `cluster`'s to say.

use session::exit;

use crate::{args, log};

/// Runs `loadline merge`.
pub fn command(_: &args::Merge) -> u8 {
    log::error("not yet");
    exit::COULD_NOT_RUN
}
