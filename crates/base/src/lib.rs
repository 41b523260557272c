//! Keyed random numbers, and known defects for test builds.

#![forbid(unsafe_code)]

pub mod mutant;
pub mod rng;
