//! What all tasks of one worker share: clock, deadlines, recorder, connections, the receive buffer. One thread, no locks.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc::Sender,
    },
    task::{Context, Waker},
};

use measure::{
    LabelId, Recorder, Sample,
    accumulator::KeptReason,
    interval::Snapshot,
    label::{self, Group, OTHER, Registry, Seen},
    sample::Intended,
    under_way::UnderWay,
};
use plan::{
    Share,
    mutant::{self, Mutant},
    rng::{Purpose, Rng},
};

use crate::{
    adoptions::Adoptions,
    clock::{self, Clock},
    course::Course,
    deadlines::{Deadlines, Limit, NEVER, Sleep, TICK_NS},
    lease::Lease,
    memory::Memory,
    stop::{StopHandle, Urgency},
    user::walk::Walked,
    watchdog::Pulse,
};

/// Lines that may wait to be printed; more are counted and dropped, so that no user waits for a terminal.
const MAX_LINES: usize = 10_000;
/// Remarks of one worker that are told.
const MAX_REMARKS: usize = 16;
const RECEIVE_BUFFER: usize = 64 << 10;

/// What workers send to the collector.
#[derive(Debug)]
pub enum Message {
    /// A closed interval.
    Snapshot(Box<Snapshot>),
    /// A line to print.
    Line(Line),
}

/// A line that a test prints.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// A scenario's `log`, and what the user's secret variables hold: whoever prints it hides that first.
    Log {
        /// What is to be printed.
        text: String,
        /// What must not be.
        secrets: Vec<String>,
    },
    /// What a hook prints, as it is.
    Text(String),
    /// What ended a virtual user, where the test wants to be told.
    Error(KeptReason),
    /// A part of a trace: several lines.
    Trace(String),
    /// What a virtual user did, where that is to be told.
    Step(Walked),
    /// What every rendering of the run has to say.
    Remark(String),
    /// While tracing: a value that a secret variable was set to, so that whoever prints the trace can hide it.
    Secret(String),
}

/// What is the same for all workers of a run.
#[derive(Debug, Clone)]
pub struct Common {
    /// Where the test's time begins.
    pub zero: crate::clock::Zero,
    /// The run's stop.
    pub stop: StopHandle,
    /// Until when it may go on.
    pub lease: Option<Lease>,
    /// The load, where it may be changed while it goes on.
    pub course: Option<Course>,
    /// What the process has taken over, where it may.
    pub adoptions: Option<Adoptions>,
    /// To the collector.
    pub messages: Sender<Message>,
    /// Lines on their way to the collector.
    pub lines: Arc<AtomicUsize>,
    /// Virtual users running anywhere in the process: counted per arrival, for caps that hold for all of its workers.
    pub users: Arc<AtomicU64>,
    /// The process's share of everything that the plan numbers.
    pub share: Share,
    /// Whether requests and answers are shown.
    pub trace: bool,
    /// Whether virtual users tell what they do, step by step.
    pub walks: bool,
    /// How long what is under way may go on after the last arrival; none: for ever.
    pub drain_ns: Option<u64>,
    /// How late a worker may be to handle several deadlines in one wake-up, in nanoseconds.
    pub pacing_slack_ns: u64,
    /// The labels of the run.
    pub labels: Registry,
    /// This worker's sign of life.
    pub pulse: Arc<Pulse>,
}

/// How many requests are due at a moment, in nanoseconds from the start, and have not been started.
pub type Backlog = Box<dyn Fn(u64) -> u64>;

