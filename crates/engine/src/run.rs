//! Runs a plan: compiles it, starts workers, and collects intervals.

use std::{
    net::IpAddr,
    rc::Rc,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize},
        mpsc,
    },
};

use measure::{Labels, Recorder, accumulator::Accumulator, cuts::Cuts, label::Registry};
use plan::{Load, Plan, Problem, Schedule, Share};

use crate::{
    collect::{Collector, Due, Sink},
    compiled::Compiled,
    driver::{
        Driver,
        scenario::ScenarioDriver,
        setup::{SetupDriver, SetupResult},
    },
    program::{HookInterest, Program, RequestStep},
    user::hook::Hooks,
};
use worker::{
    Pacer, Worker, WorkerContext, WorkerMessage, WorkerPosition,
    client::{
        HttpClientConfig,
        hosts::{Allow, Hosts},
    },
    clock::{Clock, Zero},
    lease::Lease,
    load_control::LoadControl,
    memory::Memory,
    stop::StopHandle,
    takeover::ShardTakeover,
    watchdog::{Doing, Pulse, Stuck, Watchdog},
};

/// Creates a front end's accumulator for each worker.
pub type AccumulatorMaker = Arc<dyn Fn() -> Box<dyn Accumulator> + Send + Sync>;

/// Creates a worker's driver on that worker's thread.
pub type DriverMaker = Arc<dyn Fn(DriverContext) -> Box<dyn Driver> + Send + Sync>;

/// Background workload that runs on its own workers and adds no arrivals to the load.
#[derive(Clone)]
pub struct BackgroundWork {
    /// Creates the driver of each worker.
    pub driver: DriverMaker,
    /// Number of workers.
    pub workers: usize,
    /// Creates a front end's accumulators. `None` if no front end keeps its own figures.
    pub frontend: Option<AccumulatorMaker>,
}

/// The data that a driver receives when it starts.
#[derive(Debug, Clone)]
pub struct DriverContext {
    /// Index of the worker within its group.
    pub worker: usize,
    /// This worker's share of everything that is numbered across all processes.
    pub share: Share,
    /// Settings of the HTTP client.
    pub client: HttpClientConfig,
    /// Labels known before the run.
    pub labels: Labels,
    /// Schedule of the whole run. A worker handles the arrivals of its share.
    pub schedule: Schedule,
    /// Whether this process has arrivals.
    pub arrives: bool,
}

/// Default pacing slack, in nanoseconds. It is much shorter than network delays and much longer
/// than a wake-up.
pub const PACING_SLACK_NS: u64 = 100_000;

/// Options of a run, in addition to the plan.
#[derive(Clone, Default)]
pub struct EngineOptions {
    /// Whether this process joined late and therefore has no arrivals.
    pub is_late: bool,
    /// Number of workers. `None` derives it from the planned peak.
    pub workers: Option<usize>,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Whether to trace requests and responses.
    pub trace: bool,
    /// Whether virtual users report each step, as `--once` requires.
    pub walks: bool,
    /// Time to wait for in-flight work after the last arrival. `None` means no limit.
    pub drain_ns: Option<u64>,
    /// How late a deadline may be handled to share a wake-up, in nanoseconds. `None` means
    /// [`PACING_SLACK_NS`].
    pub pacing_slack_ns: Option<u64>,
    /// Local addresses that connections use in turn.
    pub sources: Vec<IpAddr>,
    /// Handle that stops the run.
    pub stop: StopHandle,
    /// Lease that the conductor must renew. `None` if the run has no conductor.
    pub lease: Option<Lease>,
    /// Whether the load can be changed during the run. Requires scenarios in a single process.
    pub steered: bool,
    /// Whether the process may take over shares during the run.
    pub takes_over: bool,
    /// Handle for takeovers. Rejects them if the shares of the work are fixed.
    pub takeovers: ShardTakeover,
    /// Memory budget of all workers together, in bytes. `None` means no limit.
    pub memory: Option<u64>,
    /// Hosts allowed in addition to the plan's hosts.
    pub hosts: Allow,
    /// Creates a front end's accumulators.
    pub frontend: Option<AccumulatorMaker>,
    /// A front end's hooks for requests and responses.
    pub hooks: Option<Arc<dyn Hooks>>,
    /// Driver for work other than scenarios. May also replace the scenario driver.
    pub driver: Option<DriverMaker>,
    /// Work that runs alongside the load.
    pub background: Option<BackgroundWork>,
    /// Describes the current activity of a stuck worker.
    pub doing: Option<Doing>,
    /// This process's share of the run: arrivals, users and limits.
    pub share: Share,
}

