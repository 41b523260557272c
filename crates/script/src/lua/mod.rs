//! wrk's Lua: a main state and one per thread, each of which runs the whole script; `setup`, `init`, `request`, `response`, `delay`
//! and `done` as wrk calls them. A script without hooks costs nothing while the test runs.

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

use engine::StopHandle;
use ffi::{Kept, State, Value};
pub use ffi::{flush_output, print_to_stderr};
pub use host::Figures;
use host::{HOOKS, Shared, lock};
pub use requests::Flaw;
use requests::Requests;
pub use source::LuaSource;

const PRELUDE: &str = include_str!("prelude.lua");

/// What a script is told of its run.
#[derive(Debug, Clone, Default)]
pub struct Given {
    /// Of the URL.
    pub scheme: String,
    /// Of the URL, without brackets.
    pub host: String,
    /// Of the URL, if it has one.
    pub port: Option<String>,
    /// From the path to the end of the URL.
    pub path: String,
    /// For every request.
    pub headers: Vec<(String, String)>,
    /// Everything on the command line that is no option, the URL first.
    pub arguments: Vec<String>,
    /// The script.
    pub script: Option<PathBuf>,
    /// Whether a script that does not load is refused, and not left out as wrk does it.
    pub must_load: bool,
    /// Threads.
    pub threads: usize,
}

/// Why a test cannot go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The script failed: LuaJIT's message.
    Script(String),
    /// The script does not load, and must: LuaJIT's message.
    Load(String),
    /// A name that nobody knows, or a place that nobody reaches: the line to print.
    Place(String),
    /// What the script answered is no request.
    Request(Flaw),
    /// There is no memory for another state.
    Memory,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            // wrk calls scripts without a net; these are LuaJIT's words for that.
            Trouble::Script(message) => {
                write!(f, "PANIC: unprotected error in call to Lua API ({message})")
            }
            Trouble::Load(line) | Trouble::Place(line) => f.write_str(line),
            Trouble::Request(flaw) => flaw.fmt(f),
            Trouble::Memory => f.write_str("no memory for another Lua state"),
        }
    }
}

impl std::error::Error for Trouble {}

/// Which hooks a script has, as thread 0 has them after its `init`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Hooks {
    /// It makes each request itself.
    pub request: bool,
    /// It looks at answers.
    pub response: bool,
    /// It waits before requests.
    pub delay: bool,
}

/// A state, and what is called in it.
#[derive(Debug)]
struct Machine {
    state: State,
    /// The prelude's functions.
    calls: Kept,
    /// `wrk.request`, whatever it is by then.
    usual_request: Kept,
    request: Kept,
    response: Kept,
    delay: Kept,
}

impl Machine {
    /// A state that has run the script. A script that does not load is told of and left out, as in the original.
    fn new(
        given: &Given,
        shared: &Arc<Shared>,
        own: Option<usize>,
        say: &mut dyn FnMut(&str),
    ) -> Result<Machine, Trouble> {
        let state = State::new().ok_or(Trouble::Memory)?;
        let host = state.functions(
            host::functions(shared, own),
            (c"given", &host::given(given)),
        );
        let calls = state
            .run_with(c"=wrk", PRELUDE, host)
            .map_err(Trouble::Script)?;
        let machine = Machine {
            usual_request: state.field(calls, c"request"),
            request: state.key("request"),
            response: state.key("response"),
            delay: state.key("delay"),
            calls,
            state,
        };
        if let Some(own) = own {
            machine.call(shared, c"own_thread", &[Value::Number(own as f64)], 0)?;
        }
        if let Some(script) = &given.script {
            // A path with a null in it is no path; the name that is left will not be found.
            let path = CString::new(script.as_os_str().as_bytes()).unwrap_or_default();
            if let Err(why) = machine.state.run_file(&path) {
                machine.trouble(shared)?;
                if given.must_load {
                    return Err(Trouble::Load(why));
                }
                say(&format!("{}: {why}", script.display()));
            }
        }
        Ok(machine)
    }

    fn call(
        &self,
        shared: &Shared,
        name: &std::ffi::CStr,
        arguments: &[Value],
        results: i32,
    ) -> Result<Vec<Value>, Trouble> {
        let called = self.state.call(self.calls, name, arguments, results);
        self.trouble(shared)?;
        called.map_err(Trouble::Script)
    }

    /// A name that was not found ends everything, even where a script would have gone on.
    #[allow(clippy::unused_self, reason = "asked after every call into this state")]
    fn trouble(&self, shared: &Shared) -> Result<(), Trouble> {
        match lock(&shared.fatal).clone() {
            Some(line) => Err(Trouble::Place(line)),
            None => Ok(()),
        }
    }
}

/// The states of a test.
pub struct Script {
    given: Given,
    main: Machine,
    shared: Arc<Shared>,
    hooks: Hooks,
    /// What thread 0 answered when it was asked for a request.
    first: Requests,
}

impl Script {
    /// The main state, with the script loaded. Problems that are no reason to stop go to `say`.
    ///
    /// # Errors
    /// When there is no state to be had.
    pub fn load(
        given: Given,
        stop: StopHandle,
        say: &mut dyn FnMut(&str),
    ) -> Result<Script, Trouble> {
        let shared = Arc::new(Shared::new(given.threads, stop));
        let main = Machine::new(&given, &shared, None, say)?;
        Ok(Script {
            given,
            main,
            shared,
            hooks: Hooks::default(),
            first: Requests::default(),
        })
    }

