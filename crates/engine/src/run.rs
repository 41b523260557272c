//! Running of a plan: compiles it, starts workers, and collects intervals.

mod error;
mod options;
mod worker_thread;

use std::sync::{Arc, Mutex, PoisonError, atomic::AtomicUsize, mpsc};

use measure::{Labels, accumulator::NamedCounts, label::Registry};
use plan::{Load, Plan, Problem, Share};

pub use error::RunError;
pub use options::{
    AccumulatorMaker, BackgroundWork, DriverContext, DriverMaker, DueArrivals, EngineOptions,
    PACING_SLACK_NS, RunRole,
};

use crate::{
    collect::{Collector, Due, Sink},
    compiled::Compiled,
    driver::{
        listen::ListenDriver,
        scenario::ScenarioDriver,
        setup::{SetupDriver, SetupResult},
    },
    program::{CompiledLoad, HookInterest, Program, RequestStep},
    publications::Publications,
    user::hook::Hooks,
};
use worker::{
    WorkerContext, WorkerMessage, WorkerPosition,
    client::{HttpClientConfig, hosts::Hosts},
    clock::{Clock, Zero},
    load_control::LoadControl,
    takeover::ShardTakeover,
    watchdog::{Pulse, Watchdog},
};
use worker_thread::WorkerSeed;

/// A compiled run, ready to start.
pub struct Prepared {
    work: Compiled,
    hosts: Hosts,
    options: EngineOptions,
    workers: usize,
    driver: DriverMaker,
    background_http: plan::Http,
    /// Number of workers for listeners.
    listening: usize,
    load_control: Option<LoadControl>,
    takeovers: Option<ShardTakeover>,
}

