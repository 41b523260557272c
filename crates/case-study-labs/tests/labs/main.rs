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

fn start(name: &str) -> Lab {
    start_as(name, &LabOptions::default())
}

fn start_as(name: &str, options: &LabOptions) -> Lab {
    Lab::start_from(LABS, name, options).unwrap()
}

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
