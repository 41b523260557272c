//! Keyed random numbers and the known defects of test builds: small, stable, used by most crates.

#![forbid(unsafe_code)]

pub mod mutant;
pub mod rng;
