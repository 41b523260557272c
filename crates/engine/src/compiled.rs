//! A compiled plan: labels, schedule, connections and number of workers. Scenarios are compiled to
//! a program. Other work has a separate driver.

use measure::{Labels, label::LabelGroup};
use plan::{
    Load, Plan, PoolPolicy, Problem, Schedule, Share, TraceSampling, Work,
    mqtt::{Counted, Mqtt},
    work::DEFAULT,
};

use codec::Origin;

use crate::program::{HookInterest, Program};
use worker::load_control::{MOST_USERS, Most, PER_WORKER};

/// File descriptors that a process needs in addition to its connections.
pub const SPARE_DESCRIPTORS: u64 = 32;

const MQTT_ALONE: &str = "a test that has only MQTT clients cannot be divided among several processes: combine them with scenarios (`mqtt:` in a plan)";
/// With a shared subscription, the server may resend a message to a member in another process, so
/// no process sees both copies.
const SHARED_ALONE: &str = "subscriptions shared by clients ($share/…) cannot be divided among several processes: a repeated message would look like a new one";

pub(crate) struct Compiled {
    /// The program for the scenarios. `None` if the plan has no scenarios.
    pub program: Option<Program>,
    /// Labels that are known before the run.
    pub labels: Labels,
    /// Origins known before the run.
    pub origins: Vec<Origin>,
    /// Schedule of the intended starts.
    pub schedule: Schedule,
    /// Planned load.
    pub load: Load,
    /// Connection settings of the plan.
    pub http: plan::Http,
    /// The highest planned rate, in requests per second.
    peak: f64,
}

impl Compiled {
    /// Compiles a plan.
    pub fn compile(
        plan: &Plan,
        seed: u64,
        looking: Option<&dyn HookInterest>,
    ) -> Result<Compiled, Vec<Problem>> {
        let problems = plan.problems();
        if !problems.is_empty() {
            return Err(problems);
        }
        let mut compiled = Compiled {
            program: None,
            labels: Labels::default(),
            origins: Vec::new(),
            schedule: plan.schedule(seed),
            load: plan.load.clone(),
            http: plan.http.clone(),
            peak: plan.peak_rate().unwrap_or(0.0),
        };
        match &plan.work {
            Work::Scenarios(_) => {
                let program = Program::compile(plan, seed, looking)?;
                compiled.labels = program.labels.clone();
                compiled.origins.clone_from(&program.origins);
                compiled.peak = program.peak_requests(plan);
                compiled.program = Some(program);
            }
            Work::Batch(batch) => {
                let labels = &mut compiled.labels;
                labels.id(LabelGroup::Request, &batch.method, &batch.name);
                labels.id(LabelGroup::Iteration, "", DEFAULT);
            }
            Work::Mqtt(mqtt) => {
                compiled.operations(mqtt);
                compiled.labels.id(LabelGroup::Iteration, "", DEFAULT);
            }
            Work::External(_) => {}
        }
        if let Some(background) = &plan.background {
            compiled.operations(&background.mqtt);
        }
        Ok(compiled)
    }

    fn operations(&mut self, mqtt: &Mqtt) {
        for (group, name) in mqtt.operations() {
            let group = match group {
                Counted::Request => LabelGroup::Mqtt,
                Counted::Aside => LabelGroup::Custom,
            };
            self.labels.id(group, "", name);
        }
    }

