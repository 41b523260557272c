//! Creates commented plans from URLs, curl commands, HAR recordings and OpenAPI descriptions. Marks
//! unknown values and omits secrets. Performs no I/O.

#![forbid(unsafe_code)]

mod address;
mod body;
pub mod curl;
mod destructive;
mod draft;
mod from_url;
mod har;
mod headers;
mod kind;
mod load;
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