/// A compiled run, ready to start.
pub struct Prepared {
    work: Compiled,
    hosts: Hosts,
    options: EngineOptions,
    workers: usize,
    driver: DriverMaker,
    background_http: plan::Http,
    load_control: Option<LoadControl>,
    takeovers: Option<ShardTakeover>,
}

/// The reason why a run failed.
#[derive(Debug)]
pub enum RunError {
    /// TLS, a thread or a runtime could not be set up.
    Setup(String),
    /// A worker died. The record contains its counts up to then.
    Worker(String),
    /// A worker is stuck and still running. It ends with the process.
    Stuck(Stuck),
    /// The caller could not write the record. The load was sent as planned up to then.
    Unrecorded(String),
}

impl std::fmt::Display for RunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            RunError::Setup(what) => f.write_str(what),
            RunError::Worker(what) => write!(f, "a worker died: {what}"),
            RunError::Stuck(stuck) => stuck.fmt(f),
            RunError::Unrecorded(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for RunError {}

impl RunError {
    /// Returns the cause, which follows "ended early by".
    #[must_use]
    pub fn by_whom(&self) -> String {
        match self {
            RunError::Setup(what) => format!("a failed setup ({what})"),
            RunError::Worker(what) => format!("a crashed worker ({what})"),
            RunError::Stuck(stuck) => stuck.by_whom(),
            RunError::Unrecorded(reason) => {
                format!("an error while writing the record ({reason})")
            }
        }
    }
}

impl Prepared {
    /// Compiles a plan. Returns all problems on failure.
    pub fn new(plan: &Plan, options: EngineOptions) -> Result<Prepared, Vec<Problem>> {
        let hooks = options.hooks.as_deref();
        let looking = hooks.map(|hooks| hooks as &dyn HookInterest);
        let mut work = Compiled::compile(plan, options.seed, looking)?;
        work.take_share(plan, options.share, options.workers)?;
        if plan.background.is_some() != options.background.is_some() {
            let text = "the plan has MQTT clients in addition to scenarios: use `loadline run` or `loadline campaign`, the only commands that support this";
            return Err(vec![Problem::anywhere(text)]);
        }
        let driver = match (&options.driver, &work.program) {
            (Some(driver), _) => Arc::clone(driver),
            (None, Some(program)) => scenario_driver(program, options.hooks.clone()),
            (None, None) => {
                let by_itself =
                    "the plan has no scenarios, and nothing else generates load: add scenarios";
                return Err(vec![Problem::anywhere(by_itself)]);
            }
        };
        let is_own = options.driver.is_none() && options.share == Share::WHOLE && !options.is_late;
        let workers = work.workers(options.workers, options.share);
        let load_control = (options.steered
            && is_own
            && plan.iterations.is_none()
            && !matches!(work.load, Load::Once))
        .then(|| LoadControl::new(&work.load, &work.schedule, work.most(plan, workers)));
        let takeovers = takeovers(&work, &options, load_control.is_some());
        Ok(Prepared {
            load_control,
            takeovers,
            hosts: Hosts::new(plan, &options.hosts),
            workers,
            background_http: plan
                .background
                .as_ref()
                .map_or_else(plan::Http::default, |background| {
                    background.http(&plan.http)
                }),
            work,
            options,
            driver,
        })
    }

    /// Runs the first scenario once instead of the load, unmeasured.
    #[must_use]
    pub fn once(mut self) -> (Prepared, SetupResult) {
        let result = SetupResult::default();
        self.takeovers = None;
        if let Some(program) = &self.work.program {
            let (test, reported) = (Copied::new(program), result.clone());
            let hooks = self.options.hooks.clone();
            self.driver = Arc::new(move |context| {
                Box::new(SetupDriver {
                    program: test.copy(),
                    settings: context.client,
                    hooks: hooks.clone(),
                    result: reported.clone(),
                })
            });
        }
        (self, result)
    }

    /// Returns the labels known before the run.
    #[must_use]
    pub fn labels(&self) -> &Labels {
        &self.work.labels
    }

    /// Returns the request steps of all scenarios in the order of their index.
    #[must_use]
    pub fn requests(&self) -> &[RequestStep] {
        self.work
            .program
            .as_ref()
            .map_or(&[], |program| &program.requests)
    }

    /// Returns the number of workers, including background workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.workers + self.options.background.as_ref().map_or(0, |b| b.workers)
    }

    /// Returns the load control. `None` if the load cannot be changed during the run.
    #[must_use]
    pub fn load_control(&self) -> Option<&LoadControl> {
        self.load_control.as_ref()
    }

    /// Returns the number of planned arrivals of this process. `None` in a closed model.
    #[must_use]
    pub fn planned(&self) -> Option<u64> {
        let total = self.options.share.of_first(self.work.schedule.total());
        (!matches!(self.work.load, Load::Closed { .. })).then_some(total)
    }

    fn due(&self) -> Due {
        let (schedule, load_control) = (self.work.schedule.clone(), self.load_control.clone());
        let takeovers = self.takeovers.clone();
        let (own, workers) = (self.options.share, self.workers);
        if self.options.is_late {
            return Box::new(|_, _| 0);
        }
        Box::new(move |worker, until| {
            if worker >= workers {
                return 0;
            }
            let position = WorkerPosition {
                index: worker,
                workers,
            };
            let share = position.part_of(own);
            let taken_over = takeovers
                .as_ref()
                .map_or(0, |takeovers| takeovers.due(&schedule, position, until));
            match &load_control {
                Some(load_control) => load_control.due_of_shard(share.index, share.of, until),
                None => taken_over + schedule.due_of_shard(share.index, share.of, until),
            }
        })
    }

    /// Runs the test. On return, the sink has received all intervals. Fails if a worker cannot be
    /// set up or dies.
    pub fn run(self, zero: Zero, sink: &mut dyn Sink) -> Result<(), RunError> {
        let setup = |what: String| RunError::Setup(what);
        let groups = self.groups().map_err(setup)?;
        let workers = self.workers();
        let registry = Registry::new(self.work.labels.clone());
        let (sender, receiver) = mpsc::channel();
        let common = self.common(zero, sender, registry.clone());
        let pulses: Vec<Arc<Pulse>> = (0..workers).map(|_| Arc::default()).collect();
        // Create the collector before the workers, so that early labels are reported with the first
        // interval.
        let collector = Collector::new(workers, registry, self.due());
        let mut threads = Vec::new();
        let places = groups
            .iter()
            .flat_map(|group| (0..group.workers).map(move |index| (group, index)));
        for (index, ((group, index_in_group), pulse)) in places.zip(&pulses).enumerate() {
            let position = WorkerPosition {
                index: index_in_group,
                workers: group.workers,
            };
            let seed = WorkerSeed {
                index,
                position,
                context: DriverContext {
                    schedule: self.work.schedule.clone(),
                    worker: position.index,
                    share: position.part_of(self.options.share),
                    client: group.client.clone(),
                    labels: self.work.labels.clone(),
                    arrives: !self.options.is_late,
                },
                options: self.options.clone(),
                common: WorkerContext {
                    pulse: Arc::clone(pulse),
                    ..common.clone()
                },
                driver: Arc::clone(&group.driver),
                frontend: group.frontend.clone(),
            };
            let thread = std::thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(move || seed.run());
            threads.push(
                thread.map_err(|e| setup(format!("cannot start a thread for a worker: {e}")))?,
            );
        }
        let lines = Arc::clone(&common.lines);
        drop(common);
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

impl Prepared {
    fn common(
        &self,
        zero: Zero,
        messages: mpsc::Sender<WorkerMessage>,
        labels: Registry,
    ) -> WorkerContext {
        WorkerContext {
            zero,
            stop: self.options.stop.clone(),
            lease: self.options.lease.clone(),
            load_control: self.load_control.clone(),
            takeovers: self.takeovers.clone(),
            messages,
            lines: Arc::new(AtomicUsize::new(0)),
            users: Arc::new(AtomicU64::new(0)),
            share: self.options.share,
            trace: self.options.trace,
            walks: self.options.walks,
            drain_ns: self.options.drain_ns,
            pacing_slack_ns: self.options.pacing_slack_ns.unwrap_or(PACING_SLACK_NS),
            labels,
            pulse: Arc::default(),
        }
    }
}

struct WorkerGroup {
    workers: usize,
    driver: DriverMaker,
    client: HttpClientConfig,
    frontend: Option<AccumulatorMaker>,
}

impl Prepared {
    fn groups(&self) -> Result<Vec<WorkerGroup>, String> {
        let travels = |http: &plan::Http| {
            let sources = self.options.sources.clone();
            HttpClientConfig::new(http, self.hosts.clone(), sources)
        };
        let mut client = travels(&self.work.http)?;
        client.origins.clone_from(&self.work.origins);
        let mut groups = vec![WorkerGroup {
            workers: self.workers,
            driver: Arc::clone(&self.driver),
            client,
            frontend: self.options.frontend.clone(),
        }];
        if let Some(background) = &self.options.background {
            groups.push(WorkerGroup {
                workers: background.workers,
                driver: Arc::clone(&background.driver),
                client: travels(&self.background_http)?,
                frontend: background.frontend.clone(),
            });
        }
        Ok(groups)
    }
}

/// Returns the driver for scenarios. Each worker has a copy of the program.
fn scenario_driver(program: &Program, hooks: Option<Arc<dyn Hooks>>) -> DriverMaker {
    let test = Copied::new(program);
    Arc::new(move |context| {
        Box::new(ScenarioDriver {
            program: test.copy(),
            settings: context.client,
            hooks: hooks.clone(),
        })
    })
}

/// A compiled program that each worker clones before the start.
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

/// Lowers the collector's priority, so that it does not delay the workers.
fn lower_priority() {
    let thread = rustix::thread::gettid();
    let _ = rustix::process::setpriority_process(Some(thread), 10);
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|s| (*s).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "without a word".to_owned())
}

struct WorkerSeed {
    index: usize,
    position: WorkerPosition,
    context: DriverContext,
    options: EngineOptions,
    common: WorkerContext,
    driver: DriverMaker,
    frontend: Option<AccumulatorMaker>,
}

impl WorkerSeed {
    fn run(self) -> Result<(), RunError> {
        let pulse = Arc::clone(&self.common.pulse);
        pulse.begin();
        let _end = EndOfPulse(pulse);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build_local(tokio::runtime::LocalOptions::default())
            .map_err(|e| RunError::Setup(format!("cannot create a runtime for a worker: {e}")))?;
        let zero = self.common.zero;
        let clock = Clock::system(zero);
        let schedule = &self.context.schedule;
        let cuts = Cuts::new(zero.wall_ns, schedule.phase_ends())
            .with_arrivals_at_ends(schedule.has_arrivals_at_ends());
        let frontend = self.frontend.as_ref().map(|make| make());
        let recorder = Recorder::new(self.index, cuts, self.context.labels.all().len(), frontend);
        let share = self
            .options
            .memory
            .map(|all| all / self.position.workers as u64);
        let worker = Rc::new(Worker::new(
            self.position,
            self.options.seed,
            clock,
            recorder,
            Memory::new(share.unwrap_or(u64::MAX)),
            self.common,
        ));
        let driver = (self.driver)(self.context);
        let result = runtime.block_on(async {
            let pacer = Pacer::new(worker.common.pacing_slack_ns)?;
            pacer.start(&worker).await?;
            let work = tokio::task::spawn_local(driver.run(Rc::clone(&worker)));
            pacer.run(&worker, || work.is_finished()).await?;
            match work.await {
                Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
                _ => Ok(()),
            }
        });
        worker.finish();
        // Do not wait for a pending name lookup, which may block its thread for a long time.
        runtime.shutdown_background();
        result.map_err(|e: std::io::Error| RunError::Setup(format!("the kernel's timer: {e}")))
    }
}

struct EndOfPulse(Arc<Pulse>);

impl Drop for EndOfPulse {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Returns the takeovers of a run. `None` unless it runs scenarios by a schedule that cannot change
/// during the run.
fn takeovers(work: &Compiled, options: &EngineOptions, is_steered: bool) -> Option<ShardTakeover> {
    let is_own = options.driver.is_none() && work.program.is_some() && !options.is_late;
    let arrives = matches!(work.load, Load::Open { .. });
    (options.takes_over && is_own && arrives && !is_steered).then(|| {
        options.takeovers.open(options.share, &work.schedule);
        options.takeovers.clone()
    })
}