    /// Reduces the run-wide limits to this process's share. External drivers divide their limits
    /// themselves. Fails if the work cannot be divided, or if the share would have no connection or
    /// user.
    pub fn take_share(
        &mut self,
        plan: &Plan,
        share: Share,
        workers: Option<usize>,
    ) -> Result<(), Vec<Problem>> {
        if share == Share::WHOLE {
            return Ok(());
        }
        let refused = |reason: String| Err(vec![Problem::anywhere(reason)]);
        self.peak /= share.of as f64;
        if let Some(context) = &mut self.http.trace_context
            && let TraceSampling::PerSecond(rate) = &mut context.sampling
        {
            *rate /= share.of as f64;
        }
        if plan.listen.is_some() {
            return refused(plan::listen::ONE_PROCESS.to_owned());
        }
        if let Some(background) = &plan.background
            && background.mqtt.shares_subscriptions()
        {
            return refused(SHARED_ALONE.to_owned());
        }
        match &plan.work {
            Work::Scenarios(_) if matches!(plan.load, Load::Several { .. }) => {
                return refused(plan::SEVERAL_IN_ONE_PROCESS.to_owned());
            }
            Work::Scenarios(_) => {}
            Work::External(_) => return Ok(()),
            Work::Mqtt(_) => {
                return refused(MQTT_ALONE.to_owned());
            }
            Work::Batch(_) => {
                if let Some(reason) = self.too_few_connections(share, workers) {
                    return refused(reason);
                }
            }
        }
        if let PoolPolicy::Shared(n) = &mut self.http.pool {
            let own = share.of_first(u64::from(*n)) as u32;
            if own == 0 {
                return refused(format!(
                    "{n} connections cannot be divided among {} processes: use fewer processes, or more connections",
                    share.of
                ));
            }
            *n = own;
        }
        if let Load::Closed { users, .. } = &self.load
            && share.of_first(u64::from(*users)) == 0
        {
            return refused(format!(
                "{users} users cannot be divided among {} processes: use fewer processes, or more users",
                share.of
            ));
        }
        if let Load::Open { phases, .. } = &self.load
            && let Some(cap) = phases.iter().filter_map(|phase| phase.max_users).min()
            && share.of_first(u64::from(cap)) == 0
        {
            return refused(format!(
                "at most {cap} users cannot be divided among {} processes: use fewer processes, or allow more users",
                share.of
            ));
        }
        Ok(())
    }

    /// Returns why fixed connections cannot be divided among these workers. `None` if they can be.
    fn too_few_connections(&self, share: Share, workers: Option<usize>) -> Option<String> {
        let all = match (&self.load, &self.http.pool) {
            (Load::Closed { users, .. }, _) => *users,
            (_, PoolPolicy::Shared(n)) => *n,
            _ => return None,
        };
        let workers = workers.unwrap_or(1).max(1) as u64;
        (share.of_first(u64::from(all)) < workers).then(|| {
            let (each, fewer) = match workers {
                1 => (String::new(), "processes"),
                n => (format!(" of {n} workers each"), "processes or workers"),
            };
            format!(
                "{all} connections cannot be divided among {} processes{each}: use fewer {fewer}, or more connections",
                share.of
            )
        })
    }

    /// Returns the limits for changes of the load, based on the capacity of the workers and the
    /// number of file descriptors.
    pub fn most(&self, plan: &Plan, workers: usize) -> Most {
        let requests = self.program.as_ref().map_or(1, Program::requests_of_user);
        let trusted = PER_WORKER * workers as f64 / requests as f64;
        let files = worker::raise_descriptors().map_or(u64::from(MOST_USERS), |has| {
            has.saturating_sub(SPARE_DESCRIPTORS)
        });
        Most {
            per_second: trusted.max(plan.peak_rate().unwrap_or(0.0)),
            users: files.min(u64::from(MOST_USERS)) as u32,
        }
    }

    /// Returns the number of workers: as requested, or one per core if a single worker cannot
    /// generate the planned peak.
    pub fn workers(&self, asked: Option<usize>, share: Share) -> usize {
        let usual = || {
            let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
            if self.peak > PER_WORKER { cores } else { 1 }
        };
        let workers = asked.unwrap_or_else(usual).max(1);
        let useful = match (&self.http.pool, &self.load) {
            (PoolPolicy::Shared(n), _) => workers.min(*n as usize),
            (_, Load::Closed { users, .. }) => {
                workers.min(share.of_first(u64::from(*users)) as usize)
            }
            (_, Load::Once) => 1,
            (_, Load::Several { workloads }) if !self.load.is_paced() => {
                // Small closed workloads may have fewer users than there are workers.
                let has_arrivals = workloads.iter().any(plan::Workload::is_open);
                let users = workloads.iter().map(plan::Workload::users);
                let users = users.fold(0, u32::saturating_add);
                match has_arrivals {
                    true => workers,
                    false => workers.min(users as usize),
                }
            }
            _ => workers,
        };
        useful.max(1)
    }
}
