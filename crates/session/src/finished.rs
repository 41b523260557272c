//! What a run leaves behind: how it ended, what is needed to finish it, and why there was none.

use std::path::PathBuf;

use engine::{Cause, EngineOptions, RunError};
use plan::{Plan, Problem};
use record::{RecordError, Run};

use crate::{exports::Exports, messages::SharedVoice, prepare::RunRefused, signals::SignalGuard};

/// Why there was no load.
#[derive(Debug)]
pub enum StartError {
    /// It was refused.
    Refused(RunRefused),
    /// The steps before it ended early.
    Before {
        /// One line.
        why: String,
        /// The signal that asked for it, if one did.
        signal: Option<u8>,
    },
}

impl StartError {
    /// The record could not be begun.
    pub(crate) fn unrecorded(error: &RecordError) -> StartError {
        StartError::Refused(RunRefused::from(vec![Problem::anywhere(error.to_string())]))
    }

    /// One process of several without a record has done nothing that anybody could see.
    pub(crate) fn without_record(error: RecordError) -> StartError {
        let line = format!("{error}; a run of several processes is added up from their records");
        StartError::Refused(RunRefused::from(vec![Problem::anywhere(line)]))
    }
}

impl From<RunRefused> for StartError {
    fn from(refused: RunRefused) -> StartError {
        StartError::Refused(refused)
    }
}

/// How a run ended, and what is needed to finish it.
pub struct FinishedRun {
    /// Its record.
    pub run: Run,
    /// What ended it early, if something did.
    pub cause: Option<Cause>,
    /// The signal that ended it early, if one did; a button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Why the engine could not carry it through.
    pub error: Option<RunError>,
    pub(crate) rest: FinishContext,
}

/// What `finish` needs beside the record.
pub(crate) struct FinishContext {
    pub plan: Plan,
    pub options: EngineOptions,
    pub secrets: Vec<String>,
    pub exports: Exports,
    pub json: Option<PathBuf>,
    pub voice: SharedVoice,
    /// Signals come to this run until it is finished.
    pub _heard: Option<SignalGuard>,
}

impl FinishedRun {
    /// From the start to the end, in nanoseconds.
    #[must_use]
    pub fn runtime_ns(&self) -> u64 {
        let end = self.run.manifest.end.as_ref();
        end.map_or_else(|| self.run.totals.last_end_ns(), |end| end.ns)
    }
}
