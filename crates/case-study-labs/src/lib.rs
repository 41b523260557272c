//! Embedded targets of the case studies: FHIR server, check-in, URL shortener, Pepeunit. Like those
//! in `lab`, they are independent of the engine.

#![forbid(unsafe_code)]

mod checkin;
mod cores;
mod exposition;
mod fhir;
mod jwt;
mod lab_config;
mod latency;
mod pepeunit;
mod quota;
mod shortener;
mod wall_clock;

use lab::LabEntry;

pub const LABS: &[LabEntry] = &[
    lab::SUM,
    fhir::LAB,
    shortener::LAB,
    checkin::LAB,
    pepeunit::LAB,
    lab::MQTT,
    lab::TRUTH,
    lab::HTTP2,
    lab::LLM,
    lab::CHAT,
];
