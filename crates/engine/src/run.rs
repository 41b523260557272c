//! A run from a plan to its last interval: compile, start the workers, collect, join.

use std::{
    net::IpAddr,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize},
        mpsc,
    },
};

use measure::{Labels, Recorder, cuts::Cuts, door::Door};
use plan::{Load, Plan, Pool, Problem, Schedule};

use crate::{
    client::{
        Settings,
        hosts::{Allow, Hosts},
    },
    clock::{Clock, Zero},
    collect::{Collector, Sink},
    driver::{
        Driver,
        scenario::ScenarioDriver,
        setup::{SetupDriver, SetupResult},
    },
    memory::Memory,
    pacer::Pacer,
    program::Program,
    stop::StopHandle,
    watchdog::{Doing, Pulse, Stuck, Watchdog},
    worker::{Common, Worker},
};

/// Requests per second that one worker is trusted with before a second one is started.
const PER_WORKER: f64 = 15_000.0;

/// Makes a front door's accumulator for each worker.
pub type DoorMaker = Arc<dyn Fn() -> Box<dyn Door> + Send + Sync>;

/// Makes the driver of a worker, on its own thread: (worker's number, what a client of its needs).
pub type DriverMaker = Arc<dyn Fn(usize, Settings) -> Box<dyn Driver> + Send + Sync>;

/// How to run, beside what the plan says.
#[derive(Clone, Default)]
pub struct Options {
    /// Number of workers; none: as many as the planned peak needs.
    pub workers: Option<usize>,
    /// The seed of everything random.
    pub seed: u64,
    /// Whether requests and answers are shown.
    pub trace: bool,
    /// How long what is under way may go on after the last arrival; none: for ever.
    pub drain_ns: Option<u64>,
    /// Local addresses to connect from, in turn.
    pub sources: Vec<IpAddr>,
    /// Tells the run to end.
    pub stop: StopHandle,
    /// What all workers together may spend on waiting users, kept bodies and captured values, in bytes; none: no limit.
    pub memory: Option<u64>,
    /// Which hosts are allowed beside those that the plan names.
    pub hosts: Allow,
    /// A front door's own books.
    pub door: Option<DoorMaker>,
    /// Says what a worker is in the middle of, should it not come back.
    pub doing: Option<Doing>,
}

/// A compiled run that can be started.
pub struct Prepared {
    program: Program,
    hosts: Hosts,
    options: Options,
    workers: usize,
    driver: DriverMaker,
}

/// Why a run could not be carried through.
#[derive(Debug)]
pub enum RunError {
    /// TLS, a thread or a runtime could not be set up.
    Setup(String),
    /// A worker died; what it had counted until then is in the record.
    Worker(String),
    /// A worker did not come back from what it was carrying out, and still runs: it ends with the process.
    Stuck(Stuck),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Setup(what) => f.write_str(what),
            RunError::Worker(what) => write!(f, "a worker died: {what}"),
            RunError::Stuck(stuck) => stuck.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl RunError {
    /// Who ended the run by it, to stand behind "ended early by".
    #[must_use]
    pub fn by_whom(&self) -> String {
        match self {
            RunError::Setup(what) => format!("a set-up that failed ({what})"),
            RunError::Worker(what) => format!("a worker that died ({what})"),
            RunError::Stuck(stuck) => stuck.by_whom(),
        }
    }
}

impl Prepared {
    /// Compiles a plan for the scenario driver.
    ///
    /// # Errors
    /// Everything that keeps the plan from running.
    pub fn new(plan: &Plan, options: Options) -> Result<Prepared, Vec<Problem>> {
        let program = Program::compile(plan, options.seed)?;
        let workers = options
            .workers
            .unwrap_or_else(|| usual_workers(program.peak_requests(plan)))
            .max(1);
        let workers = match (&program.http.pool, &program.load) {
            // A worker without a connection or a user would have nothing to do.
            (Pool::Shared(n), _) => workers.min(*n as usize),
            (_, Load::Closed { users, .. }) => workers.min(*users as usize),
            (_, Load::Once) => 1,
            _ => workers,
        };
        // Each worker has a copy of its own: nothing on the hot path is shared between cores.
        let test = Copied::new(&program);
        let driver: DriverMaker = Arc::new(move |_, settings| {
            Box::new(ScenarioDriver {
                program: test.copy(),
                settings,
            })
        });
        Ok(Prepared {
            hosts: Hosts::of(plan, &options.hosts),
            program,
            options,
            workers: workers.max(1),
            driver,
        })
    }

    /// Has another driver do the work.
    #[must_use]
    pub fn with_driver(mut self, driver: DriverMaker) -> Prepared {
        self.driver = driver;
        self
    }

    /// Has the first scenario carried out once instead, outside all books.
    #[must_use]
    pub fn once(mut self) -> (Prepared, SetupResult) {
        let result = SetupResult::default();
        let (test, told) = (Copied::new(&self.program), result.clone());
        self.driver = Arc::new(move |_, settings| {
            Box::new(SetupDriver {
                program: test.copy(),
                settings,
                result: told.clone(),
            })
        });
        (self, result)
    }

    /// The labels of the run.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.program.labels
    }

