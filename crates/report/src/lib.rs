//! TELL it: the run record and everything that reads it.
//!
//! The engine hands over whole intervals; [`record::Writer`] keeps them, [`record::Run`] reads them back, [`summary`] computes
//! every figure that any rendering shows, and [`verdict`] judges. This crate reads no clock and starts no thread; no renderer
//! sees the engine.

#![forbid(unsafe_code)]

pub mod adopt;
pub mod artillery;
pub mod audit;
pub mod conclusions;
pub mod console;
pub mod derived;
pub mod export;
pub mod history;
pub mod html;
pub mod import;
pub mod markdown;
pub mod page;
pub mod printable;
pub mod record;
pub mod redact;
pub mod series;
pub mod summary;
pub mod svg;
pub mod units;
pub mod verdict;
pub mod wrk;
mod xml;
