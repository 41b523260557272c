//! Search for the load line, the highest load at which all criteria hold: [`search`] plans probes,
//! `probe` evaluates them, `answer` and `above` describe results, [`sweep`] handles users,
//! [`simulated`] has test services.

mod overload;
mod probe;
mod result;
pub mod search;
pub mod simulated;
pub mod sweep;

pub use probe::{Flow, allowed, flow, tallies, throughput};
pub use result::{Cause, Ending, Over, ProbeRow, SearchResult};
pub use search::ViolationTally;