/// One worker.
pub struct Worker {
    /// Its number, among those that do the same work.
    pub index: usize,
    /// How many of them there are.
    pub workers: usize,
    /// The seed of everything random.
    pub seed: u64,
    /// Its clock.
    pub clock: Clock,
    /// Its ledger.
    pub recorder: RefCell<Recorder>,
    /// The labels that it knows.
    labels: RefCell<Seen>,
    /// Its deadlines.
    pub deadlines: RefCell<Deadlines>,
    /// One receive buffer for all its connections.
    pub buffer: RefCell<Box<[u8]>>,
    /// What is the same for all.
    pub common: Common,
    /// What it may spend on what others decide the size of.
    pub memory: Rc<Memory>,
    /// Requests under way.
    pub in_flight: Cell<u64>,
    /// The same by label, and since when.
    under_way: RefCell<UnderWay>,
    /// Of a driver that paces connections: how many requests are due at a moment and wait for theirs.
    pub backlog: RefCell<Option<Backlog>>,
    /// Virtual users under way.
    pub users: Cell<u64>,
    /// Connections open.
    pub open: Rc<Cell<u64>>,
    /// When its pacer will look up from its sleep.
    pub alarm: Alarm,
    /// Cut short when no more arrivals are wanted.
    pub arrivals_end: Limit,
    /// Whether everything under way has been given up.
    aborted: Cell<bool>,
    /// What has been remarked already.
    remarks: RefCell<Vec<String>>,
    /// The limits of all virtual users under way, so that they can be told to end.
    running: RefCell<Vec<Option<Rc<Limit>>>>,
    vacant: RefCell<Vec<usize>>,
    cpu_seen: Cell<u64>,
    waiting_seen: Cell<u64>,
    next_sample: Cell<u64>,
}

impl Worker {
    /// Its share of everything that the plan numbers, over all processes.
    #[must_use]
    pub fn share(&self) -> Share {
        self.common
            .share
            .part(self.index as u64, self.workers as u64)
    }

    /// Its place among those that do the same work, and how many there are: which part of a share of the process's is its own.
    #[must_use]
    pub fn place(&self) -> (u64, u64) {
        (self.index as u64, self.workers as u64)
    }

