//! A finished run, and why a run could not start.

use std::path::PathBuf;

use engine::{EngineOptions, RunError};
use plan::{Plan, Problem};
use record::{RecordError, Run};
use worker::stop::Cause;

use crate::{
    exports::Exports, messages::SharedMessageSink, prepare::RunRefused, signals::SignalGuard,
};

/// Why there was no load.
#[derive(Debug)]
pub enum StartError {
    /// The run was refused.
    Refused(RunRefused),
    /// The steps before the load ended early.
    Before {
        /// The reason, in one line.
        reason: String,
        /// The signal that ended them, if any.
        signal: Option<u8>,
    },
}

impl StartError {
    /// The record could not be created.
    pub(crate) fn unrecorded(error: &RecordError) -> StartError {
        StartError::Refused(RunRefused::from(vec![Problem::anywhere(error.to_string())]))
    }

    /// The error for a part: without a record its results would be lost.
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

/// A finished run, with everything that `finish` needs.
pub struct FinishedRun {
    /// The record of the run.
    pub run: Run,
    /// What ended the run early, if anything.
    pub cause: Option<Cause>,
    /// The signal that ended the run early, if any. The stop button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Why the engine could not complete the run, if it could not.
    pub error: Option<RunError>,
    pub(crate) rest: FinishContext,
}

pub(crate) struct FinishContext {
    pub plan: Plan,
    pub options: EngineOptions,
    pub secrets: Vec<String>,
    pub exports: Exports,
    pub json: Option<PathBuf>,
    pub sink: SharedMessageSink,
    /// Receives signals until the run is finished.
    pub _signal_handler: Option<SignalGuard>,
}

impl FinishedRun {
    /// Duration of the run, in nanoseconds.
    #[must_use]
    pub fn runtime_ns(&self) -> u64 {
        let end = self.run.manifest.end.as_ref();
        end.map_or_else(|| self.run.totals.rows.end_ns, |end| end.ns)
    }
}
