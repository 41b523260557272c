//! The labs from outside: started in this process on a free port, and talked to in plain HTTP over a socket.
//! The client here shares no code with the labs or the engine.
#![allow(clippy::unwrap_used, reason = "a helper that fails fails its test")]

mod checkin;
#[allow(dead_code, reason = "the labs of two crates share it")]
#[path = "../../../lab/tests/lab/client.rs"]
mod client;
mod contract;
mod fhir;
mod pepeunit;
mod receiving;
mod shortener;

use case_study_labs::LABS;
use lab::{Lab, LabOptions};

/// A lab with default options.
fn start(name: &str) -> Lab {
    start_as(name, &LabOptions::default())
}

/// A lab with these options.
fn start_as(name: &str, options: &LabOptions) -> Lab {
    Lab::start_from(LABS, name, options).unwrap()
}

/// A lab with `option=value` pairs of its own.
fn start_with(name: &str, extra: &[(&str, &str)]) -> Lab {
    let extra = extra
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let options = LabOptions {
        extra: extra.collect(),
        ..LabOptions::default()
    };
    start_as(name, &options)
}
