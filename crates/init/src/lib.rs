//! BEGIN with it: a URL, a command line of curl, a browser's recording or a service's description becomes a commented
//! plan that people go on from. What the source does not say is marked, never guessed; what is secret in it never reaches the plan.
//!
//! This crate runs nothing and asks nobody: it makes text of text.

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
