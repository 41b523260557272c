//! The labs from outside: started in this process on a free port (or, where signals and standard input matter, in a child
//! process), and talked to in plain HTTP over a socket. The client here shares no code with the labs or the engine.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod client;
mod command;
mod sum;
mod truth;

use lab::{Lab, LabOptions};

/// A lab with default options.
fn start(name: &str) -> Lab {
    Lab::start(name, &LabOptions::default()).unwrap()
}
