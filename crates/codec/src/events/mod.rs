//! Streamed responses: events, the tokens that they carry, and their end marks.
//!
//! An [`EventReader`] receives a response body as it arrives, in parts of any length, and returns
//! [`Event`]s. It has no clock: the caller knows when it read a part, and all events that the part
//! completes have that time.

mod formats;
mod json;
mod lines;
mod path;
mod reader;
mod sse;

pub use json::Text;
pub use lines::LineParser;
pub use path::{JsonPath, PathError, find_integers};
pub use reader::{
    Completion, Content, ContentKind, Event, EventKind, EventReader, Format, Selectors, Usage,
};
pub use sse::{SseEvent, SseParser};

/// Maximum length of a line in bytes.
pub const MAX_LINE: usize = 1 << 20;
/// Maximum length of an event's data in bytes.
pub const MAX_EVENT: usize = 4 << 20;

/// A limit that a stream exceeds. The rest of the stream cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum EventLimit {
    /// A line is longer than [`MAX_LINE`].
    Line,
    /// The data of an event is longer than [`MAX_EVENT`].
    Event,
}

#[cfg(test)]
#[path = "events_tests.rs"]
mod tests;
