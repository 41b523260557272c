//! Counts Artillery's figures under Artillery's metric names: counters, sketches, and times in
//! whole milliseconds.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use measure::{
    Fault,
    accumulator::{self, Event, Opening, Reason, Sketch, Tally},
    custom::{CustomKind, NameLimit},
};

use crate::{
    custom::{CustomMetrics, RATE},
    error_names,
};

const MS: u64 = 1_000_000;
const INVALID_URL: &str = "Invalid URL - ";
/// Maximum number of distinct invalid URLs that a worker counts by name.
const MOST_URLS: usize = 200;

pub struct Accumulator {
    scenarios: Vec<String>,
    namespace: String,
    /// Endpoint names by request step. Empty for steps without a name.
    endpoints: Vec<String>,
    /// How the metrics treat each request step, by step.
    steps: Vec<StepKind>,
    apdex_ns: Option<u64>,
    extended: bool,
    /// Names of errors and custom metrics.
    names: NameLimit,
    urls: BTreeSet<String>,
    counts: HotCounts,
    part: Tally,
}

/// How Artillery's metrics treat a request step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StepKind {
    /// The metrics count it as a request.
    Request,
    /// A request of a scenario with `engine: socketio`, whose errors Artillery does not count.
    UncountedRequest,
    /// The step opens a WebSocket connection to this host and port. The text is empty if they are
    /// unknown.
    WebSocket(String),
    /// The step opens a Socket.IO session.
    Session {
        /// Whether the session starts on a WebSocket.
        is_websocket: bool,
    },
}

#[derive(Default)]
struct HotCounts {
    created: Vec<u64>,
    requests: u64,
    downloaded: Option<u64>,
    /// Responses by step, status, and whether they end a chain of redirects.
    answers: BTreeMap<(u32, u16, bool), (u64, Sketch)>,
    /// Responses whose endpoint does not follow from the step.
    made: BTreeMap<(String, u16), (u64, Sketch)>,
    server: BTreeMap<String, Sketch>,
    completed: u64,
    failed: u64,
    skipped: u64,
    sessions: Sketch,
    /// DNS, TCP, TLS and total times, in whole milliseconds.
    parts: [Sketch; 4],
    errors: BTreeMap<String, u64>,
    custom: CustomMetrics,
    messages_sent: MessageCount,
    messages_received: MessageCount,
    emits: MessageCount,
    /// Times of emits, in milliseconds. An emit that waits for events counts twice.
    emit_times: Sketch,
    expected: BTreeMap<String, [u64; 2]>,
    /// Number of satisfied, tolerated and frustrated responses. `None` before the first response.
    apdex: Option<[u64; 3]>,
    counter_span: Option<(u64, u64)>,
    histogram_span: Option<(u64, u64)>,
    rate_span: Option<(u64, u64)>,
}

/// Number of messages, and the times of the first and the last message in milliseconds.
#[derive(Default)]
struct MessageCount {
    n: u64,
    span: Option<(u64, u64)>,
}

impl MessageCount {
    fn count(&mut self, at: u64) {
        self.n += 1;
        widen(&mut self.span, at);
    }

    /// Adds the counter, and a rate for the same messages.
    fn add_to(&self, part: &mut Tally, counter: &str, rate: &str) {
        let Some((first, last)) = self.span else {
            return;
        };
        let rate = format!("{RATE}{rate}");
        *part.counters.entry(counter.to_owned()).or_default() += self.n;
        *part.counters.entry(rate.clone()).or_default() += self.n;
        part.firsts.insert(rate.clone(), first);
        part.lasts.insert(rate, last);
    }
}

impl HotCounts {
    /// Counts a metric of the script. Returns `false` if the event is not a custom metric.
    fn custom(&mut self, at: u64, event: &Event<'_>, names: &mut NameLimit) -> bool {
        match self.custom.event(at, event, names) {
            Some(CustomKind::Counter) => widen(&mut self.counter_span, at),
            Some(CustomKind::Histogram) => widen(&mut self.histogram_span, at),
            Some(_) => {}
            None => return false,
        }
        true
    }

