//! Artillery's front door: its figures, counted beside ours.

#![forbid(unsafe_code)]

mod accumulator;

pub use accumulator::Accumulator;
