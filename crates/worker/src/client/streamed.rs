//! Streamed responses: reads events as they arrive, and records their times.

use std::{rc::Rc, sync::Arc};

use codec::{
    events::{Content, ContentKind, Event, EventKind, EventReader, Format, JsonPath, Usage},
    head::Notable,
    reply::{MAX_BODY, Reply},
};
use measure::{
    Fault, LabelId,
    outcome::StreamFault,
    sample::{Intended, RequestOutcome},
    stream::{StreamRead, StreamSample},
};
use plan::event_stream::StreamUntil;

use super::exchange::Moments;
use crate::{memory::Held, worker::Worker};

/// How a step reads streamed responses. Compiled before the run.
#[derive(Debug, Clone)]
pub struct StreamRules {
    /// Format of the events.
    pub format: Format,
    /// Maximum time between two events in nanoseconds.
    pub idle_ns: Option<u64>,
    /// Condition on which the client ends the stream.
    pub until: Option<StreamUntil>,
    /// Maximum duration of the response in nanoseconds, which replaces the plan's time limit.
    pub max_time_ns: Option<u64>,
    /// Whether to keep the text of the answer.
    pub keeps_text: bool,
    /// JSON paths whose first value in the events is kept.
    pub paths: Vec<JsonPath>,
}

/// The received part of a streamed response.
pub struct StreamedResponse {
    rules: Arc<StreamRules>,
    worker: Rc<Worker>,
    label: LabelId,
    intended: Intended,
    reader: EventReader,
    seen: StreamProgress,
    /// Number of bytes of a kept body that have already been read as events.
    body_read: usize,
    /// Memory for the parser, the text and the values.
    reserved: Held,
    /// Whether the head of a response arrived that is read as a stream.
    is_open: bool,
    is_ended_by_plan: bool,
    read: LatestRead,
}

/// The read that was passed on last. Over HTTP/2, each frame of a read is passed on separately.
#[derive(Debug, Default, Clone, Copy)]
struct LatestRead {
    at_ns: u64,
    chunks: u64,
}

impl std::fmt::Debug for StreamedResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StreamedResponse")
            .field("seen", &self.seen)
            .finish_non_exhaustive()
    }
}

/// Results of the events read so far.
#[derive(Debug, Default)]
struct StreamProgress {
    events: u64,
    chunks: u64,
    first_event_ns: Option<u64>,
    first_token_ns: Option<u64>,
    last_token_ns: Option<u64>,
    usage: Usage,
    /// Whether content followed the last reported number of output tokens, so that the number is
    /// preliminary.
    is_usage_preliminary: bool,
    text: String,
    values: Vec<Option<String>>,
}

impl StreamedResponse {
    /// Creates the response of a new request.
    #[must_use]
    pub fn new(
        worker: &Rc<Worker>,
        rules: &Arc<StreamRules>,
        label: LabelId,
        intended: Intended,
    ) -> StreamedResponse {
        StreamedResponse {
            reader: EventReader::new(rules.format.clone()),
            rules: Arc::clone(rules),
            worker: Rc::clone(worker),
            label,
            intended,
            seen: StreamProgress {
                values: vec![None; rules.paths.len()],
                ..StreamProgress::default()
            },
            body_read: 0,
            reserved: Held::nothing(&worker.memory),
            is_open: false,
            is_ended_by_plan: false,
            read: LatestRead::default(),
        }
    }

    /// Prepares for the response to the next request in a chain of redirects.
    pub(super) fn begin_hop(&mut self) {
        self.body_read = 0;
        self.is_open = false;
        self.is_ended_by_plan = false;
    }

    /// Records that the head of the response arrived.
    pub(super) fn on_head(&mut self, status: u16) {
        self.is_open = is_streamed(status);
    }

    /// Returns the rules.
    #[must_use]
    pub fn rules(&self) -> &StreamRules {
        &self.rules
    }