    /// The compiled test.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// How many workers there will be.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers
    }

    /// The number of planned arrivals; none for a closed model.
    #[must_use]
    pub fn planned(&self) -> Option<u64> {
        (!matches!(self.program.load, Load::Closed { .. })).then(|| self.program.schedule.total())
    }

    /// Runs the test from its zero on; the sink hears of every interval, and has heard of all when this returns.
    ///
    /// # Errors
    /// When the run could not be set up, or a worker died.
    pub fn run(self, zero: Zero, sink: &mut dyn Sink) -> Result<(), RunError> {
        let setup = |what: String| RunError::Setup(what);
        let mut settings = Settings::new(
            &self.program.http,
            self.hosts.clone(),
            self.options.sources.clone(),
        )
        .map_err(setup)?;
        settings.origins.clone_from(&self.program.origins);
        let (sender, receiver) = mpsc::channel();
        let common = Common {
            zero,
            stop: self.options.stop.clone(),
            messages: sender,
            lines: Arc::new(AtomicUsize::new(0)),
            users: Arc::new(AtomicU64::new(0)),
            trace: self.options.trace,
            drain_ns: self.options.drain_ns,
            pulse: Arc::default(),
        };
        let pulses: Vec<Arc<Pulse>> = (0..self.workers).map(|_| Arc::default()).collect();
        let mut threads = Vec::new();
        for (index, pulse) in pulses.iter().enumerate() {
            let seed = WorkerSeed {
                index,
                workers: self.workers,
                schedule: self.program.schedule.clone(),
                labels: self.program.labels.all().len(),
                options: self.options.clone(),
                common: Common {
                    pulse: Arc::clone(pulse),
                    ..common.clone()
                },
                settings: settings.clone(),
                driver: Arc::clone(&self.driver),
            };
            let thread = std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || seed.run());
            threads.push(thread.map_err(|e| setup(format!("no thread for a worker: {e}")))?);
        }
        let lines = Arc::clone(&common.lines);
        drop(common);
        let schedule = self.program.schedule.clone();
        let of = self.workers as u64;
        let due = move |worker: usize, until| schedule.due_of_shard(worker as u64, of, until);
        let collector = Collector::new(self.workers, &self.program.labels, Box::new(due));
        let watchdog = Watchdog::new(
            pulses,
            self.options.stop.clone(),
            self.options.doing.clone(),
        );
        let stuck = std::thread::scope(|scope| {
            let collecting = scope.spawn(move || {
                lower_priority();
                collector.run(&receiver, &lines, &Clock::system(zero), watchdog, sink)
            });
            collecting.join()
        });
        let stuck = stuck.map_err(|panic| RunError::Worker(panic_text(panic.as_ref())))?;
        let mut result = stuck
            .first()
            .cloned()
            .map_or(Ok(()), |s| Err(RunError::Stuck(s)));
        for (number, thread) in threads.into_iter().enumerate() {
            if stuck.iter().any(|stuck| stuck.worker == number) {
                // It goes with the process.
                continue;
            }
            match thread.join() {
                Ok(Ok(())) => {}
                Ok(Err(e)) => result = Err(e),
                Err(panic) => result = Err(RunError::Worker(panic_text(panic.as_ref()))),
            }
        }
        result
    }
}

/// A compiled test of which each worker takes its copy before anything is sent.
struct Copied(Mutex<Program>);

impl Copied {
    fn new(program: &Program) -> Copied {
        Copied(Mutex::new(program.clone()))
    }

    fn copy(&self) -> Program {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// One per core once the planned peak asks for more than one.
fn usual_workers(peak: f64) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if peak > PER_WORKER { cores } else { 1 }
}

/// Encoding a record must never delay a request: on a busy machine the collector waits.
fn lower_priority() {
    let thread = rustix::thread::gettid();
    // Not being allowed to is no reason to stop.
    let _ = rustix::process::setpriority_process(Some(thread), 10);
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a word".to_owned())
}

/// What a worker's thread needs to begin.
struct WorkerSeed {
    index: usize,
    workers: usize,
    schedule: Schedule,
    labels: usize,
    options: Options,
    common: Common,
    settings: Settings,
    driver: DriverMaker,
}

impl WorkerSeed {
    fn run(self) -> Result<(), RunError> {
        let pulse = Arc::clone(&self.common.pulse);
        pulse.begin();
        // However this thread ends, nobody waits for it behind that.
        let _end = EndOfPulse(pulse);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build_local(tokio::runtime::LocalOptions::default())
            .map_err(|e| RunError::Setup(format!("no runtime for a worker: {e}")))?;
        let zero = self.common.zero;
        let clock = Clock::system(zero);
        let schedule = &self.schedule;
        let cuts = Cuts::new(zero.wall_ns, schedule.phase_ends())
            .with_arrivals_at_ends(schedule.has_arrivals_at_ends());
        let door = self.options.door.as_ref().map(|make| make());
        let recorder = Recorder::new(self.index, cuts, self.labels, door);
        let share = self.options.memory.map(|all| all / self.workers as u64);
        let worker = Rc::new(Worker::new(
            (self.index, self.workers),
            self.options.seed,
            clock,
            recorder,
            Memory::of(share.unwrap_or(u64::MAX)),
            self.common,
        ));
        let driver = (self.driver)(self.index, self.settings);
        let result = runtime.block_on(async {
            let pacer = Pacer::new()?;
            pacer.start(&worker).await?;
            let work = tokio::task::spawn_local(driver.run(Rc::clone(&worker)));
            pacer.run(&worker, || work.is_finished()).await?;
            match work.await {
                Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
                _ => Ok(()),
            }
        });
        worker.finish();
        // A name that is still being looked up keeps a thread for as long as the resolver likes; nobody waits for it.
        runtime.shutdown_background();
        result.map_err(|e: std::io::Error| RunError::Setup(format!("the kernel's timer: {e}")))
    }
}

/// Tells the watchdog that a worker is over, also where it dies.
struct EndOfPulse(Arc<Pulse>);

impl Drop for EndOfPulse {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Raises the limit on open files to what the kernel allows; answers how many that is.
#[must_use]
pub fn raise_descriptors() -> Option<u64> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    getrlimit(Resource::Nofile).current
}
