//! Validates a run before it sends any traffic: plan, hosts, memory, descriptors, ports, and
//! criteria that can never be evaluated.

use std::{collections::BTreeSet, path::PathBuf};

use engine::{EngineOptions, Prepared, RunRole, SPARE_DESCRIPTORS};
use measure::Label;
use plan::{Criterion, Plan, Problem, Share, Work, criteria::Metric};
use record::{Copier, Manifest, RunContext, RunStart};
use worker::clock::Zero;

use crate::{
    exports::{Exports, OpenExporter},
    hosts::Hosts,
    live::{self, Bound},
    memory,
    messages::SharedMessageSink,
    naming, pacing,
    part::RunPartOrder,
    rules,
    sampling::{self, Sampler},
    server_sources,
};

/// A run to prepare.
pub struct Job {
    /// Name of the front end.
    pub frontend: &'static str,
    /// The plan.
    pub plan: Plan,
    /// Engine options. [`Job::hosts`] sets the allowed hosts, and [`Job::part`] sets the share.
    pub options: EngineOptions,
    /// Rule for the hosts that requests may be sent to.
    pub hosts: Hosts,
    /// Folder of records.
    pub runs: Option<PathBuf>,
    /// When the run writes a record.
    pub record: RecordPolicy,
    /// Additional names whose values are secret.
    pub secrets: Vec<String>,
    /// Live views.
    pub live: live::LiveOptions,
    /// Whether the original tool never verifies certificates, so that the warning about it is
    /// omitted.
    pub never_checks: bool,
    /// Whether the run handles the signals of the process. If not, the caller handles them.
    pub hears_signals: bool,
    /// Exports during and after the run.
    pub exports: Exports,
    /// File for the summary as JSON.
    pub json: Option<PathBuf>,
    /// Samplers to run during the load.
    pub samplers: Vec<Box<dyn Sampler>>,
    /// Part that this process runs. `None` means the whole run.
    pub part: Option<RunPartOrder>,
    /// Whether the coordinator collects the intervals of the whole run.
    pub conducts: bool,
    /// Destination for a copy of a part's record, if any.
    pub copier: Option<Box<dyn Copier>>,
}

/// Whether a run writes a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPolicy {
    /// The run does not start if its folder is not writable.
    Required,
    /// The run continues without a record if its folder is not writable, because the original tool
    /// needs no record.
    IfWritable,
    /// The run is not recorded.
    Never,
}

impl Job {
    /// Creates the job for a plan of a front end, with the default samplers.
    #[must_use]
    pub fn new(frontend: &'static str, plan: Plan, options: EngineOptions) -> Job {
        Job {
            frontend,
            plan,
            options,
            hosts: Hosts::AsOriginalTool,
            runs: None,
            record: RecordPolicy::IfWritable,
            secrets: Vec::new(),
            live: live::LiveOptions::default(),
            never_checks: false,
            hears_signals: true,
            exports: Exports::default(),
            json: None,
            samplers: sampling::usual(),
            part: None,
            conducts: false,
            copier: None,
        }
    }

    /// Turns the job into one part of a run, in which the coordinator samples the machine.
    #[must_use]
    pub fn part(self, part: RunPartOrder) -> Job {
        Job {
            part: Some(part),
            samplers: Vec::new(),
            ..self
        }
    }

    /// Turns the job into one part that runs on its own machine without a coordinator.
    #[must_use]
    pub fn shard(self, part: RunPartOrder) -> Job {
        Job {
            part: Some(part),
            ..self
        }
    }
}

/// The error for a run that was refused before its start.
#[derive(Debug)]
pub struct RunRefused {
    /// A line for each problem.
    pub problems: Vec<Problem>,
    /// Whether the input is invalid. `false` means that a limit of the machine prevents the run.
    pub bad_input: bool,
}

impl RunRefused {
    /// Creates a refusal because of invalid input.
    #[must_use]
    pub fn bad_input(problems: Vec<Problem>) -> RunRefused {
        RunRefused {
            problems,
            bad_input: true,
        }
    }
}

impl From<Vec<Problem>> for RunRefused {
    fn from(problems: Vec<Problem>) -> RunRefused {
        RunRefused {
            // A problem with a position in a file always means invalid input.
            bad_input: problems.iter().any(|problem| problem.at.is_some()),
            problems,
        }
    }
}

