//! Exports for other tools: JUnit XML, CSV and Prometheus text, described in
//! `docs/reference/exports.md`.

mod csv;
mod junit;
mod junit_gate;
mod prometheus;

pub use csv::csv;
pub use junit::junit;
pub use junit_gate::junit_gate;
pub use prometheus::{CONTENT_TYPE, PrometheusSample, prometheus, prometheus_samples};
