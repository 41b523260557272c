//! `events.jsonl`: phases, warnings, first errors, and the cause of an early end.

use measure::{LabelId, interval::FirstSeen};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{LoadChange, NodeLost, redact::Redactor};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Event {
    pub at_ns: u64,
    pub event: EventKind,
    pub text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<FirstError>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<LoadChange>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<NodeLost>,
}

impl Event {
    #[must_use]
    pub fn new(at_ns: u64, event: EventKind, text: impl Into<String>) -> Event {
        Event {
            at_ns,
            event,
            text: text.into(),
            phase: None,
            error: None,
            change: None,
            lost: None,
        }
    }

    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Event {
        let mut event = self.clone();
        event.text = redactor.text(&event.text);
        if let Some(lost) = &mut event.lost {
            lost.name = redactor.text(&lost.name);
        }
        if let Some(error) = &mut event.error {
            error.reason = redactor.text(&error.reason);
            error.detail = redactor.text(&error.detail);
            let texts = error.mismatches.iter_mut().chain(&mut error.body);
            for text in texts {
                *text = redactor.text(text);
            }
        }
        event
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    PhaseStarted,
    PhaseCompleted,
    Warning,
    FirstError,
    Stop,
    Interrupt,
    LoadChanged,
    NodeLost,
    Finding,
    /// Requests were sent that are not recorded.
    Unmeasured,
    #[serde(other)]
    Note,
}

/// The first sample of an error under a label. Times are nanoseconds from the start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstError {
    /// Number of the label.
    pub label: LabelId,
    /// What went wrong, in the words under which it is counted.
    pub reason: String,
    /// What else is known.
    pub detail: String,
    /// What in the response is not as expected: `$.id is "7", expected "8"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<String>,
    /// The beginning of the response body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// The status, if a response head arrived.
    pub status: Option<u16>,
    /// When the request should have started.
    pub intended_ns: u64,
    /// When the worker took up the request.
    pub started_ns: u64,
    /// When its first byte was written.
    pub first_write_ns: Option<u64>,
    /// When the first byte of its response was read.
    pub first_read_ns: Option<u64>,
    /// When it ended.
    pub done_ns: u64,
}

impl FirstError {
    #[must_use]
    pub fn new(first: &FirstSeen, redactor: &Redactor) -> FirstError {
        let sample = &first.sample;
        FirstError {
            label: sample.label,
            reason: first.reason(),
            detail: redactor.text(&first.detail.detail),
            mismatches: first
                .detail
                .found
                .iter()
                .map(|text| redactor.text(text))
                .collect(),
            body: first.detail.body.as_ref().map(|text| redactor.text(text)),
            status: sample.status,
            intended_ns: sample.intended.ns(),
            started_ns: sample.started_ns,
            first_write_ns: sample.first_write_ns,
            first_read_ns: sample.first_read_ns,
            done_ns: sample.done_ns,
        }
    }
}
