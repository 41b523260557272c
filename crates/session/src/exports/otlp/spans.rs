//! Spans of traced requests (`--export otlp-traces`): the slowest of each label and failed ones,
//! within a budget. The service's spans are their children, so a trace also shows the time before
//! the service.

use std::collections::{BTreeMap, VecDeque};

use measure::{Interval, Label, LabelId, Sample, SpanContext, Status, sample::RequestOutcome};
use plan::rng::mix;
use record::Run;

use super::{
    encoded, receiver, rejected,
    run_identity::{AttributeValue, Attributes, RunIdentity, attribute},
    settings::OtlpSettings,
};
use crate::exports::{
    exporter::{ExportedInterval, IntervalExporter},
    protobuf::Message,
    receiver::{ExportFailure, HttpReceiver, with_retries},
};

/// Maximum number of requests with spans per interval.
const IN_INTERVAL: usize = 100;
/// Maximum number of requests that wait for the receiver. The oldest are dropped.
const WAITING: usize = 1000;

const INTERNAL: u64 = 1;
const CLIENT: u64 = 3;
const STATUS_ERROR: u64 = 2;

/// Field numbers from opentelemetry/proto/trace/v1/trace.proto.
mod field {
    pub const SCOPE_SPANS: u64 = 2;
    pub const TRACE_ID: u64 = 1;
    pub const SPAN_ID: u64 = 2;
    pub const PARENT_SPAN_ID: u64 = 4;
    pub const NAME: u64 = 5;
    pub const KIND: u64 = 6;
    pub const START: u64 = 7;
    pub const END: u64 = 8;
    pub const ATTRIBUTES: u64 = 9;
    pub const STATUS: u64 = 15;
    pub const STATUS_MESSAGE: u64 = 2;
    pub const STATUS_CODE: u64 = 3;
}

pub(in crate::exports) struct SpanExporter {
    settings: OtlpSettings,
    receiver: HttpReceiver,
    run: Option<RunIdentity>,
    /// Start of the run, in nanoseconds since 1970.
    zero_ns: u64,
    waiting: VecDeque<Sample>,
    /// Number of intervals since the last delivery.
    pending: u64,
}

impl SpanExporter {
    /// Checks that the receiver exists and accepts the path and the headers.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if a run could not export anything.
    pub fn open(settings: &OtlpSettings) -> Result<SpanExporter, String> {
        let wrong = |reason| format!("--export otlp-traces: {reason}");
        let receiver = receiver(settings).map_err(wrong)?;
        receiver
            .check(&encoded(settings, Vec::new()))
            .map_err(wrong)?;
        Ok(SpanExporter {
            settings: settings.clone(),
            receiver,
            run: None,
            zero_ns: 0,
            waiting: VecDeque::new(),
            pending: 0,
        })
    }

    /// Sends the waiting spans. Returns the number of intervals since the last delivery.
    fn export(&mut self) -> Result<u64, ExportFailure> {
        if let Some(run) = self.run.as_ref().filter(|_| !self.waiting.is_empty()) {
            let body = request(run, self.zero_ns, &self.waiting);
            let answer = self.receiver.post(&encoded(&self.settings, body))?;
            // Rejected spans must not be sent again, and the receiver accepted the others.
            self.waiting.clear();
            if let Some(failure) = rejected(&answer, "spans") {
                self.pending = 0;
                return Err(failure);
            }
        }
        Ok(std::mem::take(&mut self.pending))
    }
}

impl IntervalExporter for SpanExporter {
    fn start(&mut self, run: Run) -> Result<(), String> {
        self.zero_ns = run.manifest.start.wall_ns;
        self.run = Some(RunIdentity::new(&self.settings.resource, run));
        Ok(())
    }

    fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
        if let Some(run) = &mut self.run {
            let new = exported.labels.into_iter();
            run.labels.extend(new.map(|label| (label.id, label)));
        }
        self.pending += 1;
        self.waiting.extend(chosen(&exported.interval));
        let dropped = self.waiting.len().saturating_sub(WAITING);
        self.waiting.drain(..dropped);
        self.export().map_err(|failure| failure.reason)
    }

    fn finish(&mut self, _: Option<Run>) -> Result<u64, String> {
        let mut delivered = 0;
        with_retries(|| {
            delivered += self.export()?;
            Ok(())
        })?;
        Ok(delivered)
    }
}

