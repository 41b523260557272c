//! Artillery front end: [`read`] makes plans from scripts, [`Accumulator`] counts its figures,
//! [`print`] renders them.

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
