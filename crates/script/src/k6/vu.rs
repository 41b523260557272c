//! A virtual user: its own JavaScript runtime, and the fiber on which its functions run.

use std::{
    cell::{Cell, OnceCell, RefCell},
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    sync::Arc,
};

use rquickjs::{ArrayBuffer, Context, Ctx, Module, Object, Persistent, Runtime, Value as Js};

use super::{
    errors::ScriptError,
    event_loop, globals,
    host::{Host, VuId},
    loader::Modules,
    shared::{Shared, SourceKind},
    state::{IterationInfo, Stage, State, VuOptions},
    tags::borrowed,
};
use crate::js::{
    edge::{self, Fiber, SCRIPT_STACK},
    values,
};

/// Maximum number of jobs of a failed call that run before the next call.
const MOST_LEFT_JOBS: u32 = 10_000;

/// A virtual user of a k6 script.
pub struct Vu {
    /// Exports of the script. Empty until the init code has run.
    exports: OnceCell<Persistent<Object<'static>>>,
    /// Result of `setup`, in the form that functions receive.
    data: OnceCell<Persistent<Js<'static>>>,
    /// Values in `__ENV` before the scenario's variables were set.
    replaced: RefCell<Vec<ReplacedVariable>>,
    state: Rc<State>,
    context: Context,
    is_running: Cell<bool>,
    /// Scenario whose tags and environment are in use.
    scenario: RefCell<Option<String>>,
}

/// A variable in `__ENV` that a scenario has set.
struct ReplacedVariable {
    name: String,
    /// Previous value. `None` if there was none.
    value: Option<Persistent<Js<'static>>>,
}

/// An iteration to run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Iteration {
    /// Name of the exported function, such as `default`.
    pub function: String,
    /// Scenario and numbers for `k6/execution`.
    pub info: IterationInfo,
    /// Tags of the scenario.
    pub tags: Vec<(String, String)>,
    /// Additional environment variables of the scenario.
    pub env: Vec<(String, String)>,
    /// Result of `setup`, as JSON. It is parsed in the first iteration. `None` means `undefined`.
    pub data: Option<Arc<str>>,
}

/// How an iteration ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The function returned, and there is nothing left to wait for.
    Completed,
    /// The function threw.
    Failed(ScriptError),
    /// The iteration was interrupted.
    Interrupted,
}

/// Why a call of a function failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallError {
    /// The function threw.
    Failed(ScriptError),
    /// The call was interrupted, or the script aborted the test.
    Interrupted,
}

/// An output that `handleSummary` returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SummaryOutput {
    /// Destination: `stdout`, `stderr` or the path of a file.
    pub target: String,
    /// Content to write.
    pub content: Vec<u8>,
}

impl Drop for Vu {
    fn drop(&mut self) {
        // The engine's values must be dropped before the engine.
        self.state.clear();
    }
}

impl Vu {
    /// Creates a virtual user and runs the init code.
    ///
    /// # Errors
    ///
    /// Fails if the init code throws.
    pub async fn new(
        script: &super::Script,
        host: Rc<dyn Host>,
        id: VuId,
        options: VuOptions,
    ) -> Result<Rc<Vu>, ScriptError> {
        let vu = Vu::create(script.shared(), Some(host), id, options)?;
        let vu = Rc::new(vu);
        vu.initialize().await.map_err(|error| match error {
            CallError::Failed(error) => error,
            CallError::Interrupted => ScriptError::new("the init code was interrupted"),
        })?;
        Ok(vu)
    }

