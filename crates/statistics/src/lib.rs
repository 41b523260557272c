//! HOW SURE: what can be said of samples in which every value is one run. Exact tests and intervals for few values, corrections for
//! many tests, and resampling of windows that hang together.
//!
//! Pure arithmetic over numbers: it knows no run, no unit and no request. How far a percentile inside one run may be off is
//! `measure::confidence`'s, which works on histograms.

#![forbid(unsafe_code)]

mod blocks;
mod holm;
mod rank;
mod robust;
mod shift;

pub use blocks::{Resampled, block_length, resample};
pub use holm::adjusted;
pub use rank::{Tails, mann_whitney, smallest_p};
pub use robust::{median, outliers};
pub use shift::{Shift, hodges_lehmann};
