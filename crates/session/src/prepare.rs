//! Everything that can refuse a run, asked before anything is sent: the plan, the hosts, memory, descriptors, criteria that nobody
//! could judge, ports. What comes out can begin.

use std::path::PathBuf;

use engine::{EngineOptions, Prepared, SPARE_DESCRIPTORS, Zero};
use measure::Label;
use plan::{Criterion, Plan, Problem, Share, criteria::Metric};
use record::{Copier, Manifest, RunContext, RunStart};

use crate::{
    exports::Exports,
    hosts::Hosts,
    live::{self, Bound},
    memory,
    messages::SharedVoice,
    naming, pacing,
    part::RunPartOrder,
    rules,
    sampling::{self, Sampler},
    server_sources,
};

/// What a run is made of.
pub struct Job {
    /// The front door's name.
    pub door: &'static str,
    /// What should happen.
    pub plan: Plan,
    /// For the engine; which hosts are allowed is filled in from [`Job::hosts`], the share of the run from [`Job::part`].
    pub options: EngineOptions,
    /// Which hosts may be loaded.
    pub hosts: Hosts,
    /// Where records are kept.
    pub runs: Option<PathBuf>,
    /// Names whose values are secret, beside the usual ones.
    pub secrets: Vec<String>,
    /// What can be looked at meanwhile.
    pub live: live::LiveOptions,
    /// Whether the tool whose door it is never checks certificates: then nobody is told that they were not.
    pub never_checks: bool,
    /// Whether signals that the process gets are this run's; else whoever has it run listens.
    pub hears_signals: bool,
    /// Files to write at the end.
    pub exports: Exports,
    /// Where the summary goes as JSON.
    pub json: Option<PathBuf>,
    /// What is measured beside the load.
    pub samplers: Vec<Box<dyn Sampler>>,
    /// What this process carries out of a run of several; none: all of it.
    pub part: Option<RunPartOrder>,
    /// Whether who divides this run sees all of it while it goes on.
    pub conducts: bool,
    /// Who keeps a copy of the record of a part elsewhere.
    pub copier: Option<Box<dyn Copier>>,
}

impl Job {
    /// A plan behind a door, with nothing beside it but what is always measured.
    #[must_use]
    pub fn new(door: &'static str, plan: Plan, options: EngineOptions) -> Job {
        Job {
            door,
            plan,
            options,
            hosts: Hosts::BesideDoor,
            runs: None,
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

    /// The same, of which this process carries out one part. The machine is looked at by the process that divided the run.
    #[must_use]
    pub fn part(self, part: RunPartOrder) -> Job {
        Job {
            part: Some(part),
            samplers: Vec::new(),
            ..self
        }
    }

    /// The same, of which this process carries out one part on a machine of its own, with nobody who divides the run.
    #[must_use]
    pub fn shard(self, part: RunPartOrder) -> Job {
        Job {
            part: Some(part),
            ..self
        }
    }
}

/// Why a run did not begin.
#[derive(Debug)]
pub struct RunRefused {
    /// Line by line.
    pub problems: Vec<Problem>,
    /// Whether what was asked for is at fault, not the machine.
    pub bad_input: bool,
}

impl RunRefused {
    /// What was asked for is at fault.
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
            // What has a place in a file is wrong there, whatever the machine.
            bad_input: problems.iter().any(|problem| problem.at.is_some()),
            problems,
        }
    }
}

/// A run that can begin.
pub struct Ready {
    pub(crate) job: Job,
    pub(crate) prepared: Prepared,
    /// All but the moment at which it starts.
    pub(crate) manifest: Manifest,
    pub(crate) live: Bound,
    pub(crate) voice: SharedVoice,
}

/// Asks everything that can refuse a run.
///
/// # Errors
/// Everything that keeps it from running.
pub fn prepare(job: Job, voice: &SharedVoice) -> Result<Ready, RunRefused> {
    prepare_as(job, None, voice)
}

/// The same for a run that so many other processes carry out: what the smallest share cannot be is refused, and what the largest needs.
pub(crate) fn prepare_as(
    mut job: Job,
    processes: Option<u64>,
    voice: &SharedVoice,
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
        job.options.is_late = part.late;
        job.plan.inherited = part.inherited.clone();
    }
    rules::apply_env_excerpts(&mut job.plan).map_err(RunRefused::bad_input)?;
    let conducted = job.part.as_ref().is_some_and(|part| part.conducted);
    let alone = job.part.as_ref().is_some_and(|part| part.alone);
    if alone && (job.plan.before.is_some() || job.plan.after.is_some()) {
        let line = "the steps before and behind the load are carried out once for all of it, and a part that nobody conducts cannot know what they leave: use --on, or leave them out";
        return Err(RunRefused::bad_input(vec![Problem::anywhere(line)]));
    }
    let is_blind = job.part.is_some() && !conducted || processes.is_some() && !job.conducts;
    rules::apply_env_stop(&mut job.plan, is_blind).map_err(RunRefused::bad_input)?;
    if job.part.is_none() || conducted || alone {
        // Whoever has flags of ours for it asks before they are looked at.
        if job.door != "run" {
            naming::apply_env_names(&mut job.plan, None).map_err(RunRefused::bad_input)?;
        }
        rules::apply_env_check(&mut job.plan).map_err(RunRefused::bad_input)?;
        server_sources::apply_env_server(&mut job.plan).map_err(RunRefused::bad_input)?;
    }
    let is_first = job.part.as_ref().is_some_and(|part| part.share.index == 0);
    if job.part.is_none() || alone && is_first {
        let more = sampling::samplers(&job.plan.server, voice).map_err(RunRefused::bad_input)?;
        job.samplers.extend(more);
    }
    let plan = &job.plan;
    let problems = plan.problems();
    if !problems.is_empty() {
        return Err(RunRefused::bad_input(problems));
    }
    if job.options.hooks.is_none() && plan.has_extensions() {
        // Nothing that a test file says of its answers is left out silently.
        let unused =
            "steps of the plan say what nobody here looks at: their front door's hooks are missing";
        return Err(RunRefused::bad_input(vec![Problem::anywhere(unused)]));
    }
    if let Some(problem) = job
        .options
        .memory
        .and_then(|all| memory::enough(plan, largest, all))
    {
        return Err(RunRefused::bad_input(vec![problem]));
    }
    // Whoever drives itself, and whoever has but a part of the load, goes by a schedule that is not ours alone.
    job.options.steered =
        job.live.view.is_some() && job.door == "run" && job.part.is_none() && processes.is_none();
    job.options.hosts = job.hosts.allow(plan).map_err(RunRefused::bad_input)?;
    let prepared = Prepared::new(plan, job.options.clone())?;
    descriptors(plan, largest).map_err(|problem| vec![problem])?;
    let manifest = manifest(&job, &prepared, processes);
    // Who conducts has asked that of the whole run.
    let problems = if conducted {
        Vec::new()
    } else {
        never_judged(&job, &manifest, prepared.labels().all())
    };
    if !problems.is_empty() {
        return Err(RunRefused::bad_input(problems));
    }
    let live = Bound::bind(job.live).map_err(|line| vec![Problem::anywhere(line)])?;
    Ok(Ready {
        prepared,
        manifest,
        live,
        voice: voice.clone(),
        job,
    })
}

