//! State that the native functions of an instance share: its worker, its timers, and the calling
//! user.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    path::PathBuf,
    rc::{Rc, Weak},
    sync::Arc,
};

use measure::accumulator::Event;
use plan::units::{MILLISECOND, SECOND};
use rquickjs::{Function, Persistent, Value as Js};
use worker::{
    OutputLine, Worker,
    client::HttpClientConfig,
    clock::{self, Clock},
    deadlines::Limit,
};

use super::{http::ScriptClient, instance::Instance, rejections::Rejections};

/// CPU time after which a function is stopped.
pub const MOST_CPU_NS: u64 = 5 * SECOND;

/// The environment in which the functions of an instance run.
pub struct Home {
    pub worker: Rc<Worker>,
    /// Client settings for requests of functions.
    pub settings: HttpClientConfig,
}

/// The state of an instance. JavaScript functions refer to it, so it must not refer to the engine's
/// context.
pub struct State {
    /// Worker. `None` while a script is only checked.
    pub worker: Option<Rc<Worker>>,
    /// Settings of all instances.
    pub settings: Arc<Settings>,
    /// Instance, for timers. Empty until the instance is complete.
    pub instance: RefCell<Weak<Instance>>,
    /// Virtual user whose function is running.
    pub caller: RefCell<Option<Rc<Caller>>>,
    /// CPU time of the thread when the engine first asked whether to stop. 0 before that.
    slice_began_ns: Cell<u64>,
    /// Whether a function was stopped because it used too much CPU time.
    pub was_stopped: Cell<bool>,
    timers: RefCell<HashMap<u64, Timer>>,
    timer_ids: Cell<u64>,
    /// Client for requests of functions. Created on the first request.
    client: OnceCell<Rc<ScriptClient>>,
    client_settings: Option<HttpClientConfig>,
    requests: RefCell<HashMap<u64, Rc<Limit>>>,
    /// Rejected promises that have no handler yet, with their reasons.
    pub unhandled: Rejections,
}

/// Settings for all instances of a script.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// File of the script.
    pub file: PathBuf,
    /// Folder in which scripts may write. `None` if they may not write files.
    pub writes: Option<PathBuf>,
    /// Environment variables for the script.
    pub environment: Vec<(String, String)>,
    /// Identifier of the test run.
    pub test_id: String,
    /// Version of the tool, as shown to the script.
    pub version: String,
    /// Whether errors have the names, and users the variables, that they have in Artillery.
    pub is_artillery: bool,
}

/// A virtual user while its functions run.
#[derive(Default)]
pub struct Caller {
    /// Number of timers and requests that the user is waiting for.
    pub pending: Cell<usize>,
}

/// Counts a timer or request that a virtual user waits for, until it is dropped.
pub struct Pending(Rc<Caller>);

impl Pending {
    pub fn new(caller: &Rc<Caller>) -> Pending {
        caller.pending.set(caller.pending.get() + 1);
        Pending(Rc::clone(caller))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        self.0.pending.set(self.0.pending.get().saturating_sub(1));
    }
}

struct Timer {
    function: Persistent<Function<'static>>,
    arguments: Vec<Persistent<Js<'static>>>,
    caller: Option<Rc<Caller>>,
    /// `None` for an interval, which a user does not wait for.
    _pending: Option<Pending>,
    repeats_ns: Option<u64>,
    limit: Rc<Limit>,
}

impl State {
    pub fn new(home: Option<Home>, settings: Arc<Settings>) -> State {
        let (worker, client_settings) = match home {
            Some(home) => (Some(home.worker), Some(home.settings)),
            None => (None, None),
        };
        State {
            worker,
            client_settings,
            client: OnceCell::new(),
            requests: RefCell::default(),
            settings,
            instance: RefCell::default(),
            caller: RefCell::default(),
            slice_began_ns: Cell::new(0),
            was_stopped: Cell::new(false),
            timers: RefCell::default(),
            timer_ids: Cell::new(0),
            unhandled: Rejections::default(),
        }
    }

    /// Returns nanoseconds from the start of the run. While a script is checked, returns
    /// nanoseconds from an arbitrary fixed time.
    pub fn now_ns(&self) -> u64 {
        let worker = self.worker.as_ref();
        worker.map_or_else(clock::monotonic_ns, |worker| Clock::now(&worker.clock))
    }

    /// Starts a stretch of JavaScript, whose CPU time is limited.
    pub fn begin_slice(&self) {
        self.slice_began_ns.set(0);
        self.was_stopped.set(false);
    }

    /// Returns whether the running function must stop. The engine calls this every few thousand
    /// steps.
    pub fn must_stop(&self) -> bool {
        if let Some(worker) = &self.worker {
            // The worker is responsive, and this limit is stricter than its watchdog's.
            worker.common.pulse.beat();
        }
        let now_ns = clock::thread_cpu_ns();
        if self.slice_began_ns.get() == 0 {
            self.slice_began_ns.set(now_ns);
        }
        let stops = now_ns.saturating_sub(self.slice_began_ns.get()) > MOST_CPU_NS;
        self.was_stopped.set(self.was_stopped.get() || stops);
        stops
    }

