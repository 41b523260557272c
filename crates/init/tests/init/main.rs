//! The crate from outside: sources in, plans out - and each plan is one that the reader of plans takes.

#![expect(clippy::unwrap_used, reason = "helpers of tests are tests")]

mod curl;
mod har;
mod openapi;
mod support;
mod url;
