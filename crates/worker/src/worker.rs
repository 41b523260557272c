//! State of a worker, which its tasks share on a single thread: clock, deadlines, recorder,
//! connections, receive buffer.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::Sender,
    },
    task::{Context, Waker},
};

use measure::{
    LabelId, NegotiatedVersion, Recorder, Sample,
    accumulator::KeptReason,
    in_flight::InFlightAges,
    interval::Snapshot,
    label::{self, LabelCache, LabelGroup, OTHER, Registry},
    sample::Intended,
};
use plan::{
    Raw, Share,
    mutant::{self, Mutant},
    rng::{Purpose, Rng},
};

use crate::{
    clock::{self, Clock},
    deadlines::{Deadlines, Limit, NEVER, Sleep, TICK_NS},
    lease::Lease,
    load_control::LoadControl,
    memory::Memory,
    step_trace::StepTrace,
    stop::{StopHandle, Urgency},
    takeover::ShardTakeover,
    watchdog::Pulse,
};

/// Maximum number of queued lines. Further lines are dropped, so that no user waits for the
/// terminal.
const MAX_LINES: usize = 10_000;
const MAX_REMARKS: usize = 16;
const RECEIVE_BUFFER: usize = 64 << 10;

/// A message from a worker to the collector.
#[derive(Debug)]
pub enum WorkerMessage {
    /// A closed interval.
    Snapshot(Box<Snapshot>),
    /// A line to print.
    Line(Raw<OutputLine>),
}

/// A line that a test prints.
#[derive(Debug, Clone, PartialEq)]
pub enum OutputLine {
    #[expect(missing_docs, reason = "the names are self-explanatory")]
    Log { text: String, secrets: Vec<String> },
    /// Output of a hook, to be printed unchanged.
    Text(String),
    /// A line that a script writes to standard error, to be printed unchanged.
    ErrorText(String),
    /// Why a virtual user ended early. Sent only if requested.
    Error(KeptReason),
    /// Several lines of a trace.
    Trace(String),
    /// A step of a virtual user. Sent only if requested.
    Step(StepTrace),
    /// A note that every report shows.
    Remark(String),
    /// The HTTP version of an origin, with a note about it.
    Negotiated {
        /// Origin and version.
        version: NegotiatedVersion,
        /// Text of the note.
        text: String,
    },
    /// A new value of a secret variable, which the trace must hide. Sent only while tracing.
    Secret(String),
}

/// The context that all workers of a run share.
#[derive(Debug, Clone)]
pub struct WorkerContext {
    /// Start of the run.
    pub zero: crate::clock::Zero,
    /// Handle that stops the run.
    pub stop: StopHandle,
    /// Lease of the node, if the process is a node.
    pub lease: Option<Lease>,
    /// Control of the load, if the load can be changed.
    pub load_control: Option<LoadControl>,
    /// Takeovers of shares, if they are allowed.
    pub takeovers: Option<ShardTakeover>,
    /// Channel to the collector.
    pub messages: Sender<WorkerMessage>,
    /// Number of queued lines that the collector has not yet received.
    pub lines: Arc<AtomicUsize>,
    /// This process's share of arrivals, users and other numbered things in the plan.
    pub share: Share,
    /// Whether to trace requests and responses.
    pub trace: bool,
    /// Whether virtual users report each step.
    pub walks: bool,
    /// Time to wait for in-flight work after the last arrival. `None` means no limit.
    pub drain_ns: Option<u64>,
    /// How much later than its deadline an action may start so that several actions share a
    /// wake-up, in nanoseconds.
    pub pacing_slack_ns: u64,
    /// Labels of the run.
    pub labels: Registry,
    /// Heartbeat of this worker.
    pub pulse: Arc<Pulse>,
}

/// Returns how many requests were due by a time (nanoseconds from the start) but have not started.
pub type Backlog = Box<dyn Fn(u64) -> u64>;

