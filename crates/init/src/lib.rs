//! Creates commented plans from URLs, curl commands, recordings (HAR) and OpenAPI descriptions.
//! Unknown values are marked, secrets are left out. Pure text processing.

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
mod unknowns;
mod write;
mod yaml;

pub use draft::Draft;
pub use from_url::from_url;
pub use kind::from_text;
pub use unknowns::Unknown;
