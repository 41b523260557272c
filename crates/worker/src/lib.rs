//! A worker: a thread with its clock, deadlines, connections, HTTP client and recorder, and the
//! handles through which the rest of the process controls it.
//!
//! Workers share nothing on the path of a request. Only [`clock`] reads the time. The engine
//! decides what a worker does.

#![warn(missing_docs)]

pub mod client;
pub mod clock;
pub mod deadlines;
pub mod lease;
pub mod load_control;
pub mod memory;
pub mod net;
mod pacer;
pub mod step_trace;
pub mod stop;
mod sys;
pub mod takeover;
mod trace;
mod wakeup;
pub mod watchdog;
mod worker;

pub use pacer::Pacer;
pub use sys::{clock_error_us, exit_at_once, raise_descriptors, watch};
pub use worker::{
    Backlog, OutputLine, PacerWaker, Worker, WorkerContext, WorkerMessage, WorkerPosition,
};
