//! WHAT others measured: what other tools left, read ([`import`]), held against itself ([`check`]), and put into the shapes of a run of
//! ours ([`as_run`]), so that it is told as one, or beside a run ([`beside`]). What is unknown is left out, never zero. This crate opens no file: it is given texts.

#![forbid(unsafe_code)]

pub mod as_run;
pub mod check;
pub mod external_metrics;
pub mod import;
mod page;

pub use page::page;