    /// Finds the addresses that accept a connection.
    ///
    /// # Errors
    /// When the name is unknown, or nobody accepts.
    pub fn resolve(&self) -> Result<(), Trouble> {
        let reached = self.main.call(&self.shared, c"resolve", &[], 1)?;
        if matches!(reached.first(), Some(Value::Number(n)) if *n > 0.0) {
            return Ok(());
        }
        let reason = lock(&self.shared.unreachable).take();
        let given = &self.given;
        Err(Trouble::Place(format!(
            "unable to connect to {}:{} {}",
            given.host,
            given.port.as_deref().unwrap_or(&given.scheme),
            reason.unwrap_or_else(|| "no address".into())
        )))
    }

    /// Makes the threads' states: each loads the script, is set up by the main one, and initialised. Thread 0 is asked for a
    /// request once, to see that it is one.
    ///
    /// # Errors
    /// When the script fails, or answers no request.
    pub fn prepare(&mut self, say: &mut dyn FnMut(&str)) -> Result<Hooks, Trouble> {
        for number in 0..self.given.threads {
            let machine = Machine::new(&self.given, &self.shared, Some(number), say)?;
            let shared = Arc::clone(&self.shared);
            let slot = &shared.threads[number].machine;
            *lock(slot) = Some(machine);
            let id = Value::Number(number as f64);
            self.main.call(&self.shared, c"setup", &[id], 0)?;
            // Out of its place while it runs: what it asks of itself it asks the state that it is called in.
            let Some(machine) = lock(slot).take() else {
                return Err(Trouble::Memory);
            };
            let prepared = self.prepare_thread(number, &machine);
            *lock(slot) = Some(machine);
            prepared?;
        }
        // Who was stopped before the test began is not: the original's threads begin with a loop that runs.
        for thread in &self.shared.threads {
            thread.stopped.store(false, Ordering::Relaxed);
        }
        Ok(self.hooks)
    }

    fn prepare_thread(&mut self, number: usize, machine: &Machine) -> Result<(), Trouble> {
        let arguments = self.given.arguments.iter().enumerate();
        let arguments = arguments.map(|(i, text)| (Value::Number(i as f64), Value::text(text)));
        let arguments = Value::Table(arguments.collect());
        machine.call(&self.shared, c"init", &[arguments], 0)?;
        if number > 0 {
            return Ok(());
        }
        let hooks = machine.call(&self.shared, c"hooks", &[], 3)?;
        let has = |i: usize| hooks.get(i) == Some(&Value::Bool(true));
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
        asked.map_err(Trouble::Script)?;
        self.first = requests::check(&bytes).map_err(Trouble::Request)?;
        Ok(())
    }

    /// What makes the threads' sources, from any thread, each once.
    #[must_use]
    pub fn sources(&self) -> Sources {
        Sources {
            shared: Arc::clone(&self.shared),
            hooks: self.hooks,
            first: self.first.clone(),
        }
    }

    /// What a script died of while the test ran.
    #[must_use]
    pub fn failure(&self) -> Option<Trouble> {
        lock(&self.shared.failure).clone().map(Trouble::Script)
    }

    /// Calls the script's `done`, if it has one.
    ///
    /// # Errors
    /// When the script fails.
    pub fn done(
        &self,
        summary: &Summary,
        latency: Figures,
        requests: Figures,
    ) -> Result<(), Trouble> {
        *lock(&self.shared.figures) = vec![latency, requests];
        let field = |name: &str, value: u64| (Value::text(name), Value::Number(value as f64));
        let errors = Value::Table(vec![
            field("connect", summary.connect),
            field("read", summary.read),
            field("write", summary.write),
            field("status", summary.status),
            field("timeout", summary.timeout),
        ]);
        let table = Value::Table(vec![
            field("duration", summary.duration_us),
            field("requests", summary.requests),
            field("bytes", summary.bytes),
            (Value::text("errors"), errors),
        ]);
        self.main.call(&self.shared, c"done", &[table], 0).map(drop)
    }
}

/// What `done` is told in whole numbers.
#[derive(Debug, Clone, Copy, Default)]
pub struct Summary {
    /// From start to end.
    pub duration_us: u64,
    /// Answers.
    pub requests: u64,
    /// Bytes read.
    pub bytes: u64,
    /// No connection.
    pub connect: u64,
    /// Reading failed.
    pub read: u64,
    /// Writing failed.
    pub write: u64,
    /// Statuses above 399.
    pub status: u64,
    /// Too slow.
    pub timeout: u64,
}

/// Makes the threads' sources.
#[derive(Clone)]
pub struct Sources {
    shared: Arc<Shared>,
    hooks: Hooks,
    first: Requests,
}

impl Sources {
    /// The hook that a thread is in.
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

    /// The source of a thread. Its state belongs to it until it is dropped.
    #[must_use]
    pub fn of(&self, thread: usize) -> LuaSource {
        LuaSource::new(&self.shared, thread, self.hooks, self.first.clone())
    }
}