/// The state of a worker.
pub struct Worker {
    /// Index of the worker in its group.
    pub index: usize,
    /// Number of workers in the group.
    pub workers: usize,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Clock of the run.
    pub clock: Clock,
    /// Recorder of samples.
    pub recorder: RefCell<Recorder>,
    labels: RefCell<LabelCache>,
    /// Deadlines of the worker's tasks.
    pub deadlines: RefCell<Deadlines>,
    /// Receive buffer for all connections.
    pub buffer: RefCell<Box<[u8]>>,
    /// Context that all workers share.
    pub common: WorkerContext,
    /// Memory budget of the worker.
    pub memory: Rc<Memory>,
    /// Number of requests in flight.
    pub in_flight: Cell<u64>,
    in_flight_ages: RefCell<InFlightAges>,
    /// Counts due requests that wait for their connection. Drivers that pace connections set it.
    pub backlog: RefCell<Option<Backlog>>,
    /// Number of active virtual users.
    pub users: Cell<u64>,
    /// Number of open connections.
    pub open: Rc<Cell<u64>>,
    /// Number of open WebSocket connections.
    pub websockets: Rc<Cell<u64>>,
    /// Number of open Socket.IO sessions.
    pub socketio: Rc<Cell<u64>>,
    /// Levels of HTTP/2 connections.
    pub http2: Http2Levels,
    /// Wakes the pacer.
    pub alarm: PacerWaker,
    /// Limit for waits that must end when no more arrivals start. Aborted by
    /// [`Worker::end_arrivals`].
    pub arrivals_end: Limit,
    aborted: Cell<bool>,
    remarks: RefCell<Vec<String>>,
    running: RefCell<Vec<Option<Rc<Limit>>>>,
    vacant: RefCell<Vec<usize>>,
    cpu_seen: Cell<u64>,
    waiting_seen: Cell<u64>,
    next_sample: Cell<u64>,
}

/// Current levels of a worker's HTTP/2 connections.
#[derive(Debug, Default)]
pub struct Http2Levels {
    /// Number of open connections. `None` until the first connection is opened.
    pub connections: Cell<Option<u64>>,
    /// Number of open streams.
    pub streams: Cell<u64>,
}

/// Position of a worker in its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkerPosition {
    /// Index of the worker in its group.
    pub index: usize,
    /// Number of workers in the group.
    pub workers: usize,
}

impl WorkerPosition {
    /// Returns the worker's part of a share.
    #[must_use]
    pub fn part_of(self, share: Share) -> Share {
        share.part(self.index as u64, self.workers as u64)
    }
}
impl Worker {
    /// Returns the worker's share of the run's numbered things, across all processes.
    #[must_use]
    pub fn share(&self) -> Share {
        self.position().part_of(self.common.share)
    }

    /// Returns the index of the worker and the size of its group.
    #[must_use]
    pub fn position(&self) -> WorkerPosition {
        WorkerPosition {
            index: self.index,
            workers: self.workers,
        }
    }

    /// Creates a worker.
    #[must_use]
    pub fn new(
        position: WorkerPosition,
        seed: u64,
        clock: Clock,
        recorder: Recorder,
        memory: Memory,
        common: WorkerContext,
    ) -> Worker {
        let WorkerPosition { index, workers } = position;
        Worker {
            index,
            workers,
            seed,
            clock,
            recorder: RefCell::new(recorder),
            labels: RefCell::new(LabelCache::new(common.labels.clone())),
            deadlines: RefCell::default(),
            buffer: RefCell::new(vec![0; RECEIVE_BUFFER].into_boxed_slice()),
            common,
            memory: Rc::new(memory),
            in_flight: Cell::new(0),
            in_flight_ages: RefCell::default(),
            backlog: RefCell::new(None),
            users: Cell::new(0),
            open: Rc::default(),
            websockets: Rc::default(),
            socketio: Rc::default(),
            http2: Http2Levels::default(),
            alarm: PacerWaker::default(),
            arrivals_end: Limit::default(),
            aborted: Cell::new(false),
            remarks: RefCell::default(),
            running: RefCell::default(),
            vacant: RefCell::default(),
            cpu_seen: Cell::new(0),
            waiting_seen: Cell::new(0),
            next_sample: Cell::new(look_in(seed, 0, index)),
        }
    }

    /// Returns the ID of a label that appears during the run, or the ID of `(other)` if there are
    /// too many labels.
    pub fn label(&self, group: LabelGroup, method: &str, name: &str) -> LabelId {
        let (id, is_new) = self.labels.borrow_mut().id(group, method, name);
        if is_new {
            self.recorder.borrow_mut().has_label(id);
            if id == OTHER {
                self.remark(label::too_many());
            }
        }
        id
    }

