//! `events.jsonl`: phases, warnings, first errors, and the reason for an early end.

use measure::{
    LabelId, NegotiatedVersion, Sample, ScriptThreshold, SpanContext, Status, interval::FirstSeen,
    sample::RequestOutcome,
};
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<NegotiatedVersion>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<TracedRequest>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<ScriptThreshold>,
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
            negotiated: None,
            request: None,
            threshold: None,
        }
    }

    /// Replaces label IDs, which differ between processes.
    pub fn relabel(&mut self, own: impl Fn(LabelId) -> LabelId) {
        let of_error = self.error.as_mut().map(|error| &mut error.label);
        let of_request = self.request.as_mut().map(|request| &mut request.label);
        for label in of_error.into_iter().chain(of_request) {
            *label = own(*label);
        }
    }

    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Event {
        let mut event = self.clone();
        event.text = redactor.text(&event.text);
        if let Some(lost) = &mut event.lost {
            lost.name = redactor.text(&lost.name);
        }
        if let Some(negotiated) = &mut event.negotiated {
            negotiated.origin = redactor.text(&negotiated.origin);
        }
        if let Some(threshold) = &mut event.threshold {
            threshold.text = redactor.text(&threshold.text);
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
    /// The HTTP version of an origin became known.
    Negotiated,
    /// Some requests were sent but not recorded.
    Unmeasured,
    /// A traced request was one of the slowest of its label.
    SlowRequest,
    /// A threshold of the test script was evaluated.
    Threshold,
    #[serde(other)]
    Note,
}

/// The first sample of an error under a label. Times are in nanoseconds from the start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FirstError {
    /// ID of the label.
    pub label: LabelId,
    /// Reason under which the error counts.
    pub reason: String,
    /// More details, if known.
    pub detail: String,
    /// Values in the response that differ from the expected values: `$.id is "7", expected "8"`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mismatches: Vec<String>,
    /// Beginning of the response body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<String>,
    /// Status of the response: an HTTP code, or a text such as `websocket:1011`. `None` if there
    /// was no response.
    #[schemars(schema_with = "status_schema")]
    pub status: Option<Status>,
    /// Intended start of the request.
    pub intended_ns: u64,
    /// When the worker picked up the request.
    pub started_ns: u64,
    /// When the first byte of the request was written.
    pub first_write_ns: Option<u64>,
    /// When the first byte of the response was read.
    pub first_read_ns: Option<u64>,
    /// When the request ended.
    pub done_ns: u64,
    /// Trace and span IDs of the request. `None` if it was not traced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceIds>,
}

/// The IDs under which a service may have recorded a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TraceIds {
    /// Trace ID: 32 hexadecimal digits.
    pub trace_id: String,
    /// Span ID of the request, which is the parent of the service's span: 16 hexadecimal digits.
    pub span_id: String,
}

impl From<SpanContext> for TraceIds {
    fn from(context: SpanContext) -> TraceIds {
        TraceIds {
            trace_id: context.trace_id(),
            span_id: context.span_id(),
        }
    }
}

/// A traced request that is one of the slowest of its label. Times are in nanoseconds from the
/// start of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TracedRequest {
    /// ID of the label.
    pub label: LabelId,
    /// Trace and span IDs of the request.
    #[serde(flatten)]
    pub ids: TraceIds,
    /// Status of the response: an HTTP code, or a text such as `websocket:1011`. `None` if there
    /// was no response.
    #[schemars(schema_with = "status_schema")]
    pub status: Option<Status>,
    /// Reason under which the request counts as an error. `None` if it succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Intended start of the request.
    pub intended_ns: u64,
    /// When the first byte of the request was written.
    pub first_write_ns: Option<u64>,
    /// When the first byte of the response was read.
    pub first_read_ns: Option<u64>,
    /// When the request ended.
    pub done_ns: u64,
}

impl TracedRequest {
    /// Creates the entry of a request. Returns `None` if the request was not traced.
    #[must_use]
    pub fn new(sample: &Sample) -> Option<TracedRequest> {
        let failed = sample.ended != RequestOutcome::Ok;
        Some(TracedRequest {
            label: sample.label,
            ids: sample.trace?.into(),
            status: sample.status,
            reason: failed.then(|| sample.ended.reason()),
            intended_ns: sample.intended.ns(),
            first_write_ns: sample.first_write_ns,
            first_read_ns: sample.first_read_ns,
            done_ns: sample.done_ns,
        })
    }

    /// Returns the response time in nanoseconds.
    #[must_use]
    pub fn response_ns(&self) -> u64 {
        self.done_ns.saturating_sub(self.intended_ns)
    }
}

fn status_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": ["integer", "string", "null"] })
}

impl FirstError {
    #[must_use]
    pub fn new(first: &FirstSeen, redactor: &Redactor) -> FirstError {
        let sample = &first.sample;
        FirstError {
            label: sample.label,
            reason: sample.ended.reason(),
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
            trace: sample.trace.map(TraceIds::from),
        }
    }
}
