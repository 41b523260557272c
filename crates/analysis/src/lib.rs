//! WHAT it means: the figures, the verdict, the conclusions and the course of a run, computed from its record alone.
//!
//! [`summary`] holds every figure that any rendering shows, [`verdict`] judges criteria and the measurement itself, [`series`] is
//! what charts are drawn from, [`conclusions`] are sentences that name where their figures stand, and [`page`] is all of it in one
//! object. Pure functions: no I/O, no clock, and no layout.

#![forbid(unsafe_code)]

pub mod conclusions;
pub mod page;
pub mod series;
pub mod summary;
pub mod verdict;