    /// Returns the text of the answer, if the rules keep it.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.seen.text
    }

    /// Returns the first value at the path with this index in the rules, as text.
    #[must_use]
    pub fn value(&self, index: usize) -> Option<&str> {
        self.seen.values.get(index)?.as_deref()
    }

    /// Returns whether any event was read.
    pub(super) fn has_events(&self) -> bool {
        self.seen.events > 0
    }

    /// Returns whether the client ended the stream according to the rules. The response then counts
    /// as complete.
    pub(super) fn is_ended_by_plan(&self) -> bool {
        self.is_ended_by_plan
    }

    /// Ends the stream according to the rules, unless the service has not responded yet.
    pub(super) fn end_by_plan(&mut self) {
        self.is_ended_by_plan = self.is_open;
    }

    /// Returns the time at which the last event was read. `None` before the first event.
    pub(super) fn last_event_ns(&self) -> Option<u64> {
        (self.seen.events > 0).then_some(self.read.at_ns)
    }

    /// Reads the new part of a body, and removes it unless the caller keeps the body. Returns
    /// whether an event was completed. Fails like [`StreamedResponse::read`].
    pub(super) fn read_reply(
        &mut self,
        reply: &mut Reply,
        keeps_body: bool,
        now_ns: u64,
    ) -> Result<bool, Fault> {
        if reply.body_cut {
            return Err(Fault::BodyTooLarge);
        }
        self.on_head(reply.status);
        let new = reply.body.get(self.body_read..).unwrap_or_default();
        let result = self.read(reply.status, reply.notable.as_deref(), new, now_ns);
        if keeps_body || !is_streamed(reply.status) {
            self.body_read = reply.body.len();
        } else {
            self.body_read = 0;
            reply.body.clear();
        }
        result
    }

    /// Reads a part of the body. Returns whether an event was completed.
    ///
    /// Fails if the body cannot be read as a stream, or if the client ends the stream.
    pub(super) fn read(
        &mut self,
        status: u16,
        notable: Option<&Notable>,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<bool, Fault> {
        if bytes.is_empty() || !is_streamed(status) {
            return Ok(false);
        }
        let encoding = notable.and_then(|notable| notable.encoding.as_deref());
        if encoding.is_some_and(|encoding| !encoding.trim().eq_ignore_ascii_case("identity")) {
            return Err(Fault::Stream(StreamFault::Encoded));
        }
        let before = (self.seen.events, self.seen.chunks, self.seen.last_token_ns);
        let (rules, seen) = (&*self.rules, &mut self.seen);
        let read = self
            .reader
            .read(bytes, |event| seen.event(event, rules, now_ns));
        self.record(before, now_ns);
        read.map_err(|_| Fault::Stream(StreamFault::TooLong))?;
        let held = self.reader.capacity() + self.seen.capacity();
        if !self.reserved.hold(held as u64) {
            self.seen.text = String::new();
            self.seen.values.clear();
            self.reader = EventReader::new(self.rules.format.clone());
            self.reserved.hold(0);
            return Err(Fault::OutOfMemory);
        }
        if let Some(StreamUntil::Events(most)) = self.rules.until
            && self.seen.events >= most
        {
            self.is_ended_by_plan = true;
            return Err(Fault::Cancelled);
        }
        Ok(self.seen.events > before.0)
    }

    fn record(&mut self, before: (u64, u64, Option<u64>), now_ns: u64) {
        let (events, chunks, last_token_ns) = before;
        if self.read.at_ns != now_ns {
            self.read = LatestRead {
                at_ns: now_ns,
                chunks: 0,
            };
        }
        let read = StreamRead {
            events: self.seen.events - events,
            chunks_before: self.read.chunks,
            chunks: self.seen.chunks - chunks,
            gap_ns: last_token_ns.map(|ns| now_ns.saturating_sub(ns)),
        };
        self.read.chunks += read.chunks;
        if read.events > 0 {
            let mut recorder = self.worker.recorder.borrow_mut();
            recorder.stream_read(now_ns, self.label, self.intended, read);
        }
    }

    /// Ends the stream after its response. Returns the fault if the stream is incomplete.
    pub(super) fn finish(&mut self, status: u16, now_ns: u64) -> Option<StreamFault> {
        if self.is_ended_by_plan || !is_streamed(status) {
            return None;
        }
        let before = (self.seen.events, self.seen.chunks, self.seen.last_token_ns);
        let (rules, seen) = (&*self.rules, &mut self.seen);
        let completion = self.reader.finish(|event| seen.event(event, rules, now_ns));
        self.record(before, now_ns);
        completion.fault()
    }

    /// Returns the sample of the finished request.
    #[must_use]
    pub fn sample(&self, moments: &Moments, ended: RequestOutcome) -> StreamSample {
        let seen = &self.seen;
        StreamSample {
            label: self.label,
            intended: self.intended,
            first_write_ns: moments.first_write,
            first_event_ns: seen.first_event_ns,
            first_token_ns: seen.first_token_ns,
            last_token_ns: seen.last_token_ns,
            done_ns: moments.done,
            ended,
            chunks: seen.chunks,
            tokens: seen.reported_tokens(),
        }
    }
}

/// Returns whether the body of a response with this status is read as a stream.
fn is_streamed(status: u16) -> bool {
    (200..300).contains(&status)
}

impl StreamProgress {
    fn capacity(&self) -> usize {
        let values = self.values.iter().flatten().map(String::capacity);
        self.text.capacity() + values.sum::<usize>()
    }

    /// Returns the number of output tokens that the server reported for the whole response.
    fn reported_tokens(&self) -> Option<u64> {
        self.usage.output.filter(|_| !self.is_usage_preliminary)
    }

    fn event(&mut self, event: &Event<'_>, rules: &StreamRules, now_ns: u64) {
        if event.kind == EventKind::Ping {
            return;
        }
        self.events += 1;
        self.first_event_ns.get_or_insert(now_ns);
        if let Some(content) = &event.content {
            self.content(content, rules, now_ns);
        }
        if let Some(usage) = event.usage {
            self.usage.update(usage);
            // Some servers report a preliminary number before any content.
            self.is_usage_preliminary &= usage.output.is_none();
            self.is_usage_preliminary |= self.chunks == 0;
        }
        for (path, value) in rules.paths.iter().zip(&mut self.values) {
            if value.is_none() {
                *value = path.find(event.data).map(|found| {
                    let mut text = String::new();
                    found.append_to(&mut text);
                    text
                });
            }
        }
    }

    fn content(&mut self, content: &Content<'_>, rules: &StreamRules, now_ns: u64) {
        self.chunks += 1;
        self.is_usage_preliminary = true;
        self.first_token_ns.get_or_insert(now_ns);
        self.last_token_ns = Some(now_ns);
        if rules.keeps_text && content.kind == ContentKind::Answer && self.text.len() < MAX_BODY {
            content.text.append_to(&mut self.text);
        }
    }
}
