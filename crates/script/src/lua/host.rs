//! Functions that wrk's prelude needs and Lua lacks: name lookup, connecting, access to the states
//! of other threads, and figures of a finished run.

use std::{
    ffi::CStr,
    net::{SocketAddr, TcpStream, ToSocketAddrs},
    os::unix::ffi::OsStrExt,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    time::Duration,
};

use worker::stop::StopHandle;

use super::{
    Machine, ScriptContext,
    ffi::{Function, LuaState, LuaValue},
};

const TRY: Duration = Duration::from_secs(10);

pub(super) struct ScriptState {
    pub threads: Vec<Thread>,
    /// Figures for the script's `done` function: latencies, then requests.
    pub figures: Mutex<Vec<DistributionFigures>>,
    pub fatal: Mutex<Option<String>>,
    pub unreachable: Mutex<Option<String>>,
    pub failure: Mutex<Option<String>>,
    pub stop: StopHandle,
}

pub(super) const HOOKS: [&str; 3] = ["request", "response", "delay"];

#[derive(Default)]
#[repr(align(128))]
pub(super) struct Thread {
    /// State of the thread. `None` while it is running.
    pub machine: Mutex<Option<Machine>>,
    pub address: Mutex<Option<SocketAddr>>,
    pub stopped: AtomicBool,
    /// Index of the running hook in [`HOOKS`], counted from 1. 0 means that none is running.
    pub hook: AtomicU8,
}

pub struct DistributionFigures {
    pub min: f64,
    pub max: f64,
    pub mean: f64,
    pub stdev: f64,
    pub length: f64,
    pub percentile: Box<dyn Fn(f64) -> f64 + Send>,
    /// Returns the nth distinct value, counted from 1, and its count.
    pub nth: Box<dyn Fn(usize) -> Option<(u64, u64)> + Send>,
}

impl ScriptState {
    pub(super) fn new(threads: usize, stop: StopHandle) -> ScriptState {
        let mut list = Vec::new();
        list.resize_with(threads, Thread::default);
        ScriptState {
            threads: list,
            figures: Mutex::default(),
            fatal: Mutex::default(),
            unreachable: Mutex::default(),
            failure: Mutex::default(),
            stop,
        }
    }

    #[cold]
    pub(super) fn fail(&self, cause: String) {
        lock(&self.failure).get_or_insert(cause);
        self.stop.fail("the script failed");
    }

