//! HOW SURE: what can be said of samples in which every value is one run, and of series over the time of one. Exact tests and
//! intervals for few values, corrections for many tests, resampling of windows that hang together; whether a series has settled, whether
//! a backlog grows; at which level a share reaches what is allowed.
//!
//! Pure arithmetic over numbers: it knows no run, no unit and no request. How far a percentile inside one run may be off is
//! `measure::confidence`'s, which works on histograms.

#![forbid(unsafe_code)]

mod backlog;
mod blocks;
mod change_points;
mod crossing;
mod holm;
mod rank;
mod robust;
mod scalability;
mod settled;
mod shift;
mod student;
mod trend;
mod warm_up;

pub use backlog::{ENOUGH_OF_PLANNED, backlog, outpaced};
pub use blocks::{Resampled, block_length, resample};
pub use change_points::{
    ChangePoint, LEAST_LEVEL, LEAST_P, Levels, TOO_CORRELATED, WINDOW, change_points, levels,
};
pub use crossing::{Crossing, Look, Looks, Movement, crossing, movement};
pub use holm::adjusted;
pub use rank::{Tails, mann_whitney, smallest_p};
pub use robust::{median, outliers};
pub use scalability::{LEAST_LEVELS, Law, Peak, Scalability, pool, scalability};
pub use settled::{Goes, Settled, settled};
pub use shift::{Shift, hodges_lehmann};
pub use trend::{Level, Trend, shift, trend};
pub use warm_up::{ENOUGH_VALUES, warm_up};
