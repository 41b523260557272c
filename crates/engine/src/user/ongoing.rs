//! A request in flight with its context.

use crate::program::{RequestChange, RequestStep};
use worker::client::{Built, Exchange};

pub(super) struct Ongoing<'s> {
    pub(super) step: &'s RequestStep,
    /// Changes that a script made to the request.
    pub(super) change: Option<Box<RequestChange>>,
    pub(super) exchange: Exchange,
    /// Original request, if it may be needed later.
    pub(super) asked: Option<Built>,
    pub(super) called: Option<String>,
    pub(super) unexpected: Option<String>,
    pub(super) stranded: bool,
}
