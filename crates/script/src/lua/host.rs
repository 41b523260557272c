//! What scripts cannot do in Lua alone, offered to the prelude: looking names up, trying addresses, reaching the other threads'
//! states, reading the figures of a finished run.

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

use engine::StopHandle;

use super::{
    Given, Machine,
    ffi::{Function, State, Value},
};

/// An address that does not answer at all is given up after this long.
const TRY: Duration = Duration::from_secs(10);

/// What all states of a run share.
pub(super) struct Shared {
    pub threads: Vec<Thread>,
    /// The figures that `done` asks for: latency, requests.
    pub figures: Mutex<Vec<Figures>>,
    /// A line to end with, which no script may stand in the way of.
    pub fatal: Mutex<Option<String>>,
    /// Why the last address that was tried could not be reached.
    pub unreachable: Mutex<Option<String>>,
    /// What a script died of while the test ran.
    pub failure: Mutex<Option<String>>,
    /// Ends the run when it does.
    pub stop: StopHandle,
}

/// The hooks that are called while the test runs.
pub(super) const HOOKS: [&str; 3] = ["request", "response", "delay"];

/// One thread of the test. Each has cache lines of its own: what one writes shall not cost the others.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Thread {
    /// Its state, while nobody runs it.
    pub machine: Mutex<Option<Machine>>,
    /// Whom it connects to.
    pub address: Mutex<Option<SocketAddr>>,
    /// Whether a script has stopped it.
    pub stopped: AtomicBool,
    /// Which of its hooks it is in: a place in [`HOOKS`], from 1; 0: none.
    pub hook: AtomicU8,
}

/// The figures of a distribution, for `done`.
pub struct Figures {
    /// The smallest value.
    pub min: f64,
    /// The largest.
    pub max: f64,
    /// The mean.
    pub mean: f64,
    /// The standard deviation.
    pub stdev: f64,
    /// What `#` answers.
    pub length: f64,
    /// The value at a percentile.
    pub percentile: Box<dyn Fn(f64) -> f64 + Send>,
    /// The nth different value, from 1, and how often it came.
    pub nth: Box<dyn Fn(usize) -> Option<(u64, u64)> + Send>,
}

impl Shared {
    pub(super) fn new(threads: usize, stop: StopHandle) -> Shared {
        let mut list = Vec::new();
        list.resize_with(threads, Thread::default);
        Shared {
            threads: list,
            figures: Mutex::default(),
            fatal: Mutex::default(),
            unreachable: Mutex::default(),
            failure: Mutex::default(),
            stop,
        }
    }

    /// A script has died: the first one is told of, and the run ends.
    #[cold]
    pub(super) fn fail(&self, why: String) {
        lock(&self.failure).get_or_insert(why);
        self.stop.fail("the script failed");
    }

    fn thread(&self, number: &Value) -> Result<&Thread, String> {
        let Value::Number(number) = number else {
            return Err("no thread".into());
        };
        self.threads
            .get(*number as usize)
            .ok_or_else(|| "no such thread".into())
    }
}

/// Locks; what a panic left behind is as good as anything.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

type Called = Result<Vec<Value>, String>;