    /// Runs everything that is due: deadlines, the timer wheel, and closed intervals. Must be
    /// called after every completion, because a busy runtime rarely polls its timer.
    pub fn run_due(&self, now_ns: u64) {
        let tick = {
            let mut deadlines = self.deadlines.borrow_mut();
            let due = deadlines.next_tick();
            let tick = due <= now_ns;
            if tick {
                let run = &mut self.recorder.borrow_mut().run;
                run.stall_ns = run.stall_ns.max(now_ns - due);
            }
            if tick || deadlines.next_exact() <= now_ns {
                deadlines.fire(now_ns);
            }
            tick
        };
        if tick {
            self.tick(now_ns);
        }
    }

    /// Returns the next time at which an action is due, and whether this time must be met exactly.
    #[must_use]
    pub fn next_deadline(&self) -> (u64, bool) {
        let deadlines = self.deadlines.borrow();
        let (exact, tick) = (
            deadlines.next_exact(),
            deadlines.next_tick().min(self.next_sample.get()),
        );
        if exact <= tick {
            (exact, true)
        } else {
            (tick, false)
        }
    }

    /// Sleeps until an exact time. Fails if the limit expires first.
    pub async fn sleep_until(
        &self,
        at_ns: u64,
        limit: &Limit,
    ) -> Result<(), crate::deadlines::Cut> {
        let at_ns = if mutant::is(Mutant::MillisecondTimers) {
            // Add one tick more than rounding up requires. Otherwise, every second arrival would
            // already be due.
            (at_ns / 1_000_000 + 2) * 1_000_000
        } else {
            at_ns
        };
        self.alarm.wants(at_ns);
        let mut sleep = std::pin::pin!(Sleep::until(&self.deadlines, at_ns));
        std::future::poll_fn(|cx| match sleep.as_mut().poll(cx) {
            std::task::Poll::Ready(()) => std::task::Poll::Ready(Ok(())),
            std::task::Poll::Pending => limit.poll(cx).map(Err),
        })
        .await
    }

