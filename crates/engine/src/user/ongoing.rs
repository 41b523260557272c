//! A request under way: what is known of it between its beginning and its sample.

use crate::{
    client::{Built, Exchange},
    program::RequestStep,
};

/// A request under way.
pub(super) struct Ongoing<'s> {
    pub(super) step: &'s RequestStep,
    /// What happened, and what came.
    pub(super) exchange: Exchange,
    /// What was asked first, kept where it may have to be shown.
    pub(super) asked: Option<Built>,
    /// What a hook called it, where the step does not say it.
    pub(super) called: Option<String>,
    /// What the answer should have been.
    pub(super) unexpected: Option<String>,
    /// Whether it was redirected to where it may not go.
    pub(super) stranded: bool,
}
