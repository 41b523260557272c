//! Measurement data: histograms, counters, outcomes, interval snapshots, labels, and the confidence
//! of percentiles.
//!
//! This crate contains only data and arithmetic, without I/O, clocks or threads. The engine
//! supplies all times.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

pub mod accumulator;
pub mod confidence;
pub mod custom;
pub mod cuts;
mod fault_names;
pub mod histogram;
mod http2_counts;
mod http2_fault;
pub mod in_flight;
pub mod interval;
pub mod label;
mod negotiated;
pub mod outcome;
pub mod packed;
pub mod recent;
pub mod recorder;
pub mod sample;
mod script_threshold;
pub mod sequence;
pub mod slot;
mod socketio;
mod status;
pub mod stream;
pub mod summary;
mod tls_fault;
pub mod trace_context;
pub mod varint;
mod websocket;

pub use histogram::Histogram;
pub use interval::{Interval, TimeSpan};
pub use label::{Label, LabelId, Labels};
pub use negotiated::NegotiatedVersion;
pub use outcome::{Failure, Fault, NoAnswer, OutcomeClass, TimeKind};
pub use packed::Packed;
pub use recorder::Recorder;
pub use sample::{DurationSample, Intended, Sample};
pub use script_threshold::ScriptThreshold;
pub use slot::Slot;
pub use status::Status;
pub use trace_context::SpanContext;

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes the value by reference"
)]
fn is_zero(n: &u64) -> bool {
    *n == 0
}
