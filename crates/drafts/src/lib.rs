//! Plans that `init` creates from other sources: requests, variables, load and comments, and how
//! they are written as a native plan. Marks unknown values and omits secrets. Performs no I/O.

#![forbid(unsafe_code)]

pub mod address;
pub mod body;
mod criteria;
pub mod destructive;
pub mod draft;
pub mod headers;
pub mod load;
pub mod placeholders;
pub mod problem;
pub mod scope;
pub mod unknowns;
mod write;
pub mod yaml;

pub use draft::Draft;
pub use unknowns::Unknown;
