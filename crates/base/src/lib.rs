//! Keyed random numbers, and the known defects of test builds.

#![forbid(unsafe_code)]

pub mod mutant;
pub mod rng;
