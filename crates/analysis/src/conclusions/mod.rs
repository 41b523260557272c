//! What follows from a run, in sentences that rules write: each stands on figures of the summary and names where they are. A rule
//! that does not apply says nothing; nothing here is measured or judged anew.

mod assumptions;
mod decided;
mod glance;
mod headline;
mod order;
mod rules;
mod slowest;
mod steady;

pub use assumptions::assumptions;
pub use headline::headline;
pub use order::telling;

use crate::summary::{Conclusion, Summary};

/// The conclusions of a summary, in the order in which they are read.
#[must_use]
pub fn draw(summary: &Summary) -> Vec<Conclusion> {
    order::ordered(rules::ALL.iter().filter_map(|rule| rule(summary)).collect())
}

#[cfg(test)]
mod tests;