    /// Counts a message or an emit. Returns `false` if the event is neither.
    fn message(&mut self, at: u64, event: &Event<'_>) -> bool {
        match *event {
            Event::MessageSent => self.messages_sent.count(at),
            Event::MessageReceived => self.messages_received.count(at),
            Event::Emit => self.emits.count(at),
            Event::EventsReceived { ns } | Event::EmitCompleted { ns } => {
                self.emit_times.add(ns as f64 / MS as f64);
                widen(&mut self.histogram_span, at);
            }
            _ => return false,
        }
        widen(&mut self.counter_span, at);
        true
    }

    fn user(&mut self, scenario: usize) {
        if self.created.len() <= scenario {
            self.created.resize(scenario + 1, 0);
        }
        self.created[scenario] += 1;
    }

    fn add_messages(&self, part: &mut Tally) {
        let (sent, received) = (&self.messages_sent, &self.messages_received);
        for (count, counter, rate) in [
            (sent, "websocket.messages_sent", "websocket.send_rate"),
            (
                received,
                "websocket.messages_received",
                "websocket.receive_rate",
            ),
            (&self.emits, "socketio.emit", "socketio.emit_rate"),
        ] {
            count.add_to(part, counter, rate);
        }
        if self.emit_times.count() > 0 {
            let times = part.sketches.entry("socketio.response_time".into());
            times.or_default().merge(&self.emit_times);
        }
    }

    /// Returns the counters that Artillery shows even if they are zero.
    fn of_nothing(&self) -> [(&'static str, Option<u64>); 5] {
        let ended = self.completed + self.failed > 0;
        let apdex = self.apdex.map_or([None; 3], |classes| classes.map(Some));
        [
            ("http.downloaded_bytes", self.downloaded),
            ("vusers.failed", ended.then_some(self.failed)),
            ("apdex.satisfied", apdex[0]),
            ("apdex.tolerated", apdex[1]),
            ("apdex.frustrated", apdex[2]),
        ]
    }

    fn parts(&mut self, opening: Opening, total_ns: u64) {
        let parts = [
            Some(opening.lookup_ns),
            Some(opening.connect_ns),
            opening.tls_ns,
            Some(total_ns),
        ];
        for (sketch, ns) in self.parts.iter_mut().zip(parts) {
            if let Some(ns) = ns {
                sketch.add((ns / MS) as f64);
            }
        }
    }

    fn apdex(&mut self, total_ns: u64, satisfied_ns: u64) {
        let class = match total_ns {
            ns if ns <= satisfied_ns => 0,
            ns if ns <= satisfied_ns.saturating_mul(4) => 1,
            _ => 2,
        };
        self.apdex.get_or_insert_default()[class] += 1;
    }
}

impl Accumulator {
    #[must_use]
    pub fn new(
        scenarios: Vec<String>,
        endpoints: Vec<String>,
        apdex_ms: Option<f64>,
    ) -> Accumulator {
        Accumulator {
            scenarios,
            namespace: "plugins.metrics-by-endpoint".into(),
            endpoints,
            steps: Vec::new(),
            apdex_ns: apdex_ms.map(|ms| (ms * MS as f64) as u64),
            extended: false,
            urls: BTreeSet::new(),
            names: NameLimit::default(),
            counts: HotCounts::default(),
            part: Tally::default(),
        }
    }

    #[must_use]
    pub fn extended(mut self, yes: bool) -> Accumulator {
        self.extended = yes;
        self
    }

    #[must_use]
    pub fn namespace(mut self, namespace: &str) -> Accumulator {
        namespace.clone_into(&mut self.namespace);
        self
    }

    /// Sets how the metrics treat request steps.
    #[must_use]
    pub fn steps(mut self, steps: Vec<StepKind>) -> Accumulator {
        self.steps = steps;
        self
    }

    fn endpoint(&self, step: u32) -> Option<&str> {
        let name = self.endpoints.get(step as usize)?;
        (!name.is_empty()).then_some(name)
    }

