//! An instance of a script: an engine with the script's modules, for one worker.

use std::{
    cell::{OnceCell, RefCell},
    collections::{HashMap, HashSet},
    rc::Rc,
    sync::Arc,
};

use engine::{
    hook::Vars,
    script::{Called, ScriptCall, ScriptHost, ScriptUser},
};
use measure::accumulator::Event;
use rquickjs::{
    Atom, Context, Ctx, Function, Object, Persistent, Result, Runtime, String as JsString,
    Value as Js, function::Args,
};

use super::{
    call,
    failure::Thrown,
    imports,
    modules::{Imports, Modules},
    native,
    request::{REQUEST_NAMES, StepSource},
    state::{Caller, DueTimer, Home, Settings, State},
    surface,
    user::JsUser,
};

/// Maximum memory of an instance, in bytes. The worker's share of `--memory` also limits it.
const MOST_MEMORY: usize = 1 << 30;
/// Minimum memory of an instance, which its modules need.
const LEAST_MEMORY: usize = 16 << 20;
/// Maximum number of kinds of errors that an instance reports.
const MOST_KINDS: usize = 100;
/// Stack size of an instance. Rust's threads have 2 MB.
const MOST_STACK: usize = 1 << 20;

/// An instance of a script.
pub struct Instance {
    pub state: Rc<State>,
    modules: Rc<Modules>,
    functions: HashMap<String, Persistent<Function<'static>>>,
    events: Option<Persistent<Object<'static>>>,
    makers: OnceCell<Makers>,
    /// Objects for the test's constants, which all virtual users share.
    pub constants: RefCell<HashMap<String, Persistent<Js<'static>>>>,
    /// Data that functions receive about each request step, by the step's index.
    pub sources: RefCell<HashMap<u32, Rc<StepSource>>>,
    /// Kinds of errors that have been reported.
    reported: RefCell<HashSet<String>>,
    context: Context,
}

/// JavaScript functions that create the objects that script functions receive.
pub struct Makers {
    /// `(statusCode, read)`
    pub response: Persistent<Function<'static>>,
    /// `(read, name, requestBefore, known)`
    pub sent: Persistent<Function<'static>>,
    /// `(vars, scenario, uuid)`
    pub context: Persistent<Function<'static>>,
    /// `(object, name, read)`
    pub once: Persistent<Function<'static>>,
    /// Object with the properties that Loadline sets.
    pub known: Persistent<Js<'static>>,
    /// Names of the properties that a request has before it is sent.
    pub names: Vec<(&'static str, Persistent<JsString<'static>>)>,
}

impl Makers {
    fn new<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<Makers> {
        let makers: Object<'js> = native.get("makers")?;
        let maker = |name: &str| -> Result<Persistent<Function<'static>>> {
            let function: Function<'js> = makers.get(name)?;
            Ok(Persistent::save(ctx, function))
        };
        let names = REQUEST_NAMES.into_iter().map(|name| {
            let text = Atom::from_str(ctx.clone(), name)?.to_js_string()?;
            Ok((name, Persistent::save(ctx, text)))
        });
        let known = Object::new(ctx.clone())?;
        known.set_prototype(None)?;
        for name in REQUEST_NAMES.into_iter().chain(["name"]) {
            known.set(name, true)?;
        }
        Ok(Makers {
            response: maker("response")?,
            sent: maker("sent")?,
            context: maker("context")?,
            once: maker("once")?,
            known: Persistent::save(ctx, known.into_value()),
            names: names.collect::<Result<_>>()?,
        })
    }
}

/// The instance, as the engine's script host.
pub struct Host(pub Rc<Instance>);

impl ScriptHost for Host {
    fn user(&self, scenario: &str) -> Rc<dyn ScriptUser> {
        Rc::new(JsUser::new(Rc::clone(&self.0), scenario))
    }

    fn has(&self, function: &str) -> bool {
        self.0.functions.contains_key(function)
    }