    /// Converts a time of the run to the wall clock, in nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self, ns: u64) -> u64 {
        self.common.zero.wall_ns + ns
    }

    /// Converts a time of the run to the wall clock, in seconds since 1970.
    #[must_use]
    pub fn wall_s(&self, ns: u64) -> i64 {
        i64::try_from(self.wall_ns(ns) / 1_000_000_000).unwrap_or(i64::MAX)
    }

    /// Queues a line to print. If too many lines are queued, drops the line and counts it.
    pub fn emit(&self, line: OutputLine) {
        // Never drop a secret, because later lines that contain it would reveal it.
        let may_be_lost = !matches!(line, OutputLine::Secret(_));
        if self.common.lines.fetch_add(1, Ordering::Relaxed) >= MAX_LINES && may_be_lost {
            self.common.lines.fetch_sub(1, Ordering::Relaxed);
            self.recorder.borrow_mut().run.lines_lost += 1;
            return;
        }
        // The collector outlives the workers. Without a collector, the line is not needed.
        let _ = self
            .common
            .messages
            .send(WorkerMessage::Line(Raw::new(line)));
    }

    /// Starts to sample stalls now. For drivers that attach after the run began.
    pub fn start_late(&self, now_ns: u64) {
        self.next_sample
            .set(look_in(self.seed, now_ns / TICK_NS + 1, self.index).max(self.next_sample.get()));
        self.deadlines.borrow_mut().begin(now_ns);
    }

    /// Sends a note for every report. Each distinct note is sent only once.
    #[cold]
    pub fn remark(&self, text: String) {
        if self.is_new_remark(&text) {
            self.send_line(OutputLine::Remark(text));
        }
    }

    /// Sends the HTTP version of an origin, with a note. Each distinct note is sent only once.
    #[cold]
    pub fn negotiated(&self, version: NegotiatedVersion, text: String) {
        if self.is_new_remark(&text) {
            self.send_line(OutputLine::Negotiated { version, text });
        }
    }

    fn is_new_remark(&self, text: &str) -> bool {
        let mut remarks = self.remarks.borrow_mut();
        let is_new = remarks.len() < MAX_REMARKS && !remarks.iter().any(|known| known == text);
        if is_new {
            remarks.push(text.to_owned());
        }
        is_new
    }

    fn send_line(&self, line: OutputLine) {
        self.common.lines.fetch_add(1, Ordering::Relaxed);
        let _ = self
            .common
            .messages
            .send(WorkerMessage::Line(Raw::new(line)));
    }

    /// Registers an active virtual user. Returns an index for [`Worker::leave`].
    pub fn enter(&self, limit: &Rc<Limit>) -> usize {
        self.users.set(self.users.get() + 1);
        self.watch(limit)
    }

    /// Registers a limit, which is aborted together with all in-flight work.
    pub fn watch(&self, limit: &Rc<Limit>) -> usize {
        if self.aborted.get() {
            limit.abort();
        }
        let mut running = self.running.borrow_mut();
        match self.vacant.borrow_mut().pop() {
            Some(place) => {
                running[place] = Some(Rc::clone(limit));
                place
            }
            None => {
                running.push(Some(Rc::clone(limit)));
                running.len() - 1
            }
        }
    }

    /// Unregisters a virtual user.
    pub fn leave(&self, place: usize) {
        self.users.set(self.users.get() - 1);
        self.unwatch(place);
    }

    /// Unregisters a limit.
    pub fn unwatch(&self, place: usize) {
        if let Some(limit) = self.running.borrow_mut()[place].take() {
            limit.retire();
        }
        self.vacant.borrow_mut().push(place);
    }

    /// Aborts all in-flight work.
    pub fn abort(&self) {
        if self.aborted.replace(true) {
            return;
        }
        self.end_arrivals(self.clock.now());
        let running: Vec<Rc<Limit>> = self.running.borrow().iter().flatten().cloned().collect();
        running.iter().for_each(|limit| limit.abort());
    }

    /// Closes the recorder.
    pub fn finish(&self) {
        let now = self.clock.now();
        self.sample_levels(now);
        self.sample_levels(now);
        self.note_open_connections();
        self.recorder.borrow_mut().finish(now);
        self.hand_over();
    }

    /// Stops starting arrivals.
    pub fn end_arrivals(&self, now_ns: u64) {
        self.recorder.borrow_mut().end_arrivals(now_ns);
        self.arrivals_end.abort();
    }

    fn tick(&self, now_ns: u64) {
        self.common.pulse.beat();
        self.apply_stop(now_ns);
        self.recorder.borrow_mut().advance(now_ns);
        self.note_open_connections();
        self.hand_over();
    }

    fn note_open_connections(&self) {
        let run = &mut self.recorder.borrow_mut().run;
        run.connections = self.open.get();
        run.websocket.open = self.websockets.get();
        run.socketio.open = self.socketio.get();
    }

    /// Applies a pending stop request and returns its urgency. Every path that can observe a stop
    /// must call this, otherwise the run is recorded as completed.
    pub fn apply_stop(&self, now_ns: u64) -> Urgency {
        if self.lease_has_ended(now_ns) {
            self.common.stop.fail(crate::lease::ENDED);
        }
        let urgency = self.common.stop.urgency();
        match urgency {
            Urgency::None => {}
            Urgency::Drain => {
                self.common.stop.noticed(now_ns);
                self.end_arrivals(now_ns);
            }
            Urgency::Abort => {
                self.common.stop.noticed(now_ns);
                self.abort();
            }
        }
        urgency
    }

    /// Returns whether the lease has expired, and aborts all in-flight work if so. A process that
    /// was frozen must call this before sending.
    #[inline]
    pub fn is_without_lease(&self, now_ns: u64) -> bool {
        self.lease_has_ended(now_ns) && self.apply_stop(now_ns) == Urgency::Abort
    }

    #[inline]
    fn lease_has_ended(&self, now_ns: u64) -> bool {
        let lease = self.common.lease.as_ref();
        lease.is_some_and(|lease| lease.has_ended_at(self.clock.absolute(now_ns)))
    }

    /// Counts requests as in flight since a time that must not precede the last sample.
    #[inline]
    pub fn requests_began(&self, since_ns: u64, label: LabelId, requests: u32) {
        self.sample_levels(since_ns);
        self.in_flight
            .set(self.in_flight.get() + u64::from(requests));
        let mut in_flight_ages = self.in_flight_ages.borrow_mut();
        in_flight_ages.begin(label, since_ns, requests);
    }

    /// Removes requests that were counted provisionally as in flight. The caller counts the actual
    /// ones.
    pub fn requests_uncounted(&self, now_ns: u64, label: LabelId, since_ns: u64, requests: u32) {
        for _ in 0..requests {
            self.request_ended(now_ns, label, since_ns);
        }
    }

    /// Counts a request as no longer in flight.
    #[inline]
    pub fn request_ended(&self, now_ns: u64, label: LabelId, since_ns: u64) {
        self.sample_levels(now_ns);
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        self.in_flight_ages.borrow_mut().end(label, since_ns);
    }

    /// Starts a request for a driver that keeps no records itself. The request is in flight until
    /// [`Worker::record`] receives its sample, whose `started_ns` must equal `now_ns`.
    pub fn issue(&self, now_ns: u64, label: LabelId, intended: Intended) {
        self.requests_began(now_ns, label, 1);
        self.recorder.borrow_mut().issued(now_ns, label, intended);
    }

    /// Records a request that was started with [`Worker::issue`], and runs everything that is due.
    pub fn record(&self, sample: &Sample, detail: impl FnOnce() -> String) {
        self.request_ended(sample.done_ns, sample.label, sample.started_ns);
        let mut recorder = self.recorder.borrow_mut();
        recorder.sample(sample);
        if recorder.is_first(sample.label, sample.ended) {
            recorder.first(sample, detail());
        }
        drop(recorder);
        self.run_due(sample.done_ns);
    }

    /// Samples gauges, such as requests in flight, once for each random sampling time since the
    /// last call, and records the stall.
    ///
    /// The pacer calls this, and so does all code that is about to change a gauge. Therefore each
    /// sample has the value at its sampling time.
    #[inline]
    pub fn sample_levels(&self, now_ns: u64) {
        if now_ns >= self.next_sample.get() {
            self.look_around(now_ns);
        }
    }

    #[cold]
    fn look_around(&self, now_ns: u64) {
        let mut at = self.next_sample.get();
        while at <= now_ns {
            self.recorder.borrow_mut().stall(at, now_ns - at);
            self.take_sample(at);
            at = look_in(self.seed, at / TICK_NS + 1, self.index);
        }
        self.next_sample.set(at);
    }

    fn take_sample(&self, at_ns: u64) {
        let waiting = self.backlog.borrow().as_ref().map_or(0, |due| due(at_ns));
        let run = &mut self.recorder.borrow_mut().run;
        run.in_flight.sample(self.in_flight.get() + waiting);
        run.users.sample(self.users.get());
        run.connections = self.open.get();
        run.websocket.open = self.websockets.get();
        run.socketio.open = self.socketio.get();
        if let Some(connections) = self.http2.connections.get() {
            run.http2.connections.sample(connections);
            run.http2.streams.sample(self.http2.streams.get());
        }
    }

    fn hand_over(&self) {
        let mut full = {
            let mut recorder = self.recorder.borrow_mut();
            if !recorder.has_full() {
                return;
            }
            recorder.take_full()
        };
        let cpu = clock::thread_cpu_ns();
        if let Some(last) = full.last_mut() {
            last.in_flight_ages = self.in_flight_ages.borrow().ages(last.span.to_ns);
            last.run.cpu_ns = vec![cpu.saturating_sub(self.cpu_seen.replace(cpu))];
            if let Some(ns) = clock::thread_waiting_ns() {
                last.run.waiting_ns = vec![ns.saturating_sub(self.waiting_seen.replace(ns))];
            }
        }
        for snapshot in full {
            let _ = self
                .common
                .messages
                .send(WorkerMessage::Snapshot(Box::new(snapshot)));
        }
    }
}

