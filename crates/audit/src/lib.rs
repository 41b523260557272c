//! Imports results of other tools ([`import`]), checks them ([`check`]), converts them to our
//! figures ([`as_run`]), and adds external metrics ([`beside`]). Unknown figures are omitted. Texts
//! in, no files.

#![forbid(unsafe_code)]

pub mod as_run;
pub mod check;
pub mod external_metrics;
pub mod import;
mod page;

pub use page::page;