    fn error(&mut self, reason: Reason<'_>, step: Option<u32>) {
        let kind = step.and_then(|step| self.steps.get(step as usize));
        let mut name = match (reason, kind.unwrap_or(&StepKind::Request)) {
            (_, StepKind::UncountedRequest) => return,
            (Reason::Fault(fault), StepKind::WebSocket(authority)) => {
                error_names::connect_error(fault, authority)
            }
            (reason, StepKind::Session { is_websocket }) => {
                error_names::session_error(&reason, *is_websocket)
            }
            _ => error_names::error_name(&reason),
        };
        if name.starts_with(INVALID_URL) && !self.urls.contains(&*name) {
            if self.urls.len() < MOST_URLS {
                self.urls.insert(name.clone().into_owned());
            } else {
                name = Cow::Borrowed("Invalid URL");
            }
        }
        let name = self.names.limited(CustomKind::Error, &name);
        *self
            .counts
            .errors
            .entry(format!("errors.{name}"))
            .or_default() += 1;
        // `metrics-by-endpoint` counts unanswered requests. A failed capture occurs only after a
        // response.
        let step = step.filter(|_| !matches!(reason, Reason::Capture));
        if let Some(endpoint) = step.and_then(|step| self.endpoint(step)) {
            let name = format!("{}.{endpoint}.errors.{name}", self.namespace);
            *self.counts.errors.entry(name).or_default() += 1;
        }
    }

    /// Counts the head of a response, in whole milliseconds of the wall clock as in the original.
    fn head(&mut self, event: &ResponseCounts<'_>, ms: f64) {
        let own = event.last && event.endpoint.is_none();
        let answers = &mut self.counts.answers;
        let entry = answers.entry((event.step, event.status, own)).or_default();
        entry.0 += 1;
        entry.1.add(ms);
        if !event.last {
            return;
        }
        if let Some(name) = event.endpoint {
            let key = (name.to_owned(), event.status);
            let entry = self.counts.made.entry(key).or_default();
            entry.0 += 1;
            entry.1.add(ms);
        }
        let name = event.endpoint.or_else(|| self.endpoint(event.step));
        if let (Some(server_ms), Some(name)) = (event.server_ms, name) {
            let name = name.to_owned();
            self.counts.server.entry(name).or_default().add(server_ms);
        }
    }
}

struct ResponseCounts<'a> {
    step: u32,
    status: u16,
    last: bool,
    endpoint: Option<&'a str>,
    server_ms: Option<f64>,
}

impl accumulator::Accumulator for Accumulator {
    fn event(&mut self, wall_ns: u64, event: &Event<'_>) {
        let at = wall_ns / MS;
        let (counts, names) = (&mut self.counts, &mut self.names);
        if counts.custom(at, event, names) {
            return;
        }
        if counts.message(at, event) {
            return;
        }
        match *event {
            Event::UserStarted { scenario } => counts.user(scenario as usize),
            Event::UserSkipped => counts.skipped += 1,
            Event::UserCompleted { session_ns } => {
                counts.completed += 1;
                counts.sessions.add(session_ns as f64 / MS as f64);
                widen(&mut counts.histogram_span, at);
            }
            // As in the original, a user interrupted by the stop counts neither as completed nor as
            // failed.
            Event::UserFailed {
                reason: Reason::Fault(Fault::Unfinished) | Reason::WebSocket(Fault::Unfinished),
                ..
            } => {}
            Event::UserFailed { reason, step } => {
                counts.failed += 1;
                self.error(reason, step);
            }
            Event::RequestSent => {
                counts.requests += 1;
                widen(&mut counts.rate_span, at);
            }
            Event::Head {
                step,
                status,
                sent_wall_ns,
                last,
                called,
                server_ms,
            } => {
                widen(&mut counts.histogram_span, at);
                let head = ResponseCounts {
                    step,
                    status,
                    last,
                    endpoint: called,
                    server_ms,
                };
                self.head(&head, at.saturating_sub(sent_wall_ns / MS) as f64);
            }
            Event::Body {
                bytes,
                total_ns,
                last,
                opening,
            } => {
                *counts.downloaded.get_or_insert_default() += bytes;
                if self.extended {
                    counts.parts(opening, total_ns);
                }
                if let Some(satisfied_ns) = self.apdex_ns.filter(|_| last) {
                    counts.apdex(total_ns, satisfied_ns);
                }
            }
            // The hook reports the type of an expectation and whether it was met.
            Event::Custom { name, value } => {
                let counted = match counts.expected.get_mut(name) {
                    Some(counted) => counted,
                    None => counts.expected.entry(name.to_owned()).or_default(),
                };
                counted[usize::from(value == 0)] += 1;
            }
            Event::Remark { name } => {
                let name = names.limited(CustomKind::Error, name);
                *counts.errors.entry(format!("errors.{name}")).or_default() += 1;
            }
            _ => return,
        }
        widen(&mut self.counts.counter_span, at);
    }

