//! Imports results of other tools ([`import`]), checks them ([`check`]), converts them
//! ([`as_run`]), and adds external metrics ([`external_metrics`]). This crate does not access
//! files.

#![forbid(unsafe_code)]

pub mod as_run;
pub mod check;
pub mod external_metrics;
pub mod import;
mod page;

pub use page::page;
