//! wrk's Lua scripts: a main state, and a state for each thread. Each state runs the whole script,
//! with `setup`, `init`, `request`, `response`, `delay` and `done`. A script without hooks takes no
//! time during the run.

mod ffi;
mod host;
mod requests;
mod source;

use std::{
    ffi::CString,
    os::unix::ffi::OsStrExt,
    path::PathBuf,
    sync::{Arc, atomic::Ordering},
};

use ffi::{LuaRef, LuaState, LuaValue};
pub use ffi::{flush_output, print_to_stderr};
pub use host::DistributionFigures;
use host::{HOOKS, ScriptState, lock};
pub use requests::Flaw;
use requests::Requests;
pub use source::LuaSource;
use worker::stop::StopHandle;

const PRELUDE: &str = include_str!("prelude.lua");

#[derive(Debug, Clone, Default)]
pub struct ScriptContext {
    pub scheme: String,
    pub host: String,
    pub port: Option<String>,
    pub path: String,
    pub headers: Vec<(String, String)>,
    /// Arguments that are not options. The first one is the URL.
    pub arguments: Vec<String>,
    pub script: Option<PathBuf>,
    pub must_load: bool,
    pub threads: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptError {
    Script(String),
    /// The script could not be loaded. Contains LuaJIT's message.
    Load(String),
    Place(String),
    Request(Flaw),
    Memory,
}

impl std::fmt::Display for ScriptError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // LuaJIT's message for an unprotected call, as wrk prints it.
            ScriptError::Script(message) => {
                write!(f, "PANIC: unprotected error in call to Lua API ({message})")
            }
            ScriptError::Load(line) | ScriptError::Place(line) => f.write_str(line),
            ScriptError::Request(flaw) => flaw.fmt(f),
            ScriptError::Memory => f.write_str("no memory for another Lua state"),
        }
    }
}

impl std::error::Error for ScriptError {}

/// The hooks that a script defines, as found in thread 0 after `init`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks {
    pub request: bool,
    pub response: bool,
    pub delay: bool,
}

#[derive(Debug)]
struct Machine {
    state: LuaState,
    calls: LuaRef,
    usual_request: LuaRef,
    request: LuaRef,
    response: LuaRef,
    delay: LuaRef,
}

impl Machine {
    /// Creates a state and runs the script. As in wrk, a script that cannot be loaded is reported
    /// and then ignored.
    fn new(
        context: &ScriptContext,
        shared: &Arc<ScriptState>,
        own: Option<usize>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Machine, ScriptError> {
        let state = LuaState::new().ok_or(ScriptError::Memory)?;
        let host = state.functions(
            host::functions(shared, own),
            c"given",
            &host::context(context),
        );
        let calls = state
            .run_with(c"=wrk", PRELUDE, host)
            .map_err(ScriptError::Script)?;
        let machine = Machine {
            usual_request: state.field(calls, c"request"),
            request: state.key("request"),
            response: state.key("response"),
            delay: state.key("delay"),
            calls,
            state,
        };
        if let Some(own) = own {
            machine.call(shared, c"own_thread", &[LuaValue::Number(own as f64)], 0)?;
        }
        if let Some(script) = &context.script {
            // A path with a null byte is invalid. Replace it with an empty name, which does not
            // exist.
            let path = CString::new(script.as_os_str().as_bytes()).unwrap_or_default();
            if let Err(cause) = machine.state.run_file(&path) {
                machine.trouble(shared)?;
                if context.must_load {
                    return Err(ScriptError::Load(cause));
                }
                say(&format!("{}: {cause}", script.display()));
            }
        }
        Ok(machine)
    }

    fn call(
        &self,
        shared: &ScriptState,
        name: &std::ffi::CStr,
        arguments: &[LuaValue],
        results: i32,
    ) -> Result<Vec<LuaValue>, ScriptError> {
        let called = self.state.call(self.calls, name, arguments, results);
        self.trouble(shared)?;
        called.map_err(ScriptError::Script)
    }

    /// Returns the error of a failed name lookup, which ends the run even if the script catches it.
    #[allow(
        clippy::unused_self,
        reason = "a method for symmetry: called after every call into this state"
    )]
    fn trouble(&self, shared: &ScriptState) -> Result<(), ScriptError> {
        match lock(&shared.fatal).clone() {
            Some(line) => Err(ScriptError::Place(line)),
            None => Ok(()),
        }
    }
}

pub struct Script {
    context: ScriptContext,
    main: Machine,
    shared: Arc<ScriptState>,
    hooks: Hooks,
    first: Requests,
}

impl Script {
    /// Creates the main state and loads the script. Passes warnings to `say`. Fails if memory is
    /// exhausted.
    pub fn load(
        context: ScriptContext,
        stop: StopHandle,
        say: &mut dyn FnMut(&str),
    ) -> Result<Script, ScriptError> {
        let shared = Arc::new(ScriptState::new(context.threads, stop));
        let main = Machine::new(&context, &shared, None, say)?;
        Ok(Script {
            context,
            main,
            shared,
            hooks: Hooks::default(),
            first: Requests::default(),
        })
    }

