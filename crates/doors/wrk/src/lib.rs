//! wrk's front door, and wrk2's: their figures, counted beside ours.

#![forbid(unsafe_code)]

mod accumulator;
mod scripts;

pub use accumulator::{Accumulator, Settings};
pub use scripts::Scripts;