fn manifest(job: &Job, prepared: &Prepared, processes: Option<u64>) -> Manifest {
    let zero = Zero::in_ns(0);
    let started = RunContext {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        door: job.door.to_owned(),
        workers: prepared.workers(),
        seed: job.options.seed,
        wall_ns: zero.wall_ns,
        monotonic_ns: zero.monotonic_ns,
        run_id: job
            .part
            .as_ref()
            .map_or_else(run_id, |part| part.run_id.clone()),
        // One process of several has its share of what is planned.
        share: job.part.as_ref().map(|part| part.share),
        node: job.part.as_ref().and_then(|part| part.name.clone()),
        processes,
    };
    let mut manifest = Manifest::new(&job.plan, started);
    if job.part.as_ref().is_some_and(|part| part.alone) {
        // What is asked of the run is asked of all parts together.
        manifest.criteria.clear();
    }
    // Names that come up later are told of by who brings them up.
    manifest.notes.extend(prepared.labels().remark());
    if !job.plan.http.verify_tls && !job.never_checks {
        let note = "certificates were not checked (-k): whoever answered need not be who was asked";
        manifest.notes.push(note.to_owned());
    }
    manifest
}

/// Criteria and stop rules that no measurement could ever decide, and what is not judged in this run and could not be in any other.
fn never_judged(job: &Job, manifest: &Manifest, labels: &[Label]) -> Vec<Problem> {
    let server = sampling::declared(&job.samplers);
    let plan = &job.plan;
    let labels = (!plan.work.names_come_up()).then_some(labels);
    let placed = |criterion: &Criterion, message: Option<String>| {
        let at = criterion.at.clone();
        message.map(|message| Problem { at, message })
    };
    let rules = plan.stop.iter().map(|rule| &rule.when);
    let judged = plan
        .criteria
        .iter()
        .chain(rules)
        .filter(|criterion| !may_come_up(job, criterion))
        .filter_map(|criterion| {
            let why = analysis::verdict::without_subject(manifest, labels, &server, criterion);
            placed(criterion, why)
        });
    let set_aside = plan.set_aside.iter().filter_map(|criterion| {
        let why = analysis::verdict::never_measured(criterion, &server);
        placed(criterion, why)
    });
    let too_short = plan.stop.iter().filter_map(|rule| {
        let why = sampling::too_short(rule, &job.samplers);
        placed(&rule.when, why)
    });
    judged.chain(set_aside).chain(too_short).collect()
}

/// Whether it asks for a figure that a source may tell of later: that cannot be looked for yet.
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

/// Another one for each run.
fn run_id() -> String {
    use std::hash::{BuildHasher, RandomState};
    let random = || RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

impl Ready {
    /// Where the run can be looked at while it goes on, where that was asked for.
    #[must_use]
    pub fn live_view(&self) -> Option<String> {
        self.live.view()
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.job.plan
    }

    /// Says when the run's zero is, of a part that was not told with the rest.
    pub fn starts(&mut self, start: RunStart) {
        if let Some(part) = &mut self.job.part {
            part.start = start;
        }
    }

    /// How many workers carry it out.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.prepared.workers()
    }
}

/// Says before the run that there are not enough descriptors, where the plan tells how many it needs.
fn descriptors(plan: &Plan, share: Share) -> Result<(), Problem> {
    let connections = match (&plan.http.pool, &plan.load) {
        (_, plan::Load::Closed { users, .. }) => u64::from(*users),
        // A cap is a permission, not a need: small rates never reach it.
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
    descriptors_for(share.of_first(connections) + share.of_first(background))
}

/// Says that there are not enough descriptors for so many connections.
///
/// # Errors
/// One line of how many are needed, and how to have them.
pub fn descriptors_for(connections: u64) -> Result<(), Problem> {
    let Some(has) = engine::raise_descriptors() else {
        return Ok(());
    };
    let needs = connections.saturating_add(SPARE_DESCRIPTORS);
    if needs <= has {
        return Ok(());
    }
    Err(Problem::anywhere(format!(
        "{connections} connections need {needs} file descriptors, the limit is {has}: raise it with `ulimit -n {needs}`, or use fewer connections"
    )))
}
