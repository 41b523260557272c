//! Renders the figures of a run for the console, Markdown, the page and exports. The crate
//! `analysis` computes the figures. This crate reads no clock and starts no thread.

#![forbid(unsafe_code)]

mod about;
pub mod campaign;
pub mod compare;
pub mod console;
mod custom;
pub mod deliveries;
pub mod derived;
pub mod export;
mod facts;
pub mod find;
pub mod gate;
pub mod html;
mod http2;
pub mod markdown;
pub mod mocks;
pub mod nodes;
pub mod printable;
pub mod profile;
pub mod sheet;
mod socketio;
mod streams;
pub mod svg;
mod traces;
pub mod trend;
mod websocket;
mod xml;
