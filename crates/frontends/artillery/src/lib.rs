//! Artillery's front door: its command line, scripts, figures and reports as Artillery has them, in one room. [`read`] makes plans
//! of scripts, [`Accumulator`] counts its figures beside ours, [`print`] says what it would print of them.

#![forbid(unsafe_code)]

mod accumulator;
mod command;
mod endpoints;
mod error_names;
pub mod expect;
pub mod plugins;
pub mod print;
pub mod read;
pub mod refusal;

pub use accumulator::Accumulator;
pub use command::Artillery;
pub use read::{ArtilleryInputs, ArtilleryScripts, load, load_text, translate_text};
