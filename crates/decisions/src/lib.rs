//! Evaluates several runs.
//!
//! Modules in order of dependency: [`compare`] compares two groups, [`gate`] decides, [`run_index`]
//! is the index of runs, [`find`] searches for the load line, [`stop`] has stop rules, [`campaign`]
//! evaluates stages. All functions are pure and do no I/O. The crate `analysis` evaluates single
//! runs.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compare;
pub mod find;
pub mod gate;
pub mod run_index;
pub mod stop;
