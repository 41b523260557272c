//! HTTP/2 for clients (RFC 9113), as a state machine without I/O and clock.
//!
//! A caller drives one [`Connection`] per socket:
//!
//! 1. While [`Connection::free_streams`] is above 0, [`Connection::send`] encodes requests into one
//!    output buffer. The HTTP/2 preface precedes the first.
//! 2. The caller takes the time, writes [`Connection::output`] with one `write`, and passes the
//!    number of written bytes to [`Connection::wrote`]. That reports the requests whose first byte
//!    was written.
//! 3. After a `read`, the caller takes the time and calls [`Connection::next_event`] until it
//!    returns `None`. All events have the time of that read. The receive buffer is free afterwards.
//! 4. After a read the output may have grown by acknowledgements and by more of the uploads.
//!
//! Each stream ends with exactly one [`Event::Ended`], except those that the caller cancels.
//!
//! ```
//! # use codec::h2::*;
//! let mut numbers = FieldNumbers::default();
//! let head = HeadTemplate::new(&mut numbers, &HeadSource {
//!     method: ValueSource::Constant(b"GET"),
//!     scheme: "http",
//!     authority: ValueSource::Constant(b"example.test"),
//!     path: ValueSource::Hole(0),
//!     fields: &[],
//! })?;
//! let mut connection = Connection::new(&Config::default());
//! let request = Request { head: &head, values: &|_| b"/users/7", extra: &[], body: Body::None };
//! let stream = connection.send(&request).expect("a free stream");
//! let length = connection.output().len();
//! connection.wrote(length, |started| assert_eq!(started, stream));
//! # Ok::<(), HeadError>(())
//! ```

mod connection;
mod counters;
mod error;
mod fields;
mod frame;
pub mod hpack;
mod output;
mod reader;
mod receive;
mod response;
mod send;
mod streams;
mod template;

pub use connection::{Config, Connection, Event};
pub use counters::Counters;
pub use error::{ConnectionError, ErrorCode, Outcome, StreamError, Violation};
pub use fields::{Field, Fields};
pub use hpack::{FieldNumbers, HpackError, encoder::Indexing};
pub use response::ResponseHead;
pub use send::{Body, Request, SendError};
pub use streams::StreamId;
pub use template::{HeadError, HeadSource, HeadTemplate, TemplateField, ValueSource};
