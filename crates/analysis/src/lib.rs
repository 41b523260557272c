//! Computes figures, verdict and conclusions of a run from its record.
//!
//! Modules in order of dependency: [`figures`] contains ledgers, percentiles and rates, [`verdict`]
//! judges criteria and the measurement, [`summary`] contains every reported figure, [`series`] is
//! the data of charts, [`conclusions`] are sentences with references to figures, [`summarise()`]
//! completes the summary, [`page`] combines everything, and [`live_snapshot`] describes the newest
//! interval. All functions are pure.

#![forbid(unsafe_code)]

pub mod conclusions;
mod exclusions;
pub mod figures;
pub mod headline_time;
pub mod live_snapshot;
pub mod moments;
pub mod page;
pub mod saturation;
pub mod series;
pub mod steady;
mod summarise;
pub mod summary;
pub mod verdict;

pub use summarise::{brief, summarise};
