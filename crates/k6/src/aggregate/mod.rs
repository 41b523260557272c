//! Aggregation of samples.

pub mod trend_stat;
