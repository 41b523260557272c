//! A finished run, and the error for a run that could not start.

use std::path::PathBuf;

use engine::{EngineOptions, RunError};
use plan::{Plan, Problem};
use record::{RecordError, Run, redact::Salt};
use worker::stop::Cause;

use crate::{
    exports::Exports, messages::SharedMessageSink, prepare::RunRefused, signals::SignalGuard,
};

/// Why a run had no load.
#[derive(Debug)]
pub enum StartError {
    /// The run was refused before it started.
    Refused(RunRefused),
    /// The steps before the load ended early.
    Before {
        /// Reason, on one line.
        reason: String,
        /// Signal that ended the steps, if any.
        signal: Option<u8>,
    },
}

impl StartError {
    /// Creates the error for a record that could not be created.
    pub(crate) fn unrecorded(error: &RecordError) -> StartError {
        let line = match error {
            RecordError::NotWritable { .. } => format!("{error}; or use --no-record"),
            _ => error.to_string(),
        };
        StartError::Refused(RunRefused::from(vec![Problem::anywhere(line)]))
    }

    /// Creates the error for a part without a record, whose results would be lost.
    pub(crate) fn without_record(error: RecordError) -> StartError {
        let line = format!(
            "{error}; the results of a run with several processes are merged from their records"
        );
        StartError::Refused(RunRefused::from(vec![Problem::anywhere(line)]))
    }
}

impl From<RunRefused> for StartError {
    fn from(refused: RunRefused) -> StartError {
        StartError::Refused(refused)
    }
}

/// A finished run, with the context that `finish` needs.
pub struct FinishedRun {
    /// Record of the run.
    pub run: Run,
    /// Cause of an early end, if the run ended early.
    pub cause: Option<Cause>,
    /// Signal that ended the run early, if any. The stop button counts as Ctrl-C.
    pub signal: Option<u8>,
    /// Error that prevented the engine from completing the run, if any.
    pub error: Option<RunError>,
    pub(crate) rest: FinishContext,
}

pub(crate) struct FinishContext {
    pub plan: Plan,
    pub options: EngineOptions,
    pub secrets: Vec<String>,
    /// Salt for the digits that replace secrets in the record.
    pub salt: Salt,
    pub exports: Exports,
    pub json: Option<PathBuf>,
    pub sink: SharedMessageSink,
    /// Handles signals until the run has finished.
    pub _signal_handler: Option<SignalGuard>,
}

impl FinishedRun {
    /// Returns the duration of the run in nanoseconds.
    #[must_use]
    pub fn runtime_ns(&self) -> u64 {
        let end = self.run.manifest.end.as_ref();
        end.map_or_else(|| self.run.totals.rows.end_ns, |end| end.ns)
    }
}
