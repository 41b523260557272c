//! State that the native functions of a virtual user share.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use ::k6::{
    log::Level,
    metric::MetricId,
    options::{self, value::SystemTags},
    tags::{TagCache, Tags},
};
use codec::cookies::Jar;
use rquickjs::{Ctx, Object, Persistent, Result, Value as Js};
use worker::clock;

use super::{
    background::Background,
    errors::{self, throw},
    host::{Host, StatusRange, VuConnections, VuId},
    shared::Shared,
    tags::borrowed,
    websocket::SocketSession,
};
use crate::js::{edge::Waiter, rejections::Rejections, state::MOST_CPU_NS};

/// CPU time in nanoseconds after which other virtual users of the worker take their turn.
const TURN_NS: u64 = 10_000_000;

/// The part of the script that is running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The code outside of functions.
    Init,
    /// `setup`, an iteration, `teardown` or `handleSummary`.
    Running,
}

/// Options of the test that affect virtual users.
#[derive(Debug, Clone, PartialEq)]
pub struct VuOptions {
    /// Maximum number of redirects. `None` means 10, with a warning at the limit.
    pub max_redirects: Option<u32>,
    /// Value of the `User-Agent` header. Empty means no header.
    pub user_agent: String,
    /// Maximum number of concurrent requests of a batch. 0 means no limit.
    pub batch: usize,
    /// Maximum number of concurrent requests of a batch to each host. 0 means no limit.
    pub batch_per_host: usize,
    /// Whether response bodies are discarded by default.
    pub discard_response_bodies: bool,
    /// Whether cookies are kept between iterations.
    pub no_cookies_reset: bool,
    /// Whether failed requests throw by default.
    pub throw: bool,
    /// Tags that all samples have.
    pub tags: Vec<(String, String)>,
    /// System tags that samples have.
    pub system_tags: SystemTags,
    /// Memory limit of the virtual user's JavaScript in bytes. 0 means no limit.
    pub memory_limit: usize,
}

impl Default for VuOptions {
    fn default() -> VuOptions {
        VuOptions {
            max_redirects: None,
            user_agent: options::DEFAULT_USER_AGENT.to_owned(),
            batch: options::DEFAULT_BATCH as usize,
            batch_per_host: options::DEFAULT_BATCH_PER_HOST as usize,
            discard_response_bodies: false,
            no_cookies_reset: false,
            throw: false,
            tags: Vec::new(),
            system_tags: SystemTags::default(),
            memory_limit: 0,
        }
    }
}

/// The numbers of the running iteration, for `k6/execution`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct IterationInfo {
    /// Name of the scenario. Empty outside of scenarios.
    pub scenario: String,
    /// Index among the virtual user's iterations, from 0.
    pub in_vu: u64,
    /// Index among the virtual user's iterations of the scenario, from 0.
    pub in_vu_scenario: u64,
    /// Index among the scenario's iterations in this instance, from 0.
    pub in_instance: u64,
    /// Index among the scenario's iterations in the test, from 0.
    pub in_test: u64,
}

/// The state of a virtual user. Its functions refer to it, so it must not refer to the engine's
/// context.
pub struct State {
    pub waiter: Rc<Waiter>,
    pub shared: Arc<Shared>,
    /// Host. `None` while a script is only loaded.
    pub host: Option<Rc<dyn Host>>,
    pub id: VuId,
    pub options: VuOptions,
    pub stage: Cell<Stage>,
    pub iteration: RefCell<IterationInfo>,
    /// Current tags of all samples, including `group` and `scenario`.
    pub tags: RefCell<Tags>,
    pub tag_cache: Rc<TagCache>,
    /// Path of the running group, such as `::login`.
    pub group: RefCell<String>,
    pub jar: RefCell<Rc<RefCell<Jar>>>,
    /// Statuses that count as expected. `None` means that no status counts as unexpected.
    pub expected: RefCell<Option<Rc<[StatusRange]>>>,
    pub background: Background,
    /// WebSocket sessions of the iteration.
    pub sessions: RefCell<Vec<Rc<SocketSession>>>,
    pub unhandled: Rejections,
    /// Objects of loaded modules, by name.
    pub modules: RefCell<HashMap<String, Persistent<Object<'static>>>>,
    /// Values that are created once, such as prototypes.
    pub kept: RefCell<HashMap<&'static str, Persistent<Js<'static>>>>,
    /// Running timers, with the numbers of their background tasks.
    pub timers: RefCell<HashMap<u64, u64>>,
    timer_numbers: Cell<u64>,
    /// Text of `exec.test.abort`, if it was called while the script was loaded.
    pub aborted: RefCell<Option<String>>,
    /// Why the script was stopped. `None` if it was not.
    pub stopped: Cell<Option<&'static str>>,
    /// CPU time of the current stretch without a pause, in nanoseconds.
    stretch_ns: Cell<u64>,
    turn: Cell<Turn>,
}

/// When this virtual user's turn started.
#[derive(Debug, Clone, Copy, Default)]
struct Turn {
    resumes: u64,
    began_ns: u64,
}

impl State {
    pub fn new(
        shared: Arc<Shared>,
        host: Option<Rc<dyn Host>>,
        id: VuId,
        options: VuOptions,
    ) -> State {
        let tag_cache = host
            .as_ref()
            .map_or_else(Rc::default, |host| host.tag_cache());
        let tags = tag_cache.with(tag_cache.root(), &borrowed(&options.tags));
        State {
            waiter: Rc::default(),
            shared,
            host,
            id,
            options,
            stage: Cell::new(Stage::Init),
            iteration: RefCell::default(),
            tags: RefCell::new(tags),
            tag_cache,
            group: RefCell::default(),
            jar: RefCell::default(),
            expected: RefCell::new(Some(Rc::new([StatusRange { min: 200, max: 399 }]))),
            background: Background::default(),
            sessions: RefCell::default(),
            unhandled: Rejections::default(),
            modules: RefCell::default(),
            kept: RefCell::default(),
            timers: RefCell::default(),
            timer_numbers: Cell::new(0),
            aborted: RefCell::default(),
            stopped: Cell::new(None),
            stretch_ns: Cell::new(0),
            turn: Cell::default(),
        }
    }

