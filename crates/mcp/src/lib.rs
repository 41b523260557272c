//! A server for the Model Context Protocol over standard streams. Agents use it to check plans, run
//! tests and read results.
//!
//! Answers separate measurements from the conclusions that may be drawn. The server starts this
//! program as a child process for each run, so a run behaves as on the command line.

#![forbid(unsafe_code)]

mod answer;
mod arguments;
mod call_log;
mod check;
mod claims;
mod comparison;
mod confirmation;
mod counter_tail;
mod expected_load;
mod explanation;
mod figures;
mod hosts;
mod options;
mod permission;
mod plan_files;
mod process;
mod processes;
mod prompts;
mod resources;
mod result;
mod run_list;
mod search_result;
mod server;
mod start;
mod status;
mod tools;
mod untrusted;

pub use options::{LoadCaps, ServerOptions};
pub use server::serve;
