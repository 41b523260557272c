//! A request in flight and its context.

use crate::program::RequestStep;
use worker::client::{Built, Exchange};

pub(super) struct Ongoing<'s> {
    pub(super) step: &'s RequestStep,
    pub(super) exchange: Exchange,
    /// The original request, kept if it may be needed later.
    pub(super) asked: Option<Built>,
    pub(super) called: Option<String>,
    pub(super) unexpected: Option<String>,
    pub(super) stranded: bool,
}
