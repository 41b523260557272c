//! Streamed responses: events, their tokens, and end markers.
//!
//! An [`EventReader`] receives a response body in parts of any length as it arrives, and returns
//! [`Event`]s. It has no clock: the caller takes the time of each read, which is the time of all
//! events completed by that read.

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

/// The limit that a stream exceeded. The rest of the stream cannot be read.
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