    /// A worker with its parts.
    #[must_use]
    pub fn new(
        (index, workers): (usize, usize),
        seed: u64,
        clock: Clock,
        recorder: Recorder,
        memory: Memory,
        common: Common,
    ) -> Worker {
        Worker {
            index,
            workers,
            seed,
            clock,
            recorder: RefCell::new(recorder),
            labels: RefCell::new(Seen::of(common.labels.clone())),
            deadlines: RefCell::default(),
            buffer: RefCell::new(vec![0; RECEIVE_BUFFER].into_boxed_slice()),
            common,
            memory: Rc::new(memory),
            in_flight: Cell::new(0),
            under_way: RefCell::default(),
            backlog: RefCell::new(None),
            users: Cell::new(0),
            open: Rc::default(),
            alarm: Alarm::default(),
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

    /// The number of a name that comes up while the test runs; (other) when there are too many of them.
    pub fn label(&self, group: Group, method: &str, name: &str) -> LabelId {
        let (id, is_new) = self.labels.borrow_mut().id(group, method, name);
        if is_new {
            self.recorder.borrow_mut().has_label(id);
            if id == OTHER {
                self.remark(label::too_many());
            }
        }
        id
    }

    /// Everything that is due now: deadlines, the wheel, closed intervals. Cheap when nothing is; called after every
    /// completion, because a busy runtime looks at its timer only every few dozen tasks.
    pub fn turn(&self, now_ns: u64) {
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

    /// The next moment at which the worker has something to do, and whether it must be met exactly.
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

    /// Sleeps until an exact moment; the limit cuts it short.
    ///
    /// # Errors
    /// When it was cut short.
    pub async fn sleep_until(
        &self,
        at_ns: u64,
        limit: &Limit,
    ) -> Result<(), crate::deadlines::Cut> {
        let at_ns = if mutant::is(Mutant::MillisecondTimers) {
            // Rounded up, and a tick more: with one alone every second arrival would be due already, and the median a toss-up.
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

    /// Wall clock of a moment, in nanoseconds since 1970.
    #[must_use]
    pub fn wall_ns(&self, ns: u64) -> u64 {
        self.common.zero.wall_ns + ns
    }

    /// Wall clock of a moment, in seconds since 1970.
    #[must_use]
    pub fn wall_s(&self, ns: u64) -> i64 {
        i64::try_from(self.wall_ns(ns) / 1_000_000_000).unwrap_or(i64::MAX)
    }

    /// Sends a line to be printed, or counts it as lost.
    pub fn emit(&self, line: Line) {
        // A secret that were lost would be printed with the next line that holds it.
        let may_be_lost = !matches!(line, Line::Secret(_));
        if self.common.lines.fetch_add(1, Ordering::Relaxed) >= MAX_LINES && may_be_lost {
            self.common.lines.fetch_sub(1, Ordering::Relaxed);
            self.recorder.borrow_mut().run.lines_lost += 1;
            return;
        }
        // The collector outlives the workers; if it is gone, so is everyone who could read the line.
        let _ = self.common.messages.send(Message::Line(line));
    }

    /// Whoever it works for comes only now: before that there was nothing that could have been held up.
    pub fn joins(&self, now_ns: u64) {
        self.next_sample
            .set(look_in(self.seed, now_ns / TICK_NS + 1, self.index).max(self.next_sample.get()));
        self.deadlines.borrow_mut().begin(now_ns);
    }

    /// Tells once what every rendering has to say: nobody waits for it, and there are few of them.
    #[cold]
    pub fn remark(&self, text: String) {
        let mut remarks = self.remarks.borrow_mut();
        if remarks.len() >= MAX_REMARKS || remarks.contains(&text) {
            return;
        }
        self.common.lines.fetch_add(1, Ordering::Relaxed);
        let _ = self
            .common
            .messages
            .send(Message::Line(Line::Remark(text.clone())));
        remarks.push(text);
    }

    /// Enters a virtual user into the list of those under way.
    pub fn enter(&self, limit: &Rc<Limit>) -> usize {
        self.users.set(self.users.get() + 1);
        self.watch(limit)
    }

    /// Has a limit end when everything under way is given up.
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

    /// Strikes a virtual user from the list.
    pub fn leave(&self, place: usize) {
        self.users.set(self.users.get() - 1);
        self.unwatch(place);
    }

    /// Strikes a limit from the list.
    pub fn unwatch(&self, place: usize) {
        if let Some(limit) = self.running.borrow_mut()[place].take() {
            limit.retire();
        }
        self.vacant.borrow_mut().push(place);
    }

    /// Gives up everything under way.
    pub fn abort(&self) {
        if self.aborted.replace(true) {
            return;
        }
        self.end_arrivals(self.clock.now());
        let running: Vec<Rc<Limit>> = self.running.borrow().iter().flatten().cloned().collect();
        running.iter().for_each(|limit| limit.abort());
    }

    /// Closes the ledger.
    pub fn finish(&self) {
        let now = self.clock.now();
        self.look(now);
        self.sample_levels(now);
        self.recorder.borrow_mut().finish(now);
        self.hand_over();
    }

    /// Has no more arrivals start.
    pub fn end_arrivals(&self, now_ns: u64) {
        self.recorder.borrow_mut().end_arrivals(now_ns);
        self.arrivals_end.abort();
    }

    fn tick(&self, now_ns: u64) {
        self.common.pulse.beat();
        self.heed_stop(now_ns);
        self.recorder.borrow_mut().advance(now_ns);
        self.recorder.borrow_mut().run.connections = self.open.get();
        self.hand_over();
    }

    /// Does what the run's stop asks for, and answers what that is. Who learns of a stop asks here: a run that is over before
    /// anybody has noticed why would be taken for one that came to its end.
    pub fn heed_stop(&self, now_ns: u64) -> Urgency {
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

    /// Whether it must not begin anything at a moment, because it may not go on: then everything is given up. A process that was frozen asks
    /// this before anybody else could have told it.
    #[inline]
    pub fn is_without_lease(&self, now_ns: u64) -> bool {
        self.lease_has_ended(now_ns) && self.heed_stop(now_ns) == Urgency::Abort
    }

    #[inline]
    fn lease_has_ended(&self, now_ns: u64) -> bool {
        let lease = self.common.lease.as_ref();
        lease.is_some_and(|lease| lease.has_ended_at(self.clock.absolute(now_ns)))
    }

    /// So many requests are under way from a moment on, behind which nobody has looked around yet.
    #[inline]
    pub fn requests_began(&self, since_ns: u64, label: LabelId, requests: u32) {
        self.look(since_ns);
        self.in_flight
            .set(self.in_flight.get() + u64::from(requests));
        let mut under_way = self.under_way.borrow_mut();
        under_way.begin(label, since_ns, requests);
    }

    /// So many that were counted as under way are counted anew, as what they turned out to be.
    pub fn requests_uncounted(
        &self,
        now_ns: u64,
        (label, since_ns): (LabelId, u64),
        requests: u32,
    ) {
        for _ in 0..requests {
            self.request_ended(now_ns, (label, since_ns));
        }
    }

    /// A request is under way no longer that was so since a moment.
    #[inline]
    pub fn request_ended(&self, now_ns: u64, (label, since_ns): (LabelId, u64)) {
        self.look(now_ns);
        self.in_flight.set(self.in_flight.get().saturating_sub(1));
        self.under_way.borrow_mut().end(label, since_ns);
    }

    /// Takes up a request of a driver that keeps no ledger of its own; it is under way until [`Worker::record`] is given its sample,
    /// whose `started_ns` is this very moment.
    pub fn issue(&self, now_ns: u64, label: LabelId, intended: Intended) {
        self.requests_began(now_ns, label, 1);
        self.recorder.borrow_mut().issued(now_ns, label, intended);
    }

    /// Puts such a request into the ledger, and does what has become due meanwhile. What is known of the first of its kind that went
    /// wrong is kept.
    pub fn record(&self, sample: &Sample, detail: impl FnOnce() -> String) {
        self.request_ended(sample.done_ns, (sample.label, sample.started_ns));
        let mut recorder = self.recorder.borrow_mut();
        recorder.sample(sample);
        if recorder.is_first(sample.label, sample.ended) {
            recorder.first(sample, detail());
        }
        drop(recorder);
        self.turn(sample.done_ns);
    }

    /// Looks around: for every random moment that has come since the last look, samples the levels as they were then, and notes
    /// by how much the look comes too late.
    ///
    /// Asked for by the pacer, and before a level changes: levels are those of the moment, not of something that has just begun
    /// or ended, and a worker that was held up misses no moment of it.
    #[inline]
    pub fn look(&self, now_ns: u64) {
        if now_ns >= self.next_sample.get() {
            self.look_around(now_ns);
        }
    }

    #[cold]
    fn look_around(&self, now_ns: u64) {
        let mut at = self.next_sample.get();
        while at <= now_ns {
            self.recorder.borrow_mut().stall(at, now_ns - at);
            self.sample_levels(at);
            at = look_in(self.seed, at / TICK_NS + 1, self.index);
        }
        self.next_sample.set(at);
    }

    fn sample_levels(&self, at_ns: u64) {
        let waiting = self.backlog.borrow().as_ref().map_or(0, |due| due(at_ns));
        let run = &mut self.recorder.borrow_mut().run;
        run.in_flight.sample(self.in_flight.get() + waiting);
        run.users.sample(self.users.get());
        run.connections = self.open.get();
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
            last.under_way = self.under_way.borrow().ages(last.span.1);
            last.run.cpu_ns = vec![cpu.saturating_sub(self.cpu_seen.replace(cpu))];
            if let Some(ns) = clock::thread_waiting_ns() {
                last.run.waiting_ns = vec![ns.saturating_sub(self.waiting_seen.replace(ns))];
            }
        }
        for snapshot in full {
            // As above: without a collector nobody is left to be told.
            let _ = self
                .common
                .messages
                .send(Message::Snapshot(Box::new(snapshot)));
        }
    }
}

/// The random moment within a slot of time at which a worker looks around.
fn look_in(seed: u64, slot: u64, worker: usize) -> u64 {
    slot * TICK_NS + Rng::keyed(seed, Purpose::Sampling, slot, worker as u64).below(TICK_NS)
}

/// When the pacer will look up from its sleep; whoever needs an earlier moment wakes it.
#[derive(Debug)]
pub struct Alarm {
    at: Cell<u64>,
    waker: RefCell<Option<Waker>>,
}

impl Default for Alarm {
    fn default() -> Self {
        Alarm {
            at: Cell::new(NEVER),
            waker: RefCell::new(None),
        }
    }
}

impl Alarm {
    /// The pacer sleeps until this moment.
    pub fn set(&self, at_ns: u64) {
        self.at.set(at_ns);
    }

    /// Whether somebody has asked for an earlier moment.
    #[must_use]
    pub fn is_before(&self, at_ns: u64) -> bool {
        self.at.get() < at_ns
    }

    /// Wakes this task when somebody needs an earlier moment.
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
