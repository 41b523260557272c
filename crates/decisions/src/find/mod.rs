//! The load line of a service, the highest load at which everything that is asked for holds: how it is searched ([`search`]), and what a
//! probe's record says (`probe`), what came of it (`answer`, `above`), and what a sweep over users says ([`sweep`]);
//! [`simulated`] are services to prove it with.

mod overload;
mod probe;
mod result;
pub mod search;
pub mod simulated;
pub mod sweep;

pub use probe::{Flow, allowed, flow, tallies, throughput};
pub use result::{Cause, Ending, Over, ProbeRow, SearchResult};
pub use search::ViolationTally;