/// The functions of a state: the main one, or a thread's own.
pub(super) fn functions(
    shared: &Arc<Shared>,
    own: Option<usize>,
) -> Vec<(&'static CStr, Function)> {
    let with = |function: fn(&Shared, Option<usize>, &State, &[Value]) -> Called| -> Function {
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
                    address.map_or(Value::Nil, |a| Value::text(&a.to_string())),
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
                Ok(vec![Value::Number(
                    (engine::clock::wall_ns() / 1000) as f64,
                )])
            }),
        ),
        (
            c"distribution",
            with(|shared, _, _, a| {
                of_figures(shared, a, |f, _| {
                    let field = |name, value| (Value::text(name), Value::Number(value));
                    vec![Value::Table(vec![
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
                of_figures(shared, a, |f, p| vec![Value::Number((f.percentile)(p))])
            }),
        ),
        (
            c"nth",
            with(|shared, _, _, a| {
                of_figures(shared, a, |f, n| {
                    let (value, count) = (f.nth)(n as usize).unwrap_or((0, 0));
                    vec![Value::Number(value as f64), Value::Number(count as f64)]
                })
            }),
        ),
    ]
}

/// What a state is told of its run.
pub(super) fn given(given: &Given) -> Value {
    let text = |name: &str, text: &str| (Value::text(name), Value::text(text));
    let headers = given.headers.iter().map(|(name, value)| text(name, value));
    let mut pairs = vec![
        text("scheme", &given.scheme),
        text("host", &given.host),
        text("service", given.port.as_deref().unwrap_or(&given.scheme)),
        text("path", &given.path),
        (Value::text("headers"), Value::Table(headers.collect())),
        (Value::text("path_more"), Value::Text(path_more(given))),
        text("json", JSON),
        text("cpath_more", &cpath_more()),
    ];
    pairs.extend(given.port.as_deref().map(|port| text("port", port)));
    Value::Table(pairs)
}

const JSON: &str = include_str!("json.lua");

/// Where a script's own modules lie: beside it; then Debian's.
fn path_more(given: &Given) -> Vec<u8> {
    let mut path = Vec::new();
    let folder = given.script.as_deref().and_then(Path::parent);
    if let Some(folder) = folder.filter(|folder| !folder.as_os_str().is_empty()) {
        let folder = folder.as_os_str().as_bytes();
        path = [b";", folder, b"/?.lua;", folder, b"/?/init.lua"].concat();
    }
    path.extend_from_slice(PATH_MORE.as_bytes());
    path
}

/// Where Debian keeps modules in Lua.
const PATH_MORE: &str = ";/usr/share/lua/5.1/?.lua;/usr/share/lua/5.1/?/init.lua";

/// Where Debian keeps modules in C.
fn cpath_more() -> String {
    format!(
        ";/usr/lib/{}-linux-gnu/lua/5.1/?.so;/usr/lib/lua/5.1/?.so",
        std::env::consts::ARCH
    )
}

fn first(arguments: &[Value]) -> &Value {
    arguments.first().unwrap_or(&Value::Nil)
}

fn text(value: Option<&Value>) -> String {
    value.and_then(Value::as_text).unwrap_or_default()
}

fn address(value: Option<&Value>) -> Result<SocketAddr, String> {
    text(value).parse().map_err(|_| "no address".to_owned())
}

fn of_figures(
    shared: &Shared,
    arguments: &[Value],
    answer: impl Fn(&Figures, f64) -> Vec<Value>,
) -> Called {
    let number = |i: usize| match arguments.get(i) {
        Some(Value::Number(n)) => *n,
        _ => 0.0,
    };
    let figures = lock(&shared.figures);
    let wanted = figures.get((number(0) as usize).wrapping_sub(1));
    Ok(wanted.map_or_else(Vec::new, |figures| answer(figures, number(1))))
}

/// A thread's global: of the state that asks, or of one that nobody runs at the moment.
fn get(shared: &Shared, own: Option<usize>, state: &State, arguments: &[Value]) -> Called {
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

fn set(shared: &Shared, own: Option<usize>, state: &State, arguments: &[Value]) -> Called {
    let name = text(arguments.get(1));
    let value = arguments.get(2).unwrap_or(&Value::Nil);
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

fn is_own(own: Option<usize>, arguments: &[Value]) -> bool {
    own.is_some_and(|own| *first(arguments) == Value::Number(own as f64))
}

fn transferable(value: &Value) -> Result<(), String> {
    match value {
        Value::Other(kind) => Err(format!("cannot transfer '{kind}' to thread")),
        Value::Table(pairs) => pairs.iter().try_for_each(|(key, value)| {
            transferable(key)?;
            transferable(value)
        }),
        _ => Ok(()),
    }
}

fn look_up(shared: &Shared, arguments: &[Value]) -> Called {
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
            let number = |i: usize| Value::Number(i as f64 + 1.0);
            let pairs = addresses
                .enumerate()
                .map(|(i, address)| (number(i), Value::text(&address.to_string())));
            Ok(vec![Value::Table(pairs.collect())])
        }
        Err(reason) => {
            // The original ends here, whatever the script would make of it.
            let line = format!("unable to resolve {name}:{service} {reason}");
            *lock(&shared.fatal) = Some(line.clone());
            Err(line)
        }
    }
}

/// A service's port: a number, or a name that the system knows.
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
        // Small containers have no such file.
        (None, "http") => Ok(80),
        (None, "https") => Ok(443),
        _ => Err("Servname not supported for ai_socktype".into()),
    }
}

fn connect(shared: &Shared, arguments: &[Value]) -> Called {
    let reached = TcpStream::connect_timeout(&address(arguments.first())?, TRY);
    if let Err(error) = &reached {
        let reason = error.to_string();
        let words = reason.split(" (os error").next().unwrap_or(&reason);
        *lock(&shared.unreachable) = Some(words.to_owned());
    }
    Ok(vec![Value::Bool(reached.is_ok())])
}