    /// Creates a virtual user whose init code has not run yet.
    pub(super) fn create(
        shared: &Arc<Shared>,
        host: Option<Rc<dyn Host>>,
        id: VuId,
        options: VuOptions,
    ) -> Result<Vu, ScriptError> {
        let failed = |error: rquickjs::Error| {
            ScriptError::new(format!("cannot start the JavaScript engine: {error}"))
        };
        let runtime = Runtime::new().map_err(failed)?;
        runtime.set_memory_limit(options.memory_limit);
        runtime.set_max_stack_size(SCRIPT_STACK);
        let state = Rc::new(State::new(Arc::clone(shared), host, id, options));
        let modules = Modules(Rc::clone(&state));
        runtime.set_loader(modules.clone(), modules);
        let asked = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || asked.must_stop())));
        let tracked = Rc::clone(&state);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                tracked.unhandled.track(&ctx, promise, reason, is_handled);
            },
        )));
        let context = Context::full(&runtime).map_err(failed)?;
        Ok(Vu {
            exports: OnceCell::new(),
            data: OnceCell::new(),
            replaced: RefCell::default(),
            state,
            context,
            is_running: Cell::new(false),
            scenario: RefCell::default(),
        })
    }

    /// Runs the init code.
    pub(super) async fn initialize(self: &Rc<Self>) -> Result<(), CallError> {
        let exports = self.on_fiber(|vu, ctx| {
            globals::define(ctx, &vu.state)?;
            let namespace = Module::import(ctx, vu.state.shared.main.as_str())?;
            let namespace = event_loop::settle_promise(ctx, &vu.state, namespace)?;
            let exports = exports_of(ctx, &vu.state, namespace)?;
            vu.state.stage.set(Stage::Running);
            Ok(Persistent::save(ctx, exports))
        });
        let _ = self.exports.set(exports.await?);
        Ok(())
    }

    /// Returns the text of `exec.test.abort`, if it was called while the script was loaded.
    pub(super) fn aborted(&self) -> Option<String> {
        self.state.aborted.borrow().clone()
    }

    /// Reads the exports of the script.
    pub(super) async fn read_exports<R: 'static>(
        self: &Rc<Self>,
        read: impl for<'js> FnOnce(&Object<'js>) -> rquickjs::Result<R> + 'static,
    ) -> Result<R, CallError> {
        self.on_fiber(|vu, ctx| read(&vu.exports(ctx)?)).await
    }

    fn exports<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Object<'js>> {
        let exports = self.exports.get().ok_or(rquickjs::Error::Unknown)?;
        exports.clone().restore(ctx)
    }

    /// Runs an iteration: calls the function and waits for its promise, for timers and for
    /// asynchronous requests. A virtual user runs one iteration at a time.
    pub async fn run(self: &Rc<Self>, iteration: Iteration) -> Ended {
        let called = self.on_fiber(move |vu, ctx| {
            vu.begin(ctx, &iteration)?;
            let data = vu.setup_data(ctx, iteration.data.as_deref())?;
            vu.call(ctx, &iteration.function, (data,))?;
            Ok(())
        });
        match called.await {
            Ok(()) => Ended::Completed,
            Err(CallError::Failed(error)) => Ended::Failed(error),
            Err(CallError::Interrupted) => Ended::Interrupted,
        }
    }

    /// Interrupts the running iteration at its next call of the host, or within a few thousand
    /// steps of the engine. Does nothing between iterations.
    pub fn interrupt(&self) {
        if self.is_running.get() {
            self.state.waiter.end();
        }
    }

    /// Calls `setup` and returns its result as JSON. `None` if it returned nothing.
    ///
    /// # Errors
    ///
    /// Fails if the function throws or is interrupted.
    pub async fn call_setup(self: &Rc<Self>) -> Result<Option<String>, CallError> {
        self.on_fiber(|vu, ctx| {
            vu.state.set_group("::setup".to_owned());
            let value = vu.call(ctx, "setup", ())?;
            let json = ctx.json_stringify(value)?;
            json.map(|json| json.to_string()).transpose()
        })
        .await
    }

    /// Calls `teardown` with the result of `setup`.
    ///
    /// # Errors
    ///
    /// Fails if the function throws or is interrupted.
    pub async fn call_teardown(self: &Rc<Self>, data: Option<Arc<str>>) -> Result<(), CallError> {
        self.on_fiber(move |vu, ctx| {
            vu.state.set_group("::teardown".to_owned());
            let data = vu.setup_data(ctx, data.as_deref())?;
            vu.call(ctx, "teardown", (data,))?;
            Ok(())
        })
        .await
    }

    /// Calls `handleSummary` with its data as JSON, and returns the outputs to write. `None` means
    /// that it returned nothing, which requests the default text.
    ///
    /// # Errors
    ///
    /// Fails if the function throws, is interrupted, or returns anything else than an object of
    /// texts and `ArrayBuffer`s.
    pub async fn call_handle_summary(
        self: &Rc<Self>,
        data: String,
    ) -> Result<Option<Vec<SummaryOutput>>, CallError> {
        self.on_fiber(move |vu, ctx| {
            let data = ctx.json_parse(data)?;
            let result = vu.call(ctx, "handleSummary", (data,))?;
            summary_outputs(ctx, &result)
        })
        .await
    }

    /// Runs code of the script on a fiber.
    async fn on_fiber<R: 'static>(
        self: &Rc<Self>,
        run: impl FnOnce(&Rc<Vu>, &Ctx<'_>) -> rquickjs::Result<R> + 'static,
    ) -> Result<R, CallError> {
        if self.is_running.get() {
            let message = "a virtual user runs one function at a time";
            return Err(CallError::Failed(ScriptError::new(message)));
        }
        let vu = Rc::clone(self);
        self.state.waiter.reset();
        self.state.begin_stretch();
        let job = move || {
            edge::enter(&vu.context, |ctx| {
                let result = catch_unwind(AssertUnwindSafe(|| run(&vu, ctx)));
                let result = vu.outcome(ctx, result);
                vu.clean_up(ctx, result.is_err());
                result
            })
        };
        let fiber = Fiber::new(&self.state.waiter, job).map_err(|error| {
            CallError::Failed(ScriptError::new(format!(
                "no stack for a virtual user ({error}): raise the limit of memory mappings \
                 `vm.max_map_count`, or use fewer virtual users"
            )))
        })?;
        let _running = Running::new(self);
        fiber.await
    }

    fn outcome<R>(
        &self,
        ctx: &Ctx<'_>,
        result: std::thread::Result<rquickjs::Result<R>>,
    ) -> Result<R, CallError> {
        match result {
            Ok(Ok(_)) | Ok(Err(_)) if self.state.waiter.ends() => {
                ctx.catch();
                Err(CallError::Interrupted)
            }
            Ok(Ok(result)) => Ok(result),
            Ok(Err(error)) => {
                let mut described = ScriptError::from_error(ctx, &error);
                if let Some(reason) = self.state.stopped.get() {
                    described.message = reason.to_owned();
                }
                Err(CallError::Failed(described))
            }
            Err(_) => {
                let message = "internal error in a function that the script called";
                Err(CallError::Failed(ScriptError::new(message)))
            }
        }
    }

    /// Discards the work that a failed call left.
    fn clean_up(&self, ctx: &Ctx<'_>, has_failed: bool) {
        if has_failed || self.state.waiter.ends() || self.state.stopped.get().is_some() {
            // The engine cannot drop jobs, and they must not run in the next iteration. Here they
            // can no longer wait, log or report samples.
            self.state.waiter.end();
            let mut left = MOST_LEFT_JOBS;
            while left > 0 && ctx.execute_pending_job() {
                left -= 1;
            }
        }
        // Do this afterwards, because jobs can start timers and requests.
        self.state.cancel_background();
        self.state.unhandled.clear();
        self.state.set_group(String::new());
    }

    fn begin(&self, ctx: &Ctx<'_>, iteration: &Iteration) -> rquickjs::Result<()> {
        let state = &self.state;
        let is_new = self.scenario.borrow().as_deref() != Some(iteration.info.scenario.as_str());
        if is_new {
            self.enter_scenario(ctx, iteration)?;
        }
        let in_vu = iteration.info.in_vu;
        for (name, value) in [("vu", state.id.test), ("iter", in_vu)] {
            if state.has_system_tag(name) {
                state.set_tag(name, &value.to_string());
            }
        }
        *state.iteration.borrow_mut() = iteration.info.clone();
        ctx.globals().set("__ITER", in_vu as f64)?;
        if !state.options.no_cookies_reset {
            *state.jar.borrow_mut() = Rc::default();
        }
        Ok(())
    }

    fn enter_scenario(&self, ctx: &Ctx<'_>, iteration: &Iteration) -> rquickjs::Result<()> {
        let mut tags = borrowed(&self.state.options.tags);
        tags.extend(borrowed(&iteration.tags));
        if self.state.has_system_tag("scenario") {
            tags.push(("scenario", &iteration.info.scenario));
        }
        let cache = &self.state.tag_cache;
        *self.state.tags.borrow_mut() = cache.with(cache.root(), &tags);
        self.replace_environment(ctx, &iteration.env)?;
        *self.scenario.borrow_mut() = Some(iteration.info.scenario.clone());
        Ok(())
    }

    /// Sets the scenario's variables, after undoing those of the previous scenario.
    fn replace_environment(
        &self,
        ctx: &Ctx<'_>,
        variables: &[(String, String)],
    ) -> rquickjs::Result<()> {
        let environment: Object<'_> = ctx.globals().get("__ENV")?;
        // In reverse order, because a name may occur twice.
        for variable in self.replaced.take().into_iter().rev() {
            match variable.value {
                Some(value) => environment.set(variable.name, value.restore(ctx)?)?,
                None => environment.remove(variable.name)?,
            }
        }
        for (name, value) in variables {
            // `contains_key` also finds inherited names such as `toString`, so list the own keys.
            let mut own = environment.keys::<String>();
            let is_known = own.any(|key| key.is_ok_and(|key| key == *name));
            let before = match is_known {
                true => {
                    let before: Js<'_> = environment.get(name.as_str())?;
                    Some(Persistent::save(ctx, before))
                }
                false => None,
            };
            self.replaced.borrow_mut().push(ReplacedVariable {
                name: name.clone(),
                value: before,
            });
            environment.set(name.as_str(), value.as_str())?;
        }
        Ok(())
    }

    /// Returns the result of `setup`. Each virtual user parses it once.
    fn setup_data<'js>(&self, ctx: &Ctx<'js>, data: Option<&str>) -> rquickjs::Result<Js<'js>> {
        let Some(data) = data else {
            return Ok(Js::new_undefined(ctx.clone()));
        };
        if let Some(known) = self.data.get() {
            return known.clone().restore(ctx);
        }
        let value = ctx.json_parse(data)?;
        let _ = self.data.set(Persistent::save(ctx, value.clone()));
        Ok(value)
    }

    /// Calls an exported function and waits for everything that it started.
    fn call<'js, A: rquickjs::function::IntoArgs<'js>>(
        &self,
        ctx: &Ctx<'js>,
        name: &str,
        arguments: A,
    ) -> rquickjs::Result<Js<'js>> {
        let exports = self.exports(ctx)?;
        let Some(function) = values::function_of(&exports, name)? else {
            let message = format!("function '{name}' not found in exports");
            return Err(super::errors::throw(ctx, &message));
        };
        let value: Js<'js> = function.call(arguments)?;
        event_loop::settle(ctx, &self.state, value)
    }
}

