//! Measurements of a step that sends or awaits messages, and their recording.

use measure::{Sample, Status, sample::RequestOutcome};
use worker::{
    OutputLine,
    client::EXCERPT,
    step_trace::{RequestTrace, StepTrace},
};

use super::{User, operation::Operation};
use crate::publications::PublicationOutcome;

/// The measurements of a step on a connection.
#[derive(Debug, Default)]
pub(super) struct Messages {
    pub first_write_ns: Option<u64>,
    pub first_read_ns: Option<u64>,
    pub done_ns: u64,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Close code if the server closed the connection, or HTTP status if the server refused a
    /// request.
    pub status: Option<Status>,
    /// The reason in the server's close frame.
    pub close_reason: String,
    /// Sent message, for the trace.
    pub sent: Option<String>,
    /// Beginning of the last message, even if no step waited for it.
    pub last: Vec<u8>,
}

impl Messages {
    /// Returns the result of publishing the step's message. `None` if nothing was sent.
    pub fn outcome(&self, ended: RequestOutcome) -> Option<PublicationOutcome> {
        let is_sent = self.bytes_out > 0 || ended == RequestOutcome::Ok;
        if is_sent {
            return Some(PublicationOutcome::Sent);
        }
        self.first_write_ns.map(|_| PublicationOutcome::Unknown)
    }
}

impl User<'_> {
    /// Records an operation whose label consists of this verb and name.
    pub(super) fn record_messages(
        &mut self,
        (verb, name): (&str, &str),
        operation: Operation,
        messages: &Messages,
        ended: RequestOutcome,
    ) {
        let sample = Sample {
            label: operation.label,
            intended: operation.intended,
            started_ns: operation.started_ns,
            first_write_ns: messages.first_write_ns,
            first_read_ns: messages.first_read_ns,
            done_ns: messages.done_ns,
            ended,
            status: messages.status.filter(|_| ended != RequestOutcome::Ok),
            bytes_out: messages.bytes_out,
            bytes_in: messages.bytes_in,
            trace: None,
        };
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.sample(&sample);
        self.count_good(&mut recorder, &sample, None);
        drop(recorder);
        let reason = match ended {
            RequestOutcome::Ok => None,
            RequestOutcome::Failed(failure) => Some(failure.to_string()),
            RequestOutcome::Unanswered(fault) => Some(fault.text().to_owned()),
        };
        let more = self.close_text(sample.status, &messages.close_reason);
        self.record_first(&sample, || {
            let detail = self.hidden(format!("{verb} {name}{more}"));
            self.message_detail(detail, &messages.last)
        });
        if self.worker.common.walks {
            let trace = RequestTrace {
                name: None,
                method: verb.to_owned(),
                url: name.to_owned(),
                status: None,
                took_ns: messages.done_ns.saturating_sub(operation.started_ns),
                found: Vec::new(),
                failed: reason.map(|reason| self.hidden(format!("{reason}{more}"))),
                body: Some(self.hidden(messages.text())).filter(|text| !text.is_empty()),
            };
            let trace = StepTrace::Request(Box::new(trace));
            self.worker.emit(OutputLine::Step(trace));
        }
    }

    /// Returns the close code and the server's reason, to describe a failure.
    fn close_text(&self, status: Option<Status>, reason: &str) -> String {
        let Some(status) = status else {
            return String::new();
        };
        let reason = if self.program.without_excerpts {
            ""
        } else {
            reason
        };
        format!(": {status} {reason}").trim_end().to_owned()
    }
}

impl Messages {
    /// Returns the messages of a step for its trace.
    pub fn text(&self) -> String {
        let sent = self.sent.iter().map(|text| format!("> {text}"));
        let last =
            (!self.last.is_empty()).then(|| format!("< {}", String::from_utf8_lossy(&self.last)));
        let lines: Vec<String> = sent.chain(last).collect();
        lines.join("\n")
    }

    /// Stores the beginning of a message.
    pub fn keep(&mut self, bytes: &[u8]) {
        self.last.clear();
        self.last
            .extend_from_slice(&bytes[..bytes.len().min(EXCERPT)]);
    }
}
