//! TELL it: the console, Markdown, the page pictures and exports of a run's figures.
//!
//! What is told was computed by `analysis`, from the record. This crate computes no figure, reads no clock and starts no thread;
//! no renderer sees the engine.

#![forbid(unsafe_code)]

mod about;
pub mod campaign;
pub mod compare;
pub mod console;
pub mod derived;
pub mod export;
pub mod find;
pub mod gate;
pub mod html;
pub mod markdown;
pub mod mocks;
pub mod nodes;
pub mod printable;
pub mod profile;
pub mod sheet;
pub mod svg;
pub mod trend;
mod xml;