    /// Reports a value of a custom metric.
    pub fn report(&self, event: &Event<'_>) {
        let Some(worker) = &self.worker else {
            return;
        };
        let now_ns = worker.clock.now();
        worker.recorder.borrow_mut().frontend(now_ns, event);
    }

    /// Prints a line of the script unchanged. Before the run, nothing is printed.
    pub fn print(&self, text: String, is_error: bool) {
        if let Some(worker) = &self.worker {
            worker.emit(if is_error {
                OutputLine::ErrorText(text)
            } else {
                OutputLine::Text(format!("{text}\n"))
            });
        }
    }

    /// Starts a timer and returns its number.
    pub fn start_timer(
        &self,
        function: Persistent<Function<'static>>,
        arguments: Vec<Persistent<Js<'static>>>,
        delay_ms: f64,
        repeats: bool,
    ) -> u64 {
        let id = self.timer_ids.get() + 1;
        self.timer_ids.set(id);
        // As in Node.js, less than a millisecond and NaN count as one millisecond.
        let ms = if delay_ms >= 1.0 {
            delay_ms.min(2_147_483_647.0)
        } else {
            1.0
        };
        let delay_ns = (ms * MILLISECOND as f64) as u64;
        let caller = self.caller.borrow().clone();
        let pending = caller.as_ref().filter(|_| !repeats).map(Pending::new);
        let limit = Rc::<Limit>::default();
        let timer = Timer {
            function,
            arguments,
            caller,
            _pending: pending,
            repeats_ns: repeats.then_some(delay_ns),
            limit: Rc::clone(&limit),
        };
        self.timers.borrow_mut().insert(id, timer);
        if let Some(worker) = &self.worker {
            let (worker, instance) = (Rc::clone(worker), self.instance.borrow().clone());
            let at_ns = worker.clock.now().saturating_add(delay_ns);
            tokio::task::spawn_local(run_timer(worker, instance, limit, id, at_ns));
        }
        id
    }

    /// Cancels a timer, if it is still running.
    pub fn clear_timer(&self, id: u64) {
        if let Some(timer) = self.timers.borrow_mut().remove(&id) {
            timer.limit.abort();
        }
    }

    /// Returns the client for requests of functions. `None` while a script is only checked.
    pub fn client(&self) -> Option<Rc<ScriptClient>> {
        let (worker, settings) = (self.worker.as_ref()?, self.client_settings.as_ref()?);
        let client = self
            .client
            .get_or_init(|| Rc::new(ScriptClient::new(worker, settings.clone())));
        Some(Rc::clone(client))
    }

    /// Registers a request of a function and returns its number.
    pub fn add_request(&self, limit: &Rc<Limit>) -> u64 {
        let id = self.timer_ids.get() + 1;
        self.timer_ids.set(id);
        self.requests.borrow_mut().insert(id, Rc::clone(limit));
        id
    }

    /// Unregisters a request that has ended.
    pub fn end_request(&self, id: u64) {
        self.requests.borrow_mut().remove(&id);
    }

    /// Aborts a request, if it is still running.
    pub fn abort_request(&self, id: u64) {
        if let Some(limit) = self.requests.borrow().get(&id) {
            limit.abort();
        }
    }

    /// Removes a due timer and returns its callback. `None` if the timer was cleared.
    pub fn due_timer(&self, id: u64) -> Option<DueTimer> {
        let mut timers = self.timers.borrow_mut();
        let timer = timers.get(&id)?;
        let due = DueTimer {
            function: timer.function.clone(),
            arguments: timer.arguments.clone(),
            caller: timer.caller.clone(),
            repeats_ns: timer.repeats_ns,
        };
        if due.repeats_ns.is_none() {
            timers.remove(&id);
        }
        Some(due)
    }

    /// Cancels all timers and drops all values of the engine.
    pub fn clear(&self) {
        for (_, timer) in self.timers.borrow_mut().drain() {
            timer.limit.abort();
        }
        for (_, limit) in self.requests.borrow_mut().drain() {
            limit.abort();
        }
        self.unhandled.clear();
    }
}

/// The callback of a due timer.
pub struct DueTimer {
    pub function: Persistent<Function<'static>>,
    pub arguments: Vec<Persistent<Js<'static>>>,
    pub caller: Option<Rc<Caller>>,
    repeats_ns: Option<u64>,
}

async fn run_timer(
    worker: Rc<Worker>,
    instance: Weak<Instance>,
    limit: Rc<Limit>,
    id: u64,
    first_ns: u64,
) {
    let place = worker.watch(&limit);
    let mut at_ns = first_ns;
    while worker.sleep_until(at_ns, &limit).await.is_ok() {
        let Some(due) = instance.upgrade().and_then(|instance| instance.fire(id)) else {
            break;
        };
        let Some(repeats_ns) = due.repeats_ns else {
            break;
        };
        at_ns = worker.clock.now().saturating_add(repeats_ns);
    }
    worker.unwatch(place);
}
