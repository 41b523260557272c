//! Whom a run's own lines go to. The libraries have something to say and nowhere to print it; whoever conducts a run decides where
//! that goes.

use std::{fmt::Display, sync::Arc};

/// Says lines. Called from several threads.
pub trait MessageSink: Send + Sync {
    /// Something that is good to know.
    fn say(&self, line: &dyn Display);
    /// Something that stops nothing.
    fn warning(&self, line: &dyn Display);
    /// Something that was wanted and cannot be.
    fn error(&self, line: &dyn Display);
    /// Text of the test's own, for standard output as it is.
    fn out(&self, text: &str);
    /// What a program reads, for standard output, and alone there.
    fn document(&self, text: &str);
    /// What is said before the process ends at once: must not wait for anybody.
    fn last_words(&self, line: &dyn Display);
}

/// A voice that several may use.
pub type SharedVoice = Arc<dyn MessageSink>;

/// Says nothing: for whoever looks at the record alone.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullSink;

impl MessageSink for NullSink {
    fn say(&self, _: &dyn Display) {}
    fn warning(&self, _: &dyn Display) {}
    fn error(&self, _: &dyn Display) {}
    fn out(&self, _: &str) {}
    fn document(&self, _: &str) {}
    fn last_words(&self, _: &dyn Display) {}
}