    fn take(&mut self) -> Tally {
        let counts = std::mem::take(&mut self.counts);
        let mut part = std::mem::take(&mut self.part);
        let counts_of_nothing = counts.of_nothing();
        counts.add_messages(&mut part);
        counts.custom.add_to(&mut part);
        let mut add = |name: String, n: u64| {
            if n > 0 {
                *part.counters.entry(name).or_default() += n;
            }
        };
        let created = counts.created.iter().sum();
        add("vusers.created".into(), created);
        for (index, n) in counts.created.iter().enumerate() {
            let name = self
                .scenarios
                .get(index)
                .cloned()
                .unwrap_or_else(|| index.to_string());
            add(format!("vusers.created_by_name.{name}"), *n);
        }
        add("vusers.skipped".into(), counts.skipped);
        add("vusers.completed".into(), counts.completed);
        add("http.requests".into(), counts.requests);
        counts.errors.into_iter().for_each(|(name, n)| add(name, n));
        for (kind, [ok, failed]) in counts.expected {
            add("plugins.expect.ok".into(), ok);
            add(format!("plugins.expect.ok.{kind}"), ok);
            add("plugins.expect.failed".into(), failed);
            add(format!("plugins.expect.failed.{kind}"), failed);
        }
        let mut sketch =
            |name: String, sketch: &Sketch| part.sketches.entry(name).or_default().merge(sketch);
        for ((_, status, _), (n, times)) in &counts.answers {
            add("http.responses".into(), *n);
            add(format!("http.codes.{status}"), *n);
            sketch("http.response_time".into(), times);
            if let family @ 2..=5 = status / 100 {
                sketch(format!("http.response_time.{family}xx"), times);
            }
        }
        let steps = counts.answers.iter().filter(|((_, _, own), _)| *own);
        let by_step = steps.filter_map(|((step, status, _), counted)| {
            Some((self.endpoint(*step)?, *status, counted))
        });
        let made = counts.made.iter();
        let by_name = made.map(|((name, status), counted)| (name.as_str(), *status, counted));
        let space = &self.namespace;
        for (endpoint, status, (n, times)) in by_step.chain(by_name) {
            add(format!("{space}.{endpoint}.codes.{status}"), *n);
            sketch(format!("{space}.response_time.{endpoint}"), times);
        }
        for (endpoint, times) in &counts.server {
            sketch(format!("{space}.server-timing.{endpoint}"), times);
        }
        for (name, part) in ["dns", "tcp", "tls", "total"].iter().zip(&counts.parts) {
            if part.count() > 0 {
                sketch(format!("http.{name}"), part);
            }
        }
        if counts.completed > 0 {
            sketch("vusers.session_length".into(), &counts.sessions);
        }
        for (name, n) in counts_of_nothing {
            if let Some(n) = n {
                *part.counters.entry(name.into()).or_default() += n;
            }
        }
        for (name, span) in [
            ("counter", counts.counter_span),
            ("histogram", counts.histogram_span),
            ("rate", counts.rate_span),
        ] {
            if let Some((first, last)) = span {
                part.firsts.insert(name.into(), first);
                part.lasts.insert(name.into(), last);
            }
        }
        part
    }
}

fn widen(span: &mut Option<(u64, u64)>, at: u64) {
    let (first, last) = span.get_or_insert((at, at));
    *first = (*first).min(at);
    *last = (*last).max(at);
}