    /// Finds addresses that accept a connection. Fails if there are none.
    pub fn resolve(&self) -> Result<(), ScriptError> {
        let reached = self.main.call(&self.shared, c"resolve", &[], 1)?;
        if matches!(reached.first(), Some(LuaValue::Number(n)) if *n > 0.0) {
            return Ok(());
        }
        let reason = lock(&self.shared.unreachable).take();
        let context = &self.context;
        Err(ScriptError::Place(format!(
            "unable to connect to {}:{} {}",
            context.host,
            context.port.as_deref().unwrap_or(&context.scheme),
            reason.unwrap_or_else(|| "no address".into())
        )))
    }

    /// Creates the threads' states: loads the script, calls `setup` in the main state and `init`,
    /// and validates a first batch of thread 0.
    ///
    /// Fails if the script fails or the requests are invalid.
    pub fn prepare(&mut self, say: &mut dyn FnMut(&str)) -> Result<Hooks, ScriptError> {
        for number in 0..self.context.threads {
            let machine = Machine::new(&self.context, &self.shared, Some(number), say)?;
            let shared = Arc::clone(&self.shared);
            let slot = &shared.threads[number].machine;
            *lock(slot) = Some(machine);
            let id = LuaValue::Number(number as f64);
            self.main.call(&self.shared, c"setup", &[id], 0)?;
            // The state is removed from its slot while it runs. Access to its own globals then uses
            // the calling state.
            let Some(machine) = lock(slot).take() else {
                return Err(ScriptError::Memory);
            };
            let prepared = self.prepare_thread(number, &machine);
            *lock(slot) = Some(machine);
            prepared?;
        }
        for thread in &self.shared.threads {
            thread.stopped.store(false, Ordering::Relaxed);
        }
        Ok(self.hooks)
    }

    fn prepare_thread(&mut self, number: usize, machine: &Machine) -> Result<(), ScriptError> {
        let arguments = self.context.arguments.iter().enumerate();
        let arguments =
            arguments.map(|(i, text)| (LuaValue::Number(i as f64), LuaValue::text(text)));
        let arguments = LuaValue::Table(arguments.collect());
        machine.call(&self.shared, c"init", &[arguments], 0)?;
        if number > 0 {
            return Ok(());
        }
        let hooks = machine.call(&self.shared, c"hooks", &[], 3)?;
        let has = |i: usize| hooks.get(i) == Some(&LuaValue::Bool(true));
        self.hooks = Hooks {
            request: has(0),
            response: has(1),
            delay: has(2),
        };
        let mut bytes = Vec::new();
        let asked = machine
            .state
            .bytes(machine.request, machine.usual_request, &mut bytes);
        machine.trouble(&self.shared)?;
        asked.map_err(ScriptError::Script)?;
        self.first = requests::check(&bytes).map_err(ScriptError::Request)?;
        Ok(())
    }

    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources {
            shared: Arc::clone(&self.shared),
            hooks: self.hooks,
            first: self.first.clone(),
        }
    }

    #[must_use]
    pub fn failure(&self) -> Option<ScriptError> {
        lock(&self.shared.failure).clone().map(ScriptError::Script)
    }

    /// Calls the script's `done` function, if it has one. Fails if the script fails.
    pub fn done(
        &self,
        summary: &Summary,
        latency: DistributionFigures,
        requests: DistributionFigures,
    ) -> Result<(), ScriptError> {
        *lock(&self.shared.figures) = vec![latency, requests];
        let field = |name: &str, value: u64| (LuaValue::text(name), LuaValue::Number(value as f64));
        let errors = LuaValue::Table(vec![
            field("connect", summary.connect),
            field("read", summary.read),
            field("write", summary.write),
            field("status", summary.status),
            field("timeout", summary.timeout),
        ]);
        let table = LuaValue::Table(vec![
            field("duration", summary.duration_us),
            field("requests", summary.requests),
            field("bytes", summary.bytes),
            (LuaValue::text("errors"), errors),
        ]);
        self.main.call(&self.shared, c"done", &[table], 0).map(drop)
    }
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    pub duration_us: u64,
    pub requests: u64,
    pub bytes: u64,
    pub connect: u64,
    pub read: u64,
    pub write: u64,
    pub status: u64,
    pub timeout: u64,
}

#[derive(Clone)]
pub struct Sources {
    shared: Arc<ScriptState>,
    hooks: Hooks,
    first: Requests,
}

impl Sources {
    #[must_use]
    pub fn hook(&self, thread: usize) -> Option<&'static str> {
        let hook = self
            .shared
            .threads
            .get(thread)?
            .hook
            .load(Ordering::Relaxed);
        HOOKS.get(usize::from(hook).checked_sub(1)?).copied()
    }

    #[must_use]
    pub fn for_thread(&self, thread: usize) -> LuaSource {
        LuaSource::new(&self.shared, thread, self.hooks, self.first.clone())
    }
}
