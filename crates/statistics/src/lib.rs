//! Statistics over runs and over time series: exact tests and intervals for few values, multiple
//! testing, block bootstrap, steady state, backlog growth, change points, and the load level at a
//! bound.
//!
//! The crate contains only arithmetic. Confidence intervals of percentiles within one run are in
//! `measure::confidence`.

#![forbid(unsafe_code)]

mod backlog;
mod blocks;
mod change_points;
mod crossing;
mod holm;
mod rank;
mod robust;
mod scalability;
mod shift;
mod steady_state;
mod student;
mod trend;
mod warm_up;

pub use backlog::{ENOUGH_OF_PLANNED, backlog, outpaced};
pub use blocks::{Resampled, block_length, resample};
pub use change_points::{
    ChangePoint, LEAST_LEVEL, LEAST_P, Levels, TOO_CORRELATED, WINDOW, change_points, levels,
};
pub use crossing::{Crossing, Movement, Observation, Observations, crossing, movement};
pub use holm::adjusted;
pub use rank::{Tails, mann_whitney, smallest_p};
pub use robust::{median, outliers};
pub use scalability::{LEAST_LEVELS, Law, Scalability, ThroughputPeak, pool, scalability};
pub use shift::{Shift, hodges_lehmann};
pub use steady_state::{Direction, SteadySeries, settled};
pub use trend::{LevelStep, Trend, shift, trend};
pub use warm_up::{ENOUGH_VALUES, warm_up};