/// A validated run that can start.
pub struct Ready {
    pub(crate) job: Job,
    pub(crate) prepared: Prepared,
    pub(crate) manifest: Manifest,
    pub(crate) live: Bound,
    pub(crate) exporters: Vec<OpenExporter>,
    pub(crate) sink: SharedMessageSink,
}

/// Validates a run.
///
/// # Errors
///
/// Returns all problems that prevent the run.
pub fn prepare(job: Job, sink: &SharedMessageSink) -> Result<Ready, RunRefused> {
    prepare_as(job, None, sink)
}

/// Validates a run that other processes execute. Checks the smallest and the largest share. See
/// [`prepare`].
pub(crate) fn prepare_as(
    mut job: Job,
    processes: Option<u64>,
    sink: &SharedMessageSink,
) -> Result<Ready, RunRefused> {
    let (smallest, largest) = match (processes, &job.part) {
        (Some(of), _) => (Share { index: of - 1, of }, Share { index: 0, of }),
        (None, Some(part)) => (part.share, part.share),
        (None, None) => (Share::WHOLE, Share::WHOLE),
    };
    job.options.share = smallest;
    if job.options.pacing_slack_ns.is_none() {
        let slack_ns = pacing::from_environment();
        job.options.pacing_slack_ns =
            slack_ns.map_err(|line| RunRefused::bad_input(vec![Problem::anywhere(line)]))?;
    }
    if let Some(part) = &job.part {
        job.options.seed = part.seed;
        job.plan.setup_vars = part.inherited.clone();
    }
    rules::apply_env_excerpts(&mut job.plan).map_err(RunRefused::bad_input)?;
    let conducted = job.part.as_ref().is_some_and(|part| part.conducted);
    let alone = job.part.as_ref().is_some_and(|part| part.alone);
    if alone && (job.plan.setup.is_some() || job.plan.teardown.is_some()) {
        let line = "`setup` and `teardown` run once per test and cannot be used with --shard: use --on, or remove them";
        return Err(RunRefused::bad_input(vec![Problem::anywhere(line)]));
    }
    let is_blind = job.part.is_some() && !conducted || processes.is_some() && !job.conducts;
    rules::apply_env_stop(&mut job.plan, is_blind).map_err(RunRefused::bad_input)?;
    if job.part.is_none() || conducted || alone {
        if job.frontend != "run" {
            naming::apply_env_names(&mut job.plan, None).map_err(RunRefused::bad_input)?;
        }
        rules::apply_env_check(&mut job.plan).map_err(RunRefused::bad_input)?;
        server_sources::apply_env_server(&mut job.plan).map_err(RunRefused::bad_input)?;
    }
    let is_first = job.part.as_ref().is_some_and(|part| part.share.index == 0);
    if job.part.is_none() || alone && is_first {
        let more =
            sampling::samplers(&job.plan.policy.server, sink).map_err(RunRefused::bad_input)?;
        job.samplers.extend(more);
    }
    let plan = &job.plan;
    let problems = plan.problems();
    if !problems.is_empty() {
        return Err(RunRefused::bad_input(problems));
    }
    if job.options.hooks.is_none() && plan.has_extensions() {
        // Conditions on responses in a test file must not be dropped silently.
        let text =
            "the plan has checks that need the hooks of their front end, but these are missing";
        return Err(RunRefused::bad_input(vec![Problem::anywhere(text)]));
    }
    let budget = job.options.memory;
    if let Some(problem) = budget.and_then(|all| memory::enough(plan, largest, all)) {
        return Err(RunRefused::bad_input(vec![problem]));
    }
    job.options.role = role(&job, processes.is_some());
    job.exports.fit(plan, processes.is_some())?;
    job.options.hosts = job.hosts.allow(plan).map_err(RunRefused::bad_input)?;
    let prepared = Prepared::new(plan, job.options.clone())?;
    if let Some(problem) = memory::address_space(prepared.workers() as u64) {
        return Err(RunRefused::from(vec![problem]));
    }
    descriptors(plan, largest).map_err(|problem| vec![problem])?;
    let manifest = manifest(&job, &prepared, processes);
    // The conductor has already checked the whole run.
    let problems = if conducted {
        Vec::new()
    } else {
        never_judged(&job, &manifest, prepared.labels().all())
    };
    if !problems.is_empty() {
        return Err(RunRefused::bad_input(problems));
    }
    let unavailable = |line| vec![Problem::anywhere(line)];
    Ok(Ready {
        prepared,
        manifest,
        live: Bound::bind(job.live).map_err(unavailable)?,
        exporters: job.exports.open(sink).map_err(unavailable)?,
        sink: sink.clone(),
        job,
    })
}

