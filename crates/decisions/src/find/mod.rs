//! Search for the load line, the highest load at which all criteria are met. [`search`] plans
//! probes, `probe` evaluates them, `probe_row` keeps their figures, `result` and `overload`
//! describe results, [`sweep`] varies the number of users, and [`simulated`] has services for
//! tests.

mod overload;
mod probe;
mod probe_row;
mod result;
pub mod search;
pub mod simulated;
pub mod sweep;

pub use probe::{Flow, allowed, flow, tallies, throughput};
pub use probe_row::{Cause, ProbeRow};
pub use result::{Ending, Over, SearchResult};
pub use search::ViolationTally;
