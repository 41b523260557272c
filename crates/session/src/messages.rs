//! Where messages of a run go. The caller of a run supplies the sink.

use std::{fmt::Display, sync::Arc};

/// Receives messages, from several threads.
pub trait MessageSink: Send + Sync {
    /// Information.
    fn say(&self, line: &dyn Display);
    /// A problem that does not end the run.
    fn warning(&self, line: &dyn Display);
    /// A failure.
    fn error(&self, line: &dyn Display);
    /// Text that the test prints. Goes to standard output unchanged.
    fn out(&self, text: &str);
    /// Machine-readable output, which is the only text on standard output.
    fn document(&self, text: &str);
    /// The last message before the process exits. Must not block.
    fn last_words(&self, line: &dyn Display);
}

/// A message sink that is shared.
pub type SharedMessageSink = Arc<dyn MessageSink>;

/// Discards all messages.
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
