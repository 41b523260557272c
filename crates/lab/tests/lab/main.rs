//! Tests the labs over sockets, in this process or a child process. The client shares no code with
//! the labs or the engine.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod client;
mod command;
mod sum;
mod truth;

use lab::{Lab, LabOptions};

fn start(name: &str) -> Lab {
    Lab::start(name, &LabOptions::default()).unwrap()
}