/// Returns what this process may do in the run.
fn role(job: &Job, has_processes: bool) -> RunRole {
    // This process does not control the schedules of external drivers and parts.
    let is_alone = job.frontend == "run" && job.part.is_none() && !has_processes;
    match &job.part {
        Some(part) if part.late => RunRole::Late,
        None if job.live.view.is_some() && is_alone => RunRole::Steered,
        _ => job.options.role,
    }
}

fn manifest(job: &Job, prepared: &Prepared, processes: Option<u64>) -> Manifest {
    let zero = Zero::in_ns(0);
    let started = RunContext {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        frontend: job.frontend.to_owned(),
        workers: prepared.workers(),
        seed: job.options.seed,
        wall_ns: zero.wall_ns,
        monotonic_ns: zero.monotonic_ns,
        run_id: job
            .part
            .as_ref()
            .map_or_else(run_id, |part| part.run_id.clone()),
        share: job.part.as_ref().map(|part| part.share),
        node: job.part.as_ref().and_then(|part| part.name.clone()),
        processes,
    };
    let mut manifest = Manifest::new(&job.plan, started);
    if job.part.as_ref().is_some_and(|part| part.alone) {
        manifest.criteria.clear();
    }
    // The source of the labels reports labels that appear later.
    manifest.notes.extend(prepared.labels().remark());
    if !job.plan.http.verify_tls && !job.never_checks {
        let note = "certificates were not verified (-k), so responses may be from another server";
        manifest.notes.push(note.to_owned());
    }
    manifest
}

/// Returns problems for criteria and stop rules that can never be decided, including those that
/// this run does not evaluate.
fn never_judged(job: &Job, manifest: &Manifest, labels: &[Label]) -> Vec<Problem> {
    let server = sampling::declared(&job.samplers);
    let plan = &job.plan;
    let labels = (!plan.work.names_come_up()).then_some(labels);
    let placed = |criterion: &Criterion, message: Option<String>| {
        let at = criterion.at.clone();
        message.map(|message| Problem { at, message })
    };
    let rules = plan.policy.stop.iter().map(|rule| &rule.when);
    let judged = plan
        .policy
        .criteria
        .iter()
        .chain(rules)
        .filter(|criterion| !may_come_up(job, criterion))
        .filter_map(|criterion| {
            let reason = without_goodput(plan, criterion).or_else(|| {
                analysis::verdict::without_subject(manifest, labels, &server, criterion)
            });
            placed(criterion, reason)
        });
    let set_aside = plan
        .policy
        .unjudged_criteria
        .iter()
        .filter_map(|criterion| {
            let reason = analysis::verdict::never_measured(criterion, &server);
            placed(criterion, reason)
        });
    let too_short = plan.policy.stop.iter().filter_map(|rule| {
        let reason = sampling::too_short(rule, &job.samplers);
        placed(&rule.when, reason)
    });
    judged.chain(set_aside).chain(too_short).collect()
}

/// Returns why no request can count for a goodput metric.
fn without_goodput(plan: &Plan, criterion: &Criterion) -> Option<String> {
    let is_counted = matches!(plan.work, Work::Scenarios(_));
    let is_goodput = matches!(criterion.metric, Metric::Goodput(_));
    (is_goodput && !is_counted).then(|| {
        "only requests of scenarios are counted for a goodput, and this test has none".to_owned()
    })
}

fn may_come_up(job: &Job, criterion: &Criterion) -> bool {
    let Metric::Server(name, _) = &criterion.metric else {
        return false;
    };
    let mut open = job
        .samplers
        .iter()
        .filter(|sampler| !sampler.is_all_known());
    open.any(|sampler| {
        name.strip_prefix(sampler.source())
            .is_some_and(|rest| rest.starts_with('.'))
    })
}

