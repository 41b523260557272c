//! A request in flight, with its context.

use crate::{
    client::{Built, Exchange},
    program::RequestStep,
};

pub(super) struct Ongoing<'s> {
    pub(super) step: &'s RequestStep,
    pub(super) exchange: Exchange,
    /// The original request, if it may be needed later.
    pub(super) asked: Option<Built>,
    pub(super) called: Option<String>,
    pub(super) unexpected: Option<String>,
    pub(super) stranded: bool,
}
