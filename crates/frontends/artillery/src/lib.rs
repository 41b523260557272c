//! Front end for Artillery. [`read`] creates plans from scripts, [`Accumulator`] counts Artillery's
//! figures, [`mod@print`] prints them.

#![forbid(unsafe_code)]

mod accumulator;
mod command;
mod custom;
mod endpoints;
mod error_names;
pub mod expect;
pub mod plugins;
pub mod print;
pub mod read;
pub mod refusal;

pub use accumulator::{Accumulator, StepKind};
pub use command::Artillery;
pub use read::{ArtilleryInputs, ArtilleryScripts, load, load_text, translate_text};