/// Marks a virtual user as running until this value is dropped.
struct Running(Rc<Vu>);

impl Running {
    fn new(vu: &Rc<Vu>) -> Running {
        vu.is_running.set(true);
        Running(Rc::clone(vu))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.is_running.set(false);
    }
}

/// Returns the exports of the script. For a CommonJS module, they are `module.exports`.
fn exports_of<'js>(
    ctx: &Ctx<'js>,
    state: &State,
    namespace: Js<'js>,
) -> rquickjs::Result<Object<'js>> {
    let namespace = namespace.into_object().unwrap_or(Object::new(ctx.clone())?);
    let source = state.shared.source(&state.shared.main);
    match source.map(|source| source.kind) {
        Ok(SourceKind::CommonJs) => {
            let exports: Js<'js> = namespace.get("default")?;
            Ok(exports.into_object().unwrap_or(namespace))
        }
        _ => Ok(namespace),
    }
}

fn summary_outputs<'js>(
    ctx: &Ctx<'js>,
    result: &Js<'js>,
) -> rquickjs::Result<Option<Vec<SummaryOutput>>> {
    let mut outputs = Vec::new();
    let Some(object) = result.as_object().filter(|_| !result.is_function()) else {
        if result.is_undefined() || result.is_null() {
            return Ok(None);
        }
        let message = "handleSummary() should return a map with string keys";
        return Err(super::errors::throw(ctx, message));
    };
    for entry in object.props::<String, Js<'js>>() {
        let (target, value) = entry?;
        let buffer = value
            .as_object()
            .and_then(|o| ArrayBuffer::from_object(o.clone()));
        let content = match (value.as_string(), buffer) {
            (Some(text), _) => values::text_of(text).into_bytes(),
            (None, Some(buffer)) => edge::buffer_bytes(&buffer),
            (None, None) => {
                let message = format!(
                    "handleSummary() returned something else than a text or an ArrayBuffer for \
                     '{target}'"
                );
                return Err(super::errors::throw(ctx, &message));
            }
        };
        outputs.push(SummaryOutput { target, content });
    }
    Ok(Some(outputs))
}
