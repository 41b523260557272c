//! Records of runs. [`Writer`] writes them, [`Run`] reads them, [`history`] contains the run over
//! time, and [`redact`] hides secrets. `docs/reference/run-record.md` describes the format. This
//! crate reads no clock and starts no thread.

#![forbid(unsafe_code)]

mod agreement;
mod ahead;
mod begin;
mod change;
mod chunk;
mod copy;
mod counters;
mod custom;
mod event;
mod files;
mod front_end;
pub mod history;
mod hlog;
mod host;
mod http2_line;
mod interval;
mod intervals;
mod load_text;
mod location;
mod manifest;
mod merge;
mod node;
mod nodes;
mod number_table;
mod parts;
mod read;
pub mod redact;
mod rows;
mod run;
mod samples;
pub mod server;
mod totals;
mod truncation;
pub mod units;
mod write;
mod zone;

use std::{io, path::PathBuf};

pub use begin::RunContext;
pub use begin::{moment, plan_digest, sha256, utc};
pub use change::{Changed, LoadChange};
pub use chunk::{DecodedChunk, RecordChunk};
pub use copy::{Ages, Copier, Extra, RecordPiece, Replica};
pub use event::{Event, EventKind, FirstError, TraceIds, TracedRequest};
pub use host::Host;
pub use interval::{HostSample, IntervalRecord, IntervalRow, LabelTotals};
pub use intervals::Frames;
pub use load_text::describe as load_text;
pub use location::{RunLocation, all, find, is_running};
pub use manifest::{
    FileFacts, Layout, LineCounts, LoadFacts, Manifest, Model, PhaseFacts, PoolFacts, RunEnd,
    RunStart, RunState, ScenarioFacts, Tool, Whole, WorkloadFacts, read as read_manifest,
};
pub use merge::{Merged, merge};
pub use node::{NodeLost, called, clock};
pub use nodes::{NodeRow, NodeState, NodeSum};
pub use read::IntervalReader;
pub use rows::Rows;
pub use run::{ProcessFacts, Run};
pub use samples::Samples;
pub use totals::Totals;
pub use truncation::Truncation;
pub use write::{Writer, unwritten_because};
pub use zone::Zone;

/// Version of the record format. Records of older versions are refused, because their fields have
/// other names.
pub const SCHEMA: u32 = 2;

#[derive(Debug)]
pub enum RecordError {
    NotWritable {
        path: PathBuf,
        source: io::Error,
    },
    NotBegun {
        path: PathBuf,
        source: io::Error,
    },
    Stopped {
        path: PathBuf,
        source: io::Error,
        at_ns: u64,
    },
    NotFound {
        wanted: String,
        runs: PathBuf,
    },
    Ambiguous {
        wanted: String,
        found: Vec<String>,
    },
    NoManifest {
        path: PathBuf,
        reason: String,
    },
    Foreign {
        path: PathBuf,
        reason: String,
    },
    Newer {
        path: PathBuf,
        schema: u32,
    },
    Older {
        path: PathBuf,
        schema: u32,
    },
}

impl std::fmt::Display for RecordError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RecordError::NotWritable { path, source } => {
                write!(
                    f,
                    "the run is not recorded: {}: {source}; choose a writable folder with --runs or LOADLINE_RUNS",
                    path.display()
                )
            }
            RecordError::NotBegun { path, source } => write!(
                f,
                "cannot write the record in {}: {source}; free some space, or choose another folder with --runs or LOADLINE_RUNS",
                path.display()
            ),
            RecordError::Stopped {
                path,
                source,
                at_ns,
            } => write!(
                f,
                "cannot write the record in {}: {source}; it ends at {}: free some space, or choose another folder with --runs or LOADLINE_RUNS",
                path.display(),
                crate::units::duration(*at_ns)
            ),
            RecordError::NotFound { wanted, runs } => {
                write!(
                    f,
                    "no run `{wanted}` in {}: use a run folder, the beginning of its name, or `last`",
                    runs.display()
                )
            }
            RecordError::Ambiguous { wanted, found } => write!(
                f,
                "several runs begin with `{wanted}`: {}; use a longer part of the name",
                found.join(", ")
            ),
            RecordError::NoManifest { path, reason } => {
                write!(f, "{} is not a run record: {reason}", path.display())
            }
            RecordError::Foreign { path, reason } => write!(
                f,
                "{} is not part of this run: {reason}; move it out of the folder",
                path.display()
            ),
            RecordError::Newer { path, schema } => {
                write!(
                    f,
                    "{} was written by a newer Loadline (record schema {schema}, supported up to {SCHEMA}): update Loadline",
                    path.display()
                )
            }
            RecordError::Older { path, schema } => {
                write!(
                    f,
                    "{} was written by an older Loadline (record schema {schema}, this version reads {SCHEMA}): read it with the Loadline that wrote it",
                    path.display()
                )
            }
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::NotWritable { source, .. }
            | RecordError::NotBegun { source, .. }
            | RecordError::Stopped { source, .. } => Some(source),
            _ => None,
        }
    }
}
