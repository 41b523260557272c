//! A request in flight with its context.

use crate::{
    client::{Built, Exchange},
    program::RequestStep,
};

/// A request in flight.
pub(super) struct Ongoing<'s> {
    pub(super) step: &'s RequestStep,
    /// Its exchange.
    pub(super) exchange: Exchange,
    /// The original request, if it may be needed later.
    pub(super) asked: Option<Built>,
    /// Name from a hook, if the step has none.
    pub(super) called: Option<String>,
    /// What the response should have been.
    pub(super) unexpected: Option<String>,
    /// Whether it was redirected to a forbidden host.
    pub(super) stranded: bool,
}
