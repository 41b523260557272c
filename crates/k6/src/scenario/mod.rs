//! Scenarios.
pub mod config;
