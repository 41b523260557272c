//! MANY MACHINES: a run that several nodes carry out and one conductor begins, watches and ends. The conductor divides it, has every node
//! make its part ready, agrees on a moment and says when; nodes send what they measure, once a second, and the record is theirs added up.
//!
//! How a node comes to be on a machine, and bytes to a node, is a backend's ([`link`]): processes of this machine, or somebody else's
//! cluster. What a run is, how it is recorded, shown and judged is `session`'s, the same as for a run of one process. Nothing here is on
//! the path of a request.

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

pub use conductor::{ConductorConfig, LEASE_NS, conduct};
pub use link::{Backend, Link, Local};
pub use ray::Ray;
