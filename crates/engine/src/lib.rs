//! The engine runs a plan and yields intervals. It contains the clock, deadlines, workers, drivers,
//! HTTP and connections.
//!
//! It prints nothing and writes no files. Only [`clock`] reads time. On the path of a request,
//! workers share nothing.

#![warn(missing_docs)]

pub mod client;
pub mod clock;
pub mod collect;
mod compiled;
pub mod deadlines;
pub mod driver;
pub mod lease;
pub mod load_control;
pub mod memory;
pub mod net;
mod pacer;
pub mod program;
pub mod run;
#[cfg(test)]
mod simulation;
pub mod stop;
mod sys;
pub mod takeover;
mod trace;
pub mod user;
mod wakeup;
pub mod watchdog;
pub mod worker;

pub use clock::Zero;
pub use collect::Sink;
pub use compiled::{PER_WORKER, SPARE_DESCRIPTORS};
pub use lease::Lease;
pub use load_control::LoadControl;
pub use program::{HookInterest, Interest};
pub use run::{EngineOptions, Prepared, RunError, raise_descriptors};
pub use stop::{Cause, RuleVerdict, StopHandle, Urgency};
pub use sys::{clock_error_us, exit_at_once, watch};
pub use takeover::ShardTakeover;
pub use user::{hook, step_trace};
pub use worker::OutputLine;
