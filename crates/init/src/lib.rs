//! Creates commented plans from URLs, curl commands, HAR recordings, OpenAPI descriptions, Postman
//! collections and JMeter plans. Marks unknown values and omits secrets. Performs no I/O.

#![forbid(unsafe_code)]

mod address;
mod body;
mod criteria;
pub mod curl;
mod destructive;
mod draft;
mod from_url;
mod har;
mod headers;
mod jmeter;
mod kind;
mod load;
mod openapi;
mod placeholders;
mod postman;
mod problem;
mod scope;
mod unknowns;
mod write;
mod yaml;

pub use draft::Draft;
pub use from_url::from_url;
pub use kind::{SourceText, from_source, from_text};
pub use unknowns::Unknown;
