//! Conclusions of a run. Each sentence refers to the figures of the summary that support it.

mod advice;
mod assumptions;
mod brief;
mod decided;
mod headline;
mod key_figures;
mod order;
mod overload;
mod rules;
mod slowest;
mod steady;

pub use advice::{advice, causes, remedy};
pub use assumptions::assumptions;
pub use brief::{certainty, question};
pub use headline::headline;
pub use order::key_conclusions;

use crate::summary::{Conclusion, Summary};

#[must_use]
pub fn draw(summary: &Summary) -> Vec<Conclusion> {
    order::ordered(rules::ALL.iter().filter_map(|rule| rule(summary)).collect())
}

#[cfg(test)]
mod tests;
