//! Runs one test from its plan to its exit code. [`prepare()`] validates the test. [`Ready::run`]
//! runs `setup` and the load, and writes the record. [`FinishedRun::finish`] prints, exports and
//! runs `teardown`.
//!
//! This crate prints nothing itself. It passes messages to a [`MessageSink`] and to the front end,
//! which observes the run.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod blocking_http;
mod bounded;
pub mod ca_env;
pub mod child;
pub mod derived_files;
pub mod exit;
pub mod exports;
mod finish;
mod finished;
mod front_end;
mod host_monitor;
pub mod hosts;
mod http_server;
pub mod inputs;
pub mod lab_process;
mod latest;
pub mod live;
pub mod memory;
mod messages;
pub mod mock_plan;
pub mod mock_process;
pub mod naming;
pub mod observer;
pub mod pacing;
mod part;
mod partition;
mod prepare;
pub mod profile;
pub mod python;
mod recording;
pub mod rules;
mod run;
pub mod salt;
pub mod sample_size;
pub mod sampling;
mod server_sources;
mod setup_teardown;
pub mod signals;
mod window;

pub use finished::{FinishedRun, StartError};
pub use front_end::{
    ExternalTool, FrontEnd, FrontEndInfo, Over, RunOptions, ScriptLoader, ScriptRun,
};
pub use hosts::Hosts;
pub use lab_process::LabProcess;
pub use messages::{MessageSink, NullSink, SharedMessageSink};
pub use mock_process::MockProcess;
pub use observer::{Observer, RunObserver, RunOutcome};
pub use part::RunPartOrder;
pub use partition::{Conducting, Coordinator, PartitionedRun, divide};
pub use prepare::{Job, Ready, RecordPolicy, RunRefused, descriptors_for, prepare};
pub use sampling::Sampler;
pub use window::{Percentile, RecentIntervals, Trailing};
