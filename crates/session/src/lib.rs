//! CONDUCT it: one run from a plan to its exit code, the same for every front door: [`prepare`] refuses whatever can be refused,
//! [`Ready::run`] carries out what comes before the load and the load, writing the record, [`Ended::finish`] shows, keeps, exports,
//! and carries out what comes behind the load.
//!
//! Nothing here prints: what there is to say is said to a [`Voice`] and to the door, which hears of the run while it goes on. A
//! library of its own, so that whoever conducts many runs calls it as the command line does.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod asking;
mod before_after;
mod bounded;
pub mod child;
mod divide;
pub mod door;
mod ended;
pub mod exit;
pub mod exports;
mod finish;
mod front;
pub mod hosts;
pub mod inputs;
pub mod keep;
pub mod lab_process;
pub mod live;
pub mod memory;
pub mod mock_plan;
pub mod mock_process;
pub mod named;
pub mod pacing;
mod part;
mod prepare;
pub mod profile;
pub mod python;
mod recording;
pub mod rules;
mod run;
pub mod salt;
pub mod sampling;
mod server_sources;
pub mod signals;
pub mod trust;
mod voice;
mod watch;
mod window;

pub use divide::{Conducting, Coordinator, PartitionedRun, divide};
pub use door::{Door, Observer, RunOutcome};
pub use ended::{FinishedRun, StartError};
pub use front::{ExternalTool, FrontDoor, FrontEndInfo, RunOptions, ScriptLoader, ScriptRun};
pub use hosts::Hosts;
pub use lab_process::LabProcess;
pub use mock_process::MockProcess;
pub use part::RunPartOrder;
pub use prepare::{Job, Ready, RunRefused, descriptors_for, prepare};
pub use sampling::Sampler;
pub use voice::{MessageSink, NullSink, SharedVoice};
pub use window::{Percentile, RecentIntervals, Trailing};
