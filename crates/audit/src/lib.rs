//! Results of other tools: imports ([`import`]), checks ([`check`]) and converts them ([`as_run`]),
//! and adds external metrics ([`external_metrics`]). Figures that are unknown are omitted. Works on
//! texts and does not access files.

#![forbid(unsafe_code)]

pub mod as_run;
pub mod check;
pub mod external_metrics;
pub mod import;
mod page;

pub use page::page;
