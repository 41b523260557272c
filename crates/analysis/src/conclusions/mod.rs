//! What follows from a run, in sentences that rules write: each stands on figures of the summary and names where they are. A rule
//! that does not apply says nothing; nothing here is measured or judged anew.

mod assumptions;
mod rules;
mod slowest;
mod strip;

pub use assumptions::assumptions;
pub use strip::strip;

use crate::summary::{Conclusion, Summary};

/// The conclusions of a summary, most important first.
#[must_use]
pub fn of(summary: &Summary) -> Vec<Conclusion> {
    rules::ALL.iter().filter_map(|rule| rule(summary)).collect()
}
