//! What follows from a run, in sentences that rules write: each stands on figures of the summary and names where they are. A rule
//! that does not apply says nothing; nothing here is measured or judged anew.

mod assumptions;
mod headline;
mod rules;
mod slowest;

pub use assumptions::assumptions;
pub use headline::headline;

use crate::summary::{Conclusion, Summary};

/// The conclusions of a summary, most important first.
#[must_use]
pub fn of(summary: &Summary) -> Vec<Conclusion> {
    rules::ALL.iter().filter_map(|rule| rule(summary)).collect()
}
