//! Creates commented plans from URLs, curl commands, HAR recordings, OpenAPI descriptions, Postman
//! collections and JMeter plans. Performs no I/O.

#![forbid(unsafe_code)]

pub mod curl;
mod from_url;
mod har;
mod jmeter;
mod kind;
mod openapi;
mod postman;

use drafts::{
    address, body, destructive, draft, headers, load, placeholders, problem, scope, unknowns, yaml,
};

pub use drafts::{Draft, Unknown};
pub use from_url::from_url;
pub use kind::{SourceText, from_source, from_text};
