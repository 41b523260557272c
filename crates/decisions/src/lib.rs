//! WHAT FOLLOWS from runs: their summaries beside each other, computed from records alone.
//!
//! In this order, and each knows only those before it: [`compare`] sets two groups of runs side by side, [`gate`] says whether one may pass,
//! [`past`] is what is kept of runs for those to come; [`find`] searches for what a service bears, [`stop`] watches while a run goes on and says when it has found out what it is for;
//! [`campaign`] is what several runs mean together. Pure functions: no I/O, no clock, and no layout. What one run means is `analysis`'s.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compare;
pub mod find;
pub mod gate;
pub mod run_index;
pub mod stop;