impl Prepared {
    /// Compiles a plan. On failure, returns all problems.
    pub fn new(plan: &Plan, options: EngineOptions) -> Result<Prepared, Vec<Problem>> {
        let hooks = options.hooks.as_deref();
        let looking = hooks.map(|hooks| hooks as &dyn HookInterest);
        let mut work = Compiled::compile(plan, options.seed, looking)?;
        work.take_share(plan, options.share, options.workers)?;
        if plan.background.is_some() != options.background.is_some() {
            let text = "the plan has MQTT clients in addition to scenarios: use `loadline run` or `loadline campaign`, the only commands that support this";
            return Err(vec![Problem::anywhere(text)]);
        }
        if plan.listen.is_some() && options.driver.is_some() {
            let text = "listeners (`listen:`) need scenarios that publish: use `loadline run`";
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
        let is_own = options.driver.is_none() && options.share == Share::WHOLE;
        let workers = work.workers(options.workers, options.share);
        let load_control = (options.role == RunRole::Steered
            && is_own
            && plan.iterations.is_none()
            && !matches!(work.load, Load::Once | Load::Several { .. }))
        .then(|| LoadControl::new(&work.load, &work.schedule, work.most(plan, workers)));
        let listening = listening_workers(plan, &options);
        let takeovers = takeovers(&work, &options);
        Ok(Prepared {
            load_control,
            takeovers,
            hosts: Hosts::new(plan, &options.hosts),
            workers,
            listening,
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

    /// Runs the first scenario once instead of the load, without measuring it.
    #[must_use]
    pub fn once(mut self) -> (Prepared, SetupResult) {
        let result = SetupResult::default();
        self.takeovers = None;
        self.listening = 0;
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

    /// Returns the request steps of all scenarios, ordered by index.
    #[must_use]
    pub fn requests(&self) -> &[RequestStep] {
        self.work
            .program
            .as_ref()
            .map_or(&[], |program| &program.requests)
    }

    /// Returns the number of workers, including those for background work and listeners.
    #[must_use]
    pub fn workers(&self) -> usize {
        let background = self.options.background.as_ref().map_or(0, |b| b.workers);
        self.workers + background + self.listening
    }

    /// Returns the load control. `None` if the load cannot be changed during the run.
    #[must_use]
    pub fn load_control(&self) -> Option<&LoadControl> {
        self.load_control.as_ref()
    }

    /// Returns the number of planned arrivals of this process. `None` in a closed model.
    #[must_use]
    pub fn planned(&self) -> Option<u64> {
        if let Load::Several { workloads } = &self.work.load {
            let open = self.loads().zip(workloads).filter(|(_, own)| own.is_open());
            return open
                .map(|(load, _)| load.schedule.total())
                .reduce(|sum, own| sum + own);
        }
        let total = self.options.share.of_first(self.work.schedule.total());
        match &self.work.load {
            Load::Open { .. } | Load::Once => Some(total),
            Load::Closed { .. } | Load::Several { .. } => None,
        }
    }

    /// Returns the compiled workloads. Empty unless the plan has several workloads of scenarios.
    fn loads(&self) -> impl Iterator<Item = &CompiledLoad> {
        let is_several = matches!(self.work.load, Load::Several { .. });
        let program = self.work.program.iter().filter(move |_| is_several);
        program.flat_map(|program| &program.loads)
    }

    fn due(&self) -> Due {
        let (schedule, load_control) = (self.work.schedule.clone(), self.load_control.clone());
        let takeovers = self.takeovers.clone();
        let (own, workers) = (self.options.share, self.workers);
        if self.options.role == RunRole::Late {
            return Box::new(|_, _| 0);
        }
        if let Some(due) = self.options.due.clone() {
            return Box::new(move |worker, until| due(worker, until));
        }
        let loads: Vec<CompiledLoad> = self.loads().cloned().collect();
        Box::new(move |worker, until| {
            if worker >= workers {
                return 0;
            }
            let position = WorkerPosition {
                index: worker,
                workers,
            };
            let share = position.part_of(own);
            if !loads.is_empty() {
                return loads.iter().map(|load| load.due(share, until)).sum();
            }
            let taken_over = takeovers
                .as_ref()
                .map_or(0, |takeovers| takeovers.due(&schedule, position, until));
            match &load_control {
                Some(load_control) => load_control.due_of_shard(share.index, share.of, until),
                None => taken_over + schedule.due_of_shard(share.index, share.of, until),
            }
        })
    }

    /// Runs the test. When it returns, the sink has received all intervals. Fails if a worker
    /// cannot be set up or dies.
    pub fn run(self, zero: Zero, sink: &mut dyn Sink) -> Result<(), RunError> {
        let setup = |what: String| RunError::Setup(what);
        let publications = self.publications(zero);
        let groups = self.groups().map_err(setup)?;
        let workers = self.workers();
        let registry = Registry::new(self.work.labels.clone());
        let (sender, receiver) = mpsc::channel();
        let common = self.common(zero, sender, registry.clone());
        let pulses: Vec<Arc<Pulse>> = (0..workers).map(|_| Arc::default()).collect();
        // Create the collector before the workers, so that the first interval includes early
        // labels.
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
                    arrives: self.options.role != RunRole::Late,
                    publications: publications.clone(),
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
    /// Returns the list to which the scenarios' workers add their publications. `None` without
    /// listeners.
    fn publications(&self, zero: Zero) -> Option<Arc<Publications>> {
        let random = self.options.seed.rotate_left(32) ^ zero.wall_ns;
        let mixed = random.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (self.listening > 0).then(|| Arc::new(Publications::new(mixed, self.workers)))
    }

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
        if let Some(program) = self.work.program.as_ref().filter(|_| self.listening > 0) {
            groups.push(WorkerGroup {
                workers: self.listening,
                driver: listen_driver(program),
                client: groups[0].client.clone(),
                frontend: Some(Arc::new(|| Box::new(NamedCounts::default()))),
            });
        }
        Ok(groups)
    }
}

/// Returns a maker of scenario drivers. Each worker gets a copy of the program.
fn scenario_driver(program: &Program, hooks: Option<Arc<dyn Hooks>>) -> DriverMaker {
    let test = Copied::new(program);
    Arc::new(move |context| {
        Box::new(ScenarioDriver {
            program: test.copy(),
            settings: context.client,
            hooks: hooks.clone(),
            publications: context.publications,
        })
    })
}

/// Returns a maker of listener drivers.
fn listen_driver(program: &Program) -> DriverMaker {
    let test = Copied::new(program);
    Arc::new(move |context| {
        Box::new(ListenDriver {
            program: test.copy(),
            settings: context.client,
            publications: context.publications,
        })
    })
}

/// Deliveries per second above which listeners use all cores.
const DELIVERIES_OF_WORKER: f64 = 100_000.0;

/// Returns the number of workers for the plan's listeners: as requested, or one per core if a
/// single worker cannot receive the planned peak. Returns 0 without listeners.
fn listening_workers(plan: &Plan, options: &EngineOptions) -> usize {
    let Some(listen) = &plan.listen else {
        return 0;
    };
    let peak = plan.peak_publications().unwrap_or(0.0) * f64::from(listen.clients);
    let usual = || match peak > DELIVERIES_OF_WORKER {
        true => std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        false => 1,
    };
    let most = listen.clients.max(1) as usize;
    options.workers.unwrap_or_else(usual).clamp(1, most)
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

/// Returns the takeovers of a run. `None` unless it runs scenarios by a schedule that cannot change
/// during the run.
fn takeovers(work: &Compiled, options: &EngineOptions) -> Option<ShardTakeover> {
    let is_own = options.driver.is_none() && work.program.is_some();
    let arrives = matches!(work.load, Load::Open { .. });
    let may_take_over = options.role == RunRole::TakesOver;
    (may_take_over && is_own && arrives).then(|| {
        options.takeovers.open(options.share, &work.schedule);
        options.takeovers.clone()
    })
}