    fn thread(&self, number: &LuaValue) -> Result<&Thread, String> {
        let LuaValue::Number(number) = number else {
            return Err("no thread".into());
        };
        self.threads
            .get(*number as usize)
            .ok_or_else(|| "no such thread".into())
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Called = Result<Vec<LuaValue>, String>;

/// Creates the functions of the main state or of a thread's state.
pub(super) fn functions(
    shared: &Arc<ScriptState>,
    own: Option<usize>,
) -> Vec<(&'static CStr, Function)> {
    let with =
        |function: fn(&ScriptState, Option<usize>, &LuaState, &[LuaValue]) -> Called| -> Function {
            let shared = Arc::clone(shared);
            Box::new(move |state, arguments| function(&shared, own, state, &arguments))
        };
    vec![
        (c"lookup", with(|shared, _, _, a| look_up(shared, a))),
        (c"connect", with(|shared, _, _, a| connect(shared, a))),
        (c"get", with(get)),
        (c"set", with(set)),
        (
            c"stop",
            with(|shared, _, _, a| {
                shared
                    .thread(first(a))?
                    .stopped
                    .store(true, Ordering::Relaxed);
                Ok(Vec::new())
            }),
        ),
        (
            c"address",
            with(|shared, _, _, a| {
                let address = *lock(&shared.thread(first(a))?.address);
                Ok(vec![
                    address.map_or(LuaValue::Nil, |a| LuaValue::text(&a.to_string())),
                ])
            }),
        ),
        (
            c"move",
            with(|shared, _, _, a| {
                *lock(&shared.thread(first(a))?.address) = Some(address(a.get(1))?);
                Ok(Vec::new())
            }),
        ),
        (
            c"time_us",
            with(|_, _, _, _| {
                Ok(vec![LuaValue::Number(
                    (worker::clock::wall_ns() / 1000) as f64,
                )])
            }),
        ),
        (
            c"distribution",
            with(|shared, _, _, a| {
                of_figures(shared, a, |f, _| {
                    let field = |name, value| (LuaValue::text(name), LuaValue::Number(value));
                    vec![LuaValue::Table(vec![
                        field("min", f.min),
                        field("max", f.max),
                        field("mean", f.mean),
                        field("stdev", f.stdev),
                        field("length", f.length),
                    ])]
                })
            }),
        ),
        (
            c"percentile",
            with(|shared, _, _, a| {
                of_figures(shared, a, |f, p| vec![LuaValue::Number((f.percentile)(p))])
            }),
        ),
        (
            c"nth",
            with(|shared, _, _, a| {
                of_figures(shared, a, |f, n| {
                    let (value, count) = (f.nth)(n as usize).unwrap_or((0, 0));
                    vec![
                        LuaValue::Number(value as f64),
                        LuaValue::Number(count as f64),
                    ]
                })
            }),
        ),
    ]
}

pub(super) fn context(context: &ScriptContext) -> LuaValue {
    let text = |name: &str, text: &str| (LuaValue::text(name), LuaValue::text(text));
    let headers = context
        .headers
        .iter()
        .map(|(name, value)| text(name, value));
    let mut pairs = vec![
        text("scheme", &context.scheme),
        text("host", &context.host),
        text(
            "service",
            context.port.as_deref().unwrap_or(&context.scheme),
        ),
        text("path", &context.path),
        (
            LuaValue::text("headers"),
            LuaValue::Table(headers.collect()),
        ),
        (
            LuaValue::text("path_more"),
            LuaValue::Text(path_more(context)),
        ),
        text("json", JSON),
        text("cpath_more", &cpath_more()),
    ];
    pairs.extend(context.port.as_deref().map(|port| text("port", port)));
    LuaValue::Table(pairs)
}

const JSON: &str = include_str!("json.lua");

fn path_more(context: &ScriptContext) -> Vec<u8> {
    let mut path = Vec::new();
    let folder = context.script.as_deref().and_then(Path::parent);
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        let folder = folder.as_os_str().as_bytes();
        path = [b";", folder, b"/?.lua;", folder, b"/?/init.lua"].concat();
    }
    path.extend_from_slice(PATH_MORE.as_bytes());
    path
}

const PATH_MORE: &str = ";/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua";

fn cpath_more() -> String {
    format!(
        ";/usr/lib/{}-linux-gnu/lua/5.1/?.so;/usr/lib/lua/5.1/?.so",
        std::env::consts::ARCH
    )
}

fn first(arguments: &[LuaValue]) -> &LuaValue {
    arguments.first().unwrap_or(&LuaValue::Nil)
}

fn text(value: Option<&LuaValue>) -> String {
    value.and_then(LuaValue::as_text).unwrap_or_default()
}

fn address(value: Option<&LuaValue>) -> Result<SocketAddr, String> {
    text(value).parse().map_err(|_| "no address".to_owned())
}

fn of_figures(
    shared: &ScriptState,
    arguments: &[LuaValue],
    answer: impl Fn(&DistributionFigures, f64) -> Vec<LuaValue>,
) -> Called {
    let number = |i: usize| match arguments.get(i) {
        Some(LuaValue::Number(n)) => *n,
        _ => 0.0,
    };
    let figures = lock(&shared.figures);
    let wanted = figures.get((number(0) as usize).wrapping_sub(1));
    Ok(wanted.map_or_else(Vec::new, |figures| answer(figures, number(1))))
}

/// Reads a global of a thread, from the calling state or from a state that is not running.
fn get(
    shared: &ScriptState,
    own: Option<usize>,
    state: &LuaState,
    arguments: &[LuaValue],
) -> Called {
    let name = text(arguments.get(1));
    let value = if is_own(own, arguments) {
        state.get_global(&name)
    } else {
        let machine = lock(&shared.thread(first(arguments))?.machine);
        machine.as_ref().ok_or(RUNNING)?.state.get_global(&name)
    };
    transferable(&value)?;
    Ok(vec![value])
}

fn set(
    shared: &ScriptState,
    own: Option<usize>,
    state: &LuaState,
    arguments: &[LuaValue],
) -> Called {
    let name = text(arguments.get(1));
    let value = arguments.get(2).unwrap_or(&LuaValue::Nil);
    transferable(value)?;
    if is_own(own, arguments) {
        state.set_global(&name, value);
    } else {
        let machine = lock(&shared.thread(first(arguments))?.machine);
        machine
            .as_ref()
            .ok_or(RUNNING)?
            .state
            .set_global(&name, value);
    }
    Ok(Vec::new())
}

const RUNNING: &str = "the thread is running";

fn is_own(own: Option<usize>, arguments: &[LuaValue]) -> bool {
    own.is_some_and(|own| *first(arguments) == LuaValue::Number(own as f64))
}

fn transferable(value: &LuaValue) -> Result<(), String> {
    match value {
        LuaValue::Other(kind) => Err(format!("cannot transfer '{kind}' to thread")),
        LuaValue::Table(pairs) => pairs.iter().try_for_each(|(key, value)| {
            transferable(key)?;
            transferable(value)
        }),
        _ => Ok(()),
    }
}

fn look_up(shared: &ScriptState, arguments: &[LuaValue]) -> Called {
    let (name, service) = (text(arguments.first()), text(arguments.get(1)));
    let found = port_of(&service).and_then(|port| {
        let found = (name.as_str(), port).to_socket_addrs();
        found.map_err(|e| {
            let reason = e.to_string();
            let known = reason.strip_prefix("failed to lookup address information: ");
            known.unwrap_or(&reason).to_owned()
        })
    });
    match found {
        Ok(addresses) => {
            let number = |i: usize| LuaValue::Number(i as f64 + 1.0);
            let pairs = addresses
                .enumerate()
                .map(|(i, address)| (number(i), LuaValue::text(&address.to_string())));
            Ok(vec![LuaValue::Table(pairs.collect())])
        }
        Err(reason) => {
            // wrk exits here, regardless of how the script handles the error.
            let line = format!("unable to resolve {name}:{service} {reason}");
            *lock(&shared.fatal) = Some(line.clone());
            Err(line)
        }
    }
}

fn port_of(service: &str) -> Result<u16, String> {
    if let Ok(port) = service.parse() {
        return Ok(port);
    }
    let known = std::fs::read_to_string("/etc/services").unwrap_or_default();
    let listed = known.lines().find_map(|line| {
        let mut words = line.split('#').next()?.split_whitespace();
        let (name, port) = (words.next()?, words.next()?.strip_suffix("/tcp")?);
        let is_it = name == service || words.any(|alias| alias == service);
        is_it.then(|| port.parse().ok()).flatten()
    });
    match (listed, service.to_ascii_lowercase().as_str()) {
        (Some(port), _) => Ok(port),
        // Small containers lack the file that lists services.
        (None, "http") => Ok(80),
        (None, "https") => Ok(443),
        _ => Err("Servname not supported for ai_socktype".into()),
    }
}

fn connect(shared: &ScriptState, arguments: &[LuaValue]) -> Called {
    let reached = TcpStream::connect_timeout(&address(arguments.first())?, TRY);
    if let Err(error) = &reached {
        let reason = error.to_string();
        let words = reason.split(" (os error").next().unwrap_or(&reason);
        *lock(&shared.unreachable) = Some(words.to_owned());
    }
    Ok(vec![LuaValue::Bool(reached.is_ok())])
}
