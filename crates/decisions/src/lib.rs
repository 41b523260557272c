//! Evaluates several runs.
//!
//! Modules in order of dependency: [`compare`] compares two groups, [`gate`] decides, [`past`] is
//! the index of runs, [`find`] searches for the load line, [`stop`] has stop rules, [`campaign`]
//! evaluates stages. Pure functions without I/O; single runs are evaluated by `analysis`.

#![forbid(unsafe_code)]

pub mod campaign;
pub mod compare;
pub mod find;
pub mod gate;
pub mod run_index;
pub mod stop;