fn look_in(seed: u64, slot: u64, worker: usize) -> u64 {
    slot * TICK_NS + Rng::keyed(seed, Purpose::Sampling, slot, worker as u64).below(TICK_NS)
}

/// Wakes the pacer if an action becomes due earlier than the pacer would wake.
#[derive(Debug)]
pub struct PacerWaker {
    at: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Default for PacerWaker {
    fn default() -> Self {
        PacerWaker {
            at: Cell::new(NEVER),
            waker: RefCell::new(None),
        }
    }
}

impl PacerWaker {
    /// Sets the time until which the pacer sleeps.
    pub fn set(&self, at_ns: u64) {
        self.at.set(at_ns);
    }

    /// Returns whether an earlier time was requested.
    #[must_use]
    pub fn is_before(&self, at_ns: u64) -> bool {
        self.at.get() < at_ns
    }

    /// Registers the task to wake.
    pub fn watch(&self, cx: &Context<'_>) {
        let mut waker = self.waker.borrow_mut();
        if !waker
            .as_ref()
            .is_some_and(|known| known.will_wake(cx.waker()))
        {
            *waker = Some(cx.waker().clone());
        }
    }

    fn wants(&self, at_ns: u64) {
        if at_ns < self.at.get() {
            self.at.set(at_ns);
            if let Some(waker) = self.waker.borrow().as_ref() {
                waker.wake_by_ref();
            }
        }
    }
}
