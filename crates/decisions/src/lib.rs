//! Evaluation of several runs.
//!
//! Modules in order of dependency: [`compare`] compares two groups, [`gate`] judges against a
//! baseline, [`run_index`] is the index of runs, [`find`] searches for the load line, [`stop`]
//! evaluates stop rules, [`campaign`] evaluates stages. All functions are pure.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compare;
pub mod find;
pub mod gate;
pub mod run_index;
pub mod stop;
