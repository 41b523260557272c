//! WHAT it means: the figures, the verdict, the conclusions and the course of a run, computed from its record alone.
//!
//! In this order, and each knows only those before it: [`figures`] are ledgers, percentiles and rates; [`verdict`] judges criteria
//! and the measurement itself; [`summary`] holds every figure that any rendering shows; [`series`] is what charts are drawn from;
//! [`conclusions`] are sentences that name where their figures stand; [`summarise`] makes a summary whole, and [`page`] is all of
//! it in one object. [`campaign`] is what several runs mean together, [`past`] what is kept of runs for those to come, [`gate`] whether they may pass; [`stop`] watches while a run goes on, and [`newest`] says what its newest interval was like. Pure functions: no I/O, no clock, and no layout.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compare;
pub mod conclusions;
pub mod figures;
pub mod find;
pub mod gate;
mod left_out;
mod moments;
pub mod newest;
pub mod page;
pub mod past;
mod saturation;
pub mod series;
pub mod steady;
pub mod stop;
mod summarise;
pub mod summary;
pub mod verdict;

pub use summarise::summarise;
