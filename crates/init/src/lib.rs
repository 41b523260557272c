//! Creates plans with comments from URLs, curl commands, recordings (HAR) and OpenAPI descriptions.
//! Marks unknown values and omits secrets. Only processes texts.

#![forbid(unsafe_code)]

mod address;
mod body;
pub mod curl;
mod draft;
mod from_url;
mod har;
mod headers;
mod kind;
mod openapi;
mod placeholders;
mod problem;
mod unknowns;
mod write;
mod yaml;

pub use draft::Draft;
pub use from_url::from_url;
pub use kind::from_text;
pub use unknowns::Unknown;
