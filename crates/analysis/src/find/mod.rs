//! The load line of a service, the highest load at which everything that is asked for holds: how it is searched ([`search`]), and what a
//! probe's record says (`probe`), and what came of it (`answer`).

mod answer;
mod probe;
pub mod search;

pub use answer::{Ending, Found, Over, Row};
pub use probe::{allowed, tallies};
pub use search::Tally;
