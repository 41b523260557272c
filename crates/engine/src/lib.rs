//! The engine: runs a plan and yields intervals. It compiles the plan, starts workers with their
//! drivers, and merges their measurements.
//!
//! It prints nothing and writes no files.

#![warn(missing_docs)]

pub mod collect;
mod compiled;
pub mod driver;
pub mod program;
pub mod publications;
pub mod run;
#[cfg(test)]
mod simulation;
pub mod user;

pub use collect::Sink;
pub use compiled::SPARE_DESCRIPTORS;
pub use program::{HookInterest, Interest};
pub use run::{EngineOptions, Prepared, RunError, RunRole};
pub use user::{hook, script};
