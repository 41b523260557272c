//! What other tools read of a run: JUnit XML for continuous integration, CSV over time for spreadsheets, Prometheus' text for
//! monitoring. Pure writers of what the record and the summary hold; formats and columns are described in `docs/reference/exports.md`.

mod csv;
mod junit;
mod junit_gate;
mod prometheus;

pub use csv::csv;
pub use junit::junit;
pub use junit_gate::junit_gate;
pub use prometheus::{CONTENT_TYPE, prometheus};