    /// Drops all values of the engine.
    pub fn clear(&self) {
        self.cancel_background();
        self.unhandled.clear();
        self.modules.borrow_mut().clear();
        self.kept.borrow_mut().clear();
    }

    /// Returns the host.
    ///
    /// # Errors
    ///
    /// Throws `refusal` in the init code.
    pub fn host(&self, ctx: &Ctx<'_>, refusal: &str) -> Result<Rc<dyn Host>> {
        match &self.host {
            Some(host) if self.stage.get() == Stage::Running => Ok(Rc::clone(host)),
            _ => Err(throw(ctx, refusal)),
        }
    }

    /// Throws `refusal` unless the init code is running.
    pub fn require_init(&self, ctx: &Ctx<'_>, refusal: &str) -> Result<()> {
        match self.stage.get() {
            Stage::Init => Ok(()),
            Stage::Running => Err(throw(ctx, refusal)),
        }
    }

    /// Waits for a future. Background work of the virtual user continues.
    ///
    /// # Errors
    ///
    /// Throws an uncatchable error if the iteration was interrupted.
    pub fn wait<F: Future>(&self, ctx: &Ctx<'_>, future: F) -> Result<F::Output> {
        self.stretch_ns.set(0);
        let waited = self.waiter.wait(self.background.poll_with(future));
        waited.ok_or_else(|| errors::throw_interrupted(ctx))
    }

    /// Returns whether the running code must stop. The engine calls this every few thousand steps.
    /// During long computations, other virtual users run here.
    pub fn must_stop(&self) -> bool {
        if self.waiter.ends() || self.stopped.get().is_some() {
            return true;
        }
        let (now_ns, resumes) = (clock::thread_cpu_ns(), self.waiter.resumes());
        let turn = self.turn.get();
        let began = Turn {
            resumes,
            began_ns: now_ns,
        };
        if turn.resumes != resumes {
            self.turn.set(began);
            return false;
        }
        let used_ns = now_ns.saturating_sub(turn.began_ns);
        if self.stretch_ns.get() + used_ns > MOST_CPU_NS {
            let reason = "the script was stopped after 5 s of CPU time without a pause";
            self.stopped.set(Some(reason));
            return true;
        }
        if used_ns > TURN_NS {
            self.stretch_ns.set(self.stretch_ns.get() + used_ns);
            if !self.waiter.is_on_fiber() {
                self.turn.set(began);
                return false;
            }
            return self.waiter.wait(tokio::task::yield_now()).is_none();
        }
        false
    }

    /// Starts a stretch of JavaScript, whose CPU time is limited.
    pub fn begin_stretch(&self) {
        self.stretch_ns.set(0);
        self.stopped.set(None);
        self.turn.set(Turn::default());
    }

    /// Returns whether samples have this system tag.
    pub fn has_system_tag(&self, name: &str) -> bool {
        self.options.system_tags.contains(name)
    }

    /// Reports samples at the current time. Does nothing while the script is loaded, and after an
    /// interrupt.
    pub fn report(&self, tags: &Tags, values: &[(MetricId, f64)]) {
        if let Some(host) = self.host.as_ref().filter(|_| !self.waiter.ends()) {
            host.samples().add(host.wall_ns(), tags, values);
        }
    }

    /// Writes a message to the log. Does nothing while the script is loaded, and after an
    /// interrupt.
    pub fn log(&self, level: Level, message: &str, fields: &[(&str, &str)]) {
        if let Some(host) = self.host.as_ref().filter(|_| !self.waiter.ends()) {
            host.log(level, message, fields);
        }
    }

    /// Sets a tag for the following samples. An empty value removes the tag.
    pub fn set_tag(&self, name: &str, value: &str) {
        let tags = self.tags_with(&[(name, value)]);
        *self.tags.borrow_mut() = tags;
    }

    /// Returns the current tags with additional tags.
    pub fn tags_with(&self, added: &[(&str, &str)]) -> Tags {
        self.tag_cache.with(&self.tags.borrow(), added)
    }

    /// Sets the group for the following samples.
    pub fn set_group(&self, path: String) {
        if self.has_system_tag("group") {
            self.set_tag("group", &path);
        }
        *self.group.borrow_mut() = path;
    }

    /// Returns a number for a new timer.
    pub fn new_timer(&self) -> u64 {
        self.timer_numbers.set(self.timer_numbers.get() + 1);
        self.timer_numbers.get()
    }

    /// Removes a timer that is due. Returns `false` if it was cleared.
    pub fn ends_timer(&self, number: u64) -> bool {
        self.timers.borrow_mut().remove(&number).is_some()
    }

    /// Cancels a timer, if it is still running.
    pub fn cancel_timer(&self, number: u64) {
        if let Some(task) = self.timers.borrow_mut().remove(&number) {
            self.background.cancel(task);
        }
    }

    /// Cancels all timers and background requests, and closes WebSocket connections.
    pub fn cancel_background(&self) {
        self.timers.borrow_mut().clear();
        self.background.clear();
        self.sessions
            .take()
            .iter()
            .for_each(|session| session.end());
    }

    /// Returns the virtual user and iteration whose connections requests use.
    pub fn connections(&self) -> VuConnections {
        VuConnections {
            vu: self.id.instance,
            iteration: self.iteration.borrow().in_vu,
        }
    }
}