/// Returns the requests of an interval that get spans: failed requests, and the slowest ones.
fn chosen(interval: &Interval) -> Vec<Sample> {
    let mut slowest: Vec<&Sample> = interval.slowest.iter().collect();
    slowest.sort_by_key(|sample| std::cmp::Reverse(sample.response_ns()));
    let failed = interval.failed_traces.iter().take(IN_INTERVAL / 2);
    let mut chosen: Vec<Sample> = Vec::new();
    for sample in failed.chain(slowest) {
        let is_new = chosen.iter().all(|known| known.trace != sample.trace);
        if is_new && chosen.len() < IN_INTERVAL {
            chosen.push(*sample);
        }
    }
    chosen
}

/// Returns an encoded `ExportTraceServiceRequest`.
fn request<'s>(
    run: &RunIdentity,
    zero_ns: u64,
    samples: impl IntoIterator<Item = &'s Sample>,
) -> Vec<u8> {
    run.request(|scope| {
        for sample in samples {
            let Some(trace) = sample.trace else { continue };
            let request = TracedSpan {
                run,
                labels: &run.labels,
                zero_ns,
                sample,
                trace,
            };
            scope.message(field::SCOPE_SPANS, |span| request.write_whole(span));
            scope.message(field::SCOPE_SPANS, |span| request.write_call(span));
        }
    })
}

struct TracedSpan<'a> {
    run: &'a RunIdentity,
    labels: &'a BTreeMap<LabelId, Label>,
    zero_ns: u64,
    sample: &'a Sample,
    trace: SpanContext,
}

impl TracedSpan<'_> {
    /// Writes the span that starts at the intended start of the request. It has no parent.
    fn write_whole(&self, span: &mut Message) {
        let sample = self.sample;
        self.begin(span, self.whole_id(), sample.intended.ns());
        span.varint(field::KIND, INTERNAL);
        let seconds = |ns: u64| AttributeValue::Decimal(ns as f64 / 1e9);
        for (name, value) in [
            ("loadline.lateness", seconds(sample.lateness_ns())),
            ("loadline.wait", seconds(sample.wait_ns())),
        ] {
            attribute(span, field::ATTRIBUTES, name, &value);
        }
        self.end(span);
    }

    /// Writes the span that starts at the first byte written. The service's span is its child.
    fn write_call(&self, span: &mut Message) {
        let sample = self.sample;
        let sent_ns = sample.first_write_ns.unwrap_or(sample.started_ns);
        self.begin(span, self.trace.span_bytes(), sent_ns);
        span.bytes(field::PARENT_SPAN_ID, &self.whole_id());
        span.varint(field::KIND, CLIENT);
        for (name, value) in self.attributes() {
            attribute(span, field::ATTRIBUTES, name, &value);
        }
        self.end(span);
    }

    fn whole_id(&self) -> [u8; 8] {
        let id = mix(u64::from_be_bytes(self.trace.span_bytes()));
        id.max(1).to_be_bytes()
    }

    fn begin(&self, span: &mut Message, id: [u8; 8], from_ns: u64) {
        let label = self.labels.get(&self.sample.label);
        span.bytes(field::TRACE_ID, &self.trace.trace_bytes());
        span.bytes(field::SPAN_ID, &id);
        span.string(field::NAME, label.map_or("request", |label| &label.text));
        span.fixed64(field::START, self.zero_ns + from_ns);
        span.fixed64(field::END, self.zero_ns + self.sample.done_ns);
    }

    fn attributes(&self) -> Attributes<'_> {
        let label = self.labels.get(&self.sample.label);
        let mut attributes = label.map_or_else(Vec::new, |label| self.run.label_attributes(label));
        if let Some(Status::Http(code)) = self.sample.status {
            let code = AttributeValue::Number(u64::from(code));
            attributes.push(("http.response.status_code", code));
        }
        let error = match self.sample.ended {
            RequestOutcome::Ok => None,
            RequestOutcome::Failed(_) => Some("unexpected_response"),
            RequestOutcome::Unanswered(fault) => Some(fault.class().name()),
        };
        attributes.extend(error.map(|error| ("error.type", AttributeValue::Text(error))));
        attributes
    }

    fn end(&self, span: &mut Message) {
        if self.sample.ended != RequestOutcome::Ok {
            span.message(field::STATUS, |status| {
                status.string(field::STATUS_MESSAGE, &self.sample.ended.reason());
                status.varint(field::STATUS_CODE, STATUS_ERROR);
            });
        }
    }
}
