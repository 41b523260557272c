//! WHAT it means: the figures, the verdict, the conclusions and the course of a run, computed from its record alone.
//!
//! In this order, and each knows only those before it: [`figures`] are ledgers, percentiles and rates; [`verdict`] judges criteria
//! and the measurement itself; [`summary`] holds every figure that any rendering shows; [`series`] is what charts are drawn from;
//! [`conclusions`] are sentences that name where their figures stand; [`summarise`] makes a summary whole, and [`page`] is all of
//! it in one object; [`newest`] says what the newest interval of a run was like. What follows from several runs, or while one goes on, is `decisions`'s. Pure functions: no I/O, no clock, and no layout.

#![forbid(unsafe_code)]

pub mod conclusions;
mod exclusions;
pub mod figures;
pub mod live_snapshot;
pub mod moments;
pub mod page;
pub mod saturation;
pub mod series;
pub mod steady;
mod summarise;
pub mod summary;
pub mod verdict;

pub use summarise::summarise;