    fn call(
        &self,
        user: &Rc<dyn ScriptUser>,
        call: ScriptCall<'_, '_>,
        vars: &mut Vars<'_>,
    ) -> Called {
        call::start(&self.0, user, call, vars)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // The engine's values must be dropped before the engine.
        self.state.clear();
        self.modules.clear();
    }
}

impl Instance {
    /// Loads the script.
    pub fn load(
        settings: &Arc<Settings>,
        home: Option<Home>,
    ) -> std::result::Result<Rc<Instance>, String> {
        let memory = home.as_ref().map_or(MOST_MEMORY, |home| {
            let share = home.worker.memory.limit();
            usize::try_from(share).map_or(MOST_MEMORY, |share| share.min(MOST_MEMORY))
        });
        let state = Rc::new(State::new(home, Arc::clone(settings)));
        let modules = Modules::new();
        let runtime = Runtime::new().map_err(|error| error.to_string())?;
        runtime.set_memory_limit(memory.max(LEAST_MEMORY));
        runtime.set_max_stack_size(MOST_STACK);
        runtime.set_loader(Imports(Rc::clone(&modules)), Imports(Rc::clone(&modules)));
        let asked = Rc::clone(&state);
        runtime.set_interrupt_handler(Some(Box::new(move || asked.must_stop())));
        let tracked = Rc::clone(&state);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                tracked.unhandled.track(&ctx, promise, reason, is_handled)
            },
        )));
        let context = Context::full(&runtime).map_err(|error| error.to_string())?;
        let mut instance = Instance {
            state,
            modules,
            functions: HashMap::new(),
            events: None,
            makers: OnceCell::new(),
            constants: RefCell::default(),
            sources: RefCell::default(),
            reported: RefCell::default(),
            context: context.clone(),
        };
        context.with(|ctx| {
            instance.state.begin_slice();
            instance.define(&ctx).map_err(|error| {
                let thrown = Thrown::new(&ctx, &error);
                let all = thrown.is_missing_module().then(|| {
                    let missing = imports::missing(&instance.modules, &settings.file);
                    imports::listed(&missing)
                });
                all.flatten().unwrap_or_else(|| instance.describe(&thrown))
            })
        })?;
        let instance = Rc::new(instance);
        *instance.state.instance.borrow_mut() = Rc::downgrade(&instance);
        Ok(instance)
    }

    fn define(&mut self, ctx: &Ctx<'_>) -> Result<()> {
        let native = native::object(ctx, &self.state)?;
        ctx.globals().prop(surface::NATIVE, native.clone())?;
        let globals: Function<'_> =
            ctx.eval(format!("(function (native) {{{}\n}})", surface::GLOBALS))?;
        globals.call::<_, ()>((native.clone(),))?;
        let fetch: Function<'_> =
            ctx.eval(format!("(function (native) {{{}\n}})", surface::FETCH))?;
        fetch.call::<_, ()>((native.clone(),))?;
        let events: Object<'_> = native.get("events")?;
        self.events = Some(Persistent::save(ctx, events));
        let makers = Makers::new(ctx, &native)?;
        self.makers.get_or_init(|| makers);
        self.modules.attach(ctx)?;
        let exports = self.modules.load_script(ctx, &self.state.settings.file)?;
        while ctx.execute_pending_job() {}
        for entry in exports.props::<String, Js<'_>>() {
            let (name, value): (String, Js<'_>) = entry?;
            if let Some(function) = value.into_function() {
                self.functions.insert(name, Persistent::save(ctx, function));
            }
        }
        Ok(())
    }

    /// Returns the functions that create objects.
    pub fn makers(&self) -> Result<&Makers> {
        self.makers.get().ok_or(rquickjs::Error::Unknown)
    }

    /// Returns the names of the script's functions, in alphabetical order.
    pub fn function_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.functions.keys().cloned().collect();
        names.sort();
        names
    }

    /// Runs JavaScript for a virtual user. `None` runs it for no particular user.
    pub fn enter<R>(&self, caller: Option<&Rc<Caller>>, run: impl FnOnce(&Ctx<'_>) -> R) -> R {
        self.context.with(|ctx| {
            self.state.caller.replace(caller.cloned());
            self.state.begin_slice();
            let result = run(&ctx);
            self.state.caller.replace(None);
            result
        })
    }

    /// Runs promise jobs until none are left. Returns the reason of a rejected promise without a
    /// handler.
    pub fn run_jobs(&self, ctx: &Ctx<'_>) -> Option<Thrown> {
        while ctx.execute_pending_job() {}
        let reason = self.state.unhandled.take(ctx)?;
        Some(Thrown::from_value(&reason))
    }

    /// Returns a function of the script.
    pub fn function<'js>(&self, ctx: &Ctx<'js>, name: &str) -> Option<Function<'js>> {
        self.functions.get(name)?.clone().restore(ctx).ok()
    }

    /// Returns the object through which functions report custom metrics.
    pub fn events<'js>(&self, ctx: &Ctx<'js>) -> Result<Js<'js>> {
        match &self.events {
            Some(events) => Ok(events.clone().restore(ctx)?.into_value()),
            None => Ok(Js::new_undefined(ctx.clone())),
        }
    }

    /// Describes an error, or the fact that the function was stopped.
    pub fn describe(&self, thrown: &Thrown) -> String {
        if self.state.was_stopped.get() {
            let seconds = super::state::MOST_CPU_NS / plan::units::SECOND;
            let at = thrown
                .at
                .as_deref()
                .map_or(String::new(), |at| format!("{at}: "));
            return format!(
                "{at}the script was stopped after {seconds} s of CPU time without a pause"
            );
        }
        thrown.to_string()
    }

    /// Returns the name under which an error counts.
    pub fn counted(&self, thrown: &Thrown) -> String {
        let is_artillery = self.state.settings.is_artillery;
        thrown.counted_as(is_artillery).to_owned()
    }

    /// Reports the first error of each kind, with its position. A script may create a name for each
    /// user, so the number of remembered kinds is limited.
    pub fn report(&self, function: &str, thrown: &Thrown) {
        let mut reported = self.reported.borrow_mut();
        if let Some(worker) = &self.state.worker
            && reported.len() < MOST_KINDS
            && reported.insert(self.counted(thrown))
        {
            worker.remark(format!("`{function}` failed: {}", self.describe(thrown)));
        }
    }

    /// Reports once that the script does not define a function. A condition may be the name of a
    /// variable instead.
    pub fn report_missing(&self, name: &str, is_condition: bool) {
        if let Some(worker) = self.state.worker.as_ref().filter(|_| !is_condition)
            && self.reported.borrow_mut().insert(format!("missing {name}"))
        {
            let file = self.state.settings.file.display();
            worker.remark(format!(
                "WARNING: custom function {name} could not be found in {file}"
            ));
        }
    }

    /// Runs a due timer. Returns `None` if it was cleared.
    pub fn fire(&self, id: u64) -> Option<DueTimer> {
        let due = self.state.due_timer(id)?;
        self.resume(due.caller.as_ref(), "a timer", |ctx| {
            let function = due.function.clone().restore(ctx)?;
            let mut arguments = Args::new(ctx.clone(), due.arguments.len());
            for argument in &due.arguments {
                arguments.push_arg(argument.clone().restore(ctx)?)?;
            }
            function.call_arg::<()>(arguments)
        });
        Some(due)
    }

    /// Runs JavaScript that a virtual user waits for. Its errors are reported and counted.
    pub fn resume(
        &self,
        caller: Option<&Rc<Caller>>,
        what: &str,
        run: impl FnOnce(&Ctx<'_>) -> Result<()>,
    ) {
        let thrown = self.enter(caller, |ctx| {
            let failed = run(ctx).err().map(|error| Thrown::new(ctx, &error));
            failed.or(self.run_jobs(ctx))
        });
        if let Some(thrown) = thrown {
            self.report(what, &thrown);
            let name = self.counted(&thrown);
            self.state.report(&Event::Remark { name: &name });
        }
    }
}