fn run_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

impl Ready {
    /// Returns the URL of the live view, if it was requested.
    #[must_use]
    pub fn live_view(&self) -> Option<String> {
        self.live.view()
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.job.plan
    }

    /// Returns the digest of the plan. All parts of a run must have the same digest.
    #[must_use]
    pub fn plan_digest(&self) -> Option<String> {
        let redactor = record::redact::Redactor::new(
            &self.job.plan,
            &self.job.secrets,
            record::redact::Salt::default(),
        );
        record::plan_digest(&self.job.plan, &redactor)
    }

    /// Sets the start of a part, if it was unknown when the part was prepared.
    pub fn starts(&mut self, start: RunStart) {
        if let Some(part) = &mut self.job.part {
            part.start = start;
        }
    }

    /// Returns the number of workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.prepared.workers()
    }
}

/// Returns the maximum number of connections that a user has at a time: one for requests, one for
/// each WebSocket connection, and those of a Socket.IO session, which polls on two.
fn connections_of_user<'s>(scenarios: impl IntoIterator<Item = &'s plan::Scenario>) -> u64 {
    let of_scenario = |scenario: &plan::Scenario| {
        let requests = scenario.requests();
        let (sockets, others): (Vec<_>, Vec<_>) =
            requests.partition(|request| request.websocket.is_some());
        let names = sockets
            .iter()
            .filter_map(|request| request.websocket.as_ref());
        let names: BTreeSet<&str> = names.map(|socket| socket.connection.as_str()).collect();
        let (sessions, others): (Vec<_>, Vec<_>) = others
            .into_iter()
            .partition(|request| request.socketio.is_some());
        let of_sessions = if sessions.is_empty() { 0 } else { 3 };
        names.len() as u64 + of_sessions + u64::from(!others.is_empty())
    };
    let of_scenarios = scenarios.into_iter().map(of_scenario);
    of_scenarios.max().unwrap_or(1).max(1)
}

/// Fails if there are too few file descriptors for the plan.
fn descriptors(plan: &Plan, share: Share) -> Result<(), Problem> {
    let connections = match (&plan.http.pool, &plan.load) {
        (_, plan::Load::Closed { users, .. }) => {
            u64::from(*users) * connections_of_user(plan.scenarios())
        }
        // Front ends with their own workloads open connections by their own rules.
        (plan::PoolPolicy::PerUser, plan::Load::Several { workloads })
            if matches!(plan.work, plan::Work::Scenarios(_)) =>
        {
            let of_workload = |one: &plan::Workload| {
                let own = one.scenarios.iter();
                let own = own.filter_map(|index| plan.scenarios().get(*index));
                u64::from(one.users()) * connections_of_user(own)
            };
            workloads.iter().map(of_workload).sum()
        }
        // The limit of a pool is a maximum, which low rates never reach.
        (plan::PoolPolicy::Shared(n), _)
            if plan.peak_rate().is_some_and(|rate| rate > f64::from(*n)) =>
        {
            u64::from(*n)
        }
        _ => 0,
    };
    let background = plan
        .background
        .as_ref()
        .map_or(0, |background| background.mqtt.clients());
    let listeners = plan.listen.as_ref();
    let listeners = listeners.map_or(0, |listen| u64::from(listen.clients));
    descriptors_for(
        share.of_first(connections) + share.of_first(background) + share.of_first(listeners),
    )
}

/// Checks that there are enough file descriptors for this number of connections.
///
/// # Errors
///
/// If there are too few, fails with the required number and advice on how to raise the limit.
pub fn descriptors_for(connections: u64) -> Result<(), Problem> {
    let Some(has) = worker::raise_descriptors() else {
        return Ok(());
    };
    let needs = connections.saturating_add(SPARE_DESCRIPTORS);
    if needs <= has {
        return Ok(());
    }
    Err(Problem::anywhere(format!(
        "{connections} connections need {needs} file descriptors, but the limit is {has}: raise it with `ulimit -n {needs}`, or use fewer connections"
    )))
}
