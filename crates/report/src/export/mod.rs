//! Exports for other tools: JUnit XML, CSV, Prometheus text and a Grafana
//! dashboard, described in `docs/reference/exports.md`.

mod csv;
mod grafana;
mod junit;
mod junit_gate;
mod prometheus;

pub use csv::csv;
pub use grafana::grafana_dashboard;
pub use junit::junit;
pub use junit_gate::junit_gate;
pub use prometheus::{CONTENT_TYPE, PrometheusSample, prometheus, prometheus_samples};
