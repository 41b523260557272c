//! Distributed runs. The conductor divides a run among nodes and merges their intervals. Backends
//! ([`link`]) start nodes as local processes or on Ray.

#![forbid(unsafe_code)]

mod bench;
pub mod clocks;
mod conductor;
mod facts;
pub mod link;
mod losses;
pub mod merge;
pub mod node;
mod nodes;
mod ray;
mod start;
pub mod wire;

pub use conductor::{ConductorConfig, conduct};
pub use link::{Backend, Link, Local};
pub use ray::Ray;
pub use start::LEASE_NS;
