//! Destination of a run's messages. The caller supplies it.

use std::{fmt::Display, sync::Arc};

/// Receives the messages of a run, from several threads.
pub trait MessageSink: Send + Sync {
    /// Prints an informational message.
    fn say(&self, line: &dyn Display);
    /// Prints a problem that does not end the run.
    fn warning(&self, line: &dyn Display);
    /// Prints a failure.
    fn error(&self, line: &dyn Display);
    /// Prints text from the test to standard output, unchanged.
    fn out(&self, text: &str);
    /// Prints machine-readable output. Standard output then contains no other text.
    fn document(&self, text: &str);
    /// Prints the last message before the process exits. Must not block.
    fn last_words(&self, line: &dyn Display);
}

/// A message sink that is shared.
pub type SharedMessageSink = Arc<dyn MessageSink>;

/// A sink that discards all messages.
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
