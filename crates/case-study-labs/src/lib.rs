//! The embedded targets of the case studies: the FHIR server, the check-in service, the URL shortener and Pepeunit.
//! What every lab shares is in the crate `lab`; like it, this crate uses nothing of the engine.

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
mod timer;
mod wall_clock;

use lab::LabEntry;

/// Every lab of the product: the general ones and those of the case studies.
pub const LABS: &[LabEntry] = &[
    lab::SUM,
    fhir::LAB,
    shortener::LAB,
    checkin::LAB,
    pepeunit::LAB,
    lab::MQTT,
    lab::TRUTH,
];
