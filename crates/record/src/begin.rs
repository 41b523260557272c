//! Creates the manifest of a run from its plan, settings, files and machine.

use std::path::Path;

use measure::histogram::MAX_VALUE;
use plan::{Load, Plan, Schedule, Share, Work, Workload, work::DEFAULT};
use sha2::{Digest, Sha256};

use super::{
    FileFacts, Host, LoadFacts, Manifest, Model, PhaseFacts, PoolFacts, RunStart, RunState, SCHEMA,
    ScenarioFacts, Tool, Whole, WorkloadFacts, load_text, manifest::Layout, redact::Redactor,
};

#[derive(Debug, Clone, Default)]
pub struct RunContext {
    pub version: String,
    pub command: Vec<String>,
    pub frontend: String,
    pub workers: usize,
    pub seed: u64,
    pub wall_ns: u64,
    pub monotonic_ns: u64,
    pub run_id: String,
    pub share: Option<Share>,
    pub node: Option<String>,
    pub processes: Option<u64>,
}

fn pools_of(source: &plan::server::MetricSource) -> impl Iterator<Item = PoolFacts> {
    source.pools.iter().map(|pool| PoolFacts {
        source: source.name.clone(),
        pool: pool.clone(),
    })
}

impl Manifest {
    #[must_use]
    pub fn new(plan: &Plan, started: RunContext) -> Manifest {
        let schedule = plan.schedule(started.seed);
        let share = started.share.unwrap_or_default();
        let criteria = plan.policy.criteria.iter();
        let criteria: Vec<String> = criteria.map(|criterion| criterion.text.clone()).collect();
        Manifest {
            schema: SCHEMA,
            state: RunState::Running,
            tool: Tool {
                name: "loadline".into(),
                version: started.version,
            },
            pid: std::process::id(),
            run_id: started.run_id,
            plan_sha256: String::new(),
            share: started.share,
            node: started.node,
            processes: started.processes,
            full_run: started.share.map(|_| {
                Box::new(Whole {
                    load: load_facts(plan, &schedule, started.seed, Share::WHOLE),
                    phases: phase_facts(plan, &schedule, Share::WHOLE),
                    criteria: criteria.clone(),
                })
            }),
            command: started.command,
            frontend: started.frontend,
            name: plan.name.clone(),
            about: plan.about.clone(),
            // The writer redacts the whole manifest.
            target: plan.target.expose().clone(),
            load: load_facts(plan, &schedule, started.seed, share),
            phases: phase_facts(plan, &schedule, share),
            scenarios: scenario_facts(plan),
            criteria,
            unjudged_criteria: plan
                .policy
                .unjudged_criteria
                .iter()
                .map(|criterion| criterion.text.clone())
                .collect(),
            allow_failures: plan.policy.allow_failures,
            stop: plan
                .policy
                .stop
                .iter()
                .map(|rule| rule.when.text.clone())
                .collect(),
            pools: plan.policy.server.iter().flat_map(pools_of).collect(),
            notes: plan
                .provenance
                .notes
                .iter()
                .map(|note| {
                    note.at
                        .as_ref()
                        .map_or_else(|| note.text.clone(), |at| format!("{at}: {}", note.text))
                })
                .collect(),
            negotiated: Vec::new(),
            trace_context: plan.http.trace_context.clone(),
            trace_url: plan.http.trace_url.clone(),
            frontend_settings: plan.provenance.frontend_settings.clone(),
            workers: started.workers,
            seed: started.seed,
            start: RunStart::at(started.wall_ns, started.monotonic_ns),
            end: None,
            files: plan
                .provenance
                .files
                .iter()
                .map(|path| FileFacts::read(path))
                .collect(),
            git: super::host::git_revision(Path::new(".")),
            host: Host::read(),
            histograms: Layout {
                unit: "ns".into(),
                lowest: 1,
                highest: MAX_VALUE,
                significant_digits: 3,
            },
        }
    }
}

impl RunStart {
    #[must_use]
    pub fn at(wall_ns: u64, monotonic_ns: u64) -> RunStart {
        RunStart {
            wall_ns,
            monotonic_ns,
            utc: utc(wall_ns, "%Y-%m-%dT%H:%M:%S%.3fZ"),
            uncertainty_ns: 0,
        }
    }
}

fn outside(plan: &Plan) -> Option<String> {
    match (&plan.work, &plan.load) {
        (
            Work::External(external),
            Load::Closed { .. } | Load::Open { .. } | Load::Several { .. },
        ) => Some(external.by.clone()),
        _ => None,
    }
}

fn load_facts(plan: &Plan, schedule: &Schedule, seed: u64, share: Share) -> LoadFacts {
    let workloads = workload_facts(plan, seed);
    let (model, planned, users) = match &plan.load {
        Load::Open { .. } => (Model::Open, Some(share.of_first(schedule.total())), None),
        Load::Closed { users, .. } => (Model::Closed, None, Some(users_of(plan, *users, share))),
        Load::Several { .. } => of_workloads(&workloads),
        Load::Once => (Model::Once, Some(share.of_first(1)), None),
    };
    LoadFacts {
        model,
        text: load_text::describe(plan),
        planned,
        users,
        iterations: plan.iterations,
        end_ns: schedule.end_ns(),
        changes: 0,
        by: outside(plan),
        workloads,
    }
}

/// Returns the model, the planned arrivals and the users of several workloads together.
fn of_workloads(workloads: &[WorkloadFacts]) -> (Model, Option<u64>, Option<u32>) {
    let planned = workloads.iter().filter_map(|one| one.planned);
    let users = workloads.iter().filter_map(|one| one.users);
    let planned = planned.reduce(|sum, own| sum + own);
    let users = users.reduce(u32::saturating_add);
    let model = match (planned, users) {
        (Some(_), Some(_)) => Model::Mixed,
        (Some(_), None) => Model::Open,
        (None, _) => Model::Closed,
    };
    (model, planned, users)
}

fn workload_facts(plan: &Plan, seed: u64) -> Vec<WorkloadFacts> {
    let end_ns = plan.end_ns();
    let facts = |(index, workload): (usize, &Workload)| {
        let own = workload.scenarios.iter();
        let named = own.filter_map(|own| Some(plan.scenarios().get(*own)?.render(*own)));
        let mut scenarios: Vec<String> = named.collect();
        if workload.scenarios.is_empty() {
            // The tool counts a workload's iterations under the name of the workload.
            scenarios.push(workload.name.clone());
        }
        let (constant_ns, idle_ns) = constant_phases(workload);
        WorkloadFacts {
            name: workload.name.clone(),
            model: match workload.is_open() {
                true => Model::Open,
                false => Model::Closed,
            },
            text: load_text::of_workload(workload),
            start_ns: workload.starts_ns.min(end_ns),
            end_ns: workload.end_ns().min(end_ns),
            planned: plan.planned_of_workload(index, seed),
            users: (!workload.is_open()).then(|| workload.users()),
            scenarios,
            constant_ns,
            idle_ns,
        }
    };
    plan.workloads().iter().enumerate().map(facts).collect()
}

/// Start and end of phases, in nanoseconds from the start of the run.
type Spans = Vec<(u64, u64)>;

/// Returns all phases in which the load of a workload is constant, and the subset of them without
/// load.
fn constant_phases(workload: &Workload) -> (Spans, Spans) {
    // Duration, whether the load is constant, and whether there is no load.
    let phases: Vec<(u64, bool, bool)> = match &workload.load {
        Load::Open { phases, .. } => {
            let phases = phases.iter();
            let facts = |phase: &plan::Phase| {
                let is_pause = phase.shape == plan::Shape::Pause;
                let is_constant = phase.is_constant() || is_pause;
                (phase.duration_ns, is_constant, is_pause)
            };
            phases.map(facts).collect()
        }
        load => {
            let phases = load.user_phases().unwrap_or_default();
            let phases = phases.iter();
            phases
                .map(|one| {
                    (
                        one.duration_ns,
                        one.from == one.to,
                        one.from == 0 && one.to == 0,
                    )
                })
                .collect()
        }
    };
    let mut end_ns = workload.starts_ns;
    let (mut constant, mut idle) = (Spans::new(), Spans::new());
    for (duration_ns, is_constant, is_idle) in phases {
        let span = (end_ns, end_ns.saturating_add(duration_ns));
        end_ns = span.1;
        constant.extend(is_constant.then_some(span));
        idle.extend(is_idle.then_some(span));
    }
    (constant, idle)
}

fn users_of(plan: &Plan, users: u32, share: Share) -> u32 {
    match plan.work {
        Work::External(_) => users,
        _ => share.of_first(u64::from(users)) as u32,
    }
}

fn phase_facts(plan: &Plan, schedule: &Schedule, share: Share) -> Vec<PhaseFacts> {
    let phases_of_load: Vec<(&Option<String>, String, &String, bool)> = match &plan.load {
        Load::Open { phases, .. } => phases
            .iter()
            .map(|one| {
                let text = load_text::of_phase(one);
                (&one.name, text, &one.duration_text, one.is_constant())
            })
            .collect(),
        Load::Closed { phases, .. } => phases
            .iter()
            .map(|one| {
                let text = load_text::of_users(one);
                (&one.name, text, &one.duration_text, one.is_constant())
            })
            .collect(),
        Load::Several { .. } | Load::Once => Vec::new(),
    };
    let (mut start_ns, mut before) = (0, 0);
    let mut planned = |phase: u32| {
        let first = share.of_first(before);
        before += schedule.phase_total(phase);
        share.of_first(before) - first
    };
    let facts = phases_of_load
        .into_iter()
        .zip(schedule.phase_ends())
        .enumerate()
        .map(
            |(i, ((name, text, duration_text, constant), end_ns))| PhaseFacts {
                name: name.clone(),
                text,
                duration_text: duration_text.clone(),
                start_ns: std::mem::replace(&mut start_ns, *end_ns),
                end_ns: *end_ns,
                planned: planned(i as u32),
                constant: Some(constant),
            },
        );
    facts.collect()
}

fn scenario_facts(plan: &Plan) -> Vec<ScenarioFacts> {
    let facts = |(i, scenario): (usize, &plan::Scenario)| ScenarioFacts {
        name: scenario.render(i),
        weight: scenario.weight,
    };
    match &plan.work {
        Work::Scenarios(scenarios) => scenarios.iter().enumerate().map(facts).collect(),
        Work::Batch(_) | Work::Mqtt(_) => vec![ScenarioFacts {
            name: DEFAULT.to_owned(),
            weight: 1,
        }],
        Work::External(_) => Vec::new(),
    }
}

impl FileFacts {
    #[must_use]
    pub fn read(path: &str) -> FileFacts {
        // Read only regular files, because a pipe can be read only once, and a device may be
        // endless.
        let read = std::path::Path::new(path)
            .is_file()
            .then(|| std::fs::read(path).ok())
            .flatten();
        match read {
            Some(content) => FileFacts {
                path: path.to_owned(),
                sha256: Some(sha256(&content)),
                bytes: content.len() as u64,
            },
            None => FileFacts {
                path: path.to_owned(),
                sha256: None,
                bytes: 0,
            },
        }
    }
}

/// Returns the digest of a plan without its secrets, by which the parts of a run recognize each
/// other.
#[must_use]
pub fn plan_digest(plan: &Plan, redactor: &Redactor) -> Option<String> {
    let plan = serde_json::to_value(plan).ok()?;
    Some(plan_sha256(&redactor.json(&plan)))
}

pub(crate) fn plan_sha256(plan: &serde_json::Value) -> String {
    let mut text = plan.to_string();
    while let Some(at) = text.find(MARK) {
        let end = text[at..].find('›').map_or(text.len(), |end| at + end);
        text.replace_range(at..end, "‹");
    }
    hex(&Sha256::digest(text.as_bytes()))
}

const MARK: &str = "‹redacted";

#[must_use]
pub fn sha256(content: &[u8]) -> String {
    hex(&Sha256::digest(content))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Formats a time in UTC by a strftime pattern. Returns an empty text if the time is out of range.
#[must_use]
pub fn utc(wall_ns: u64, pattern: &str) -> String {
    let moment = jiff::Timestamp::from_nanosecond(i128::from(wall_ns));
    moment
        .map(|moment| moment.strftime(pattern).to_string())
        .unwrap_or_default()
}

#[must_use]
pub fn moment(text: &str) -> Option<u64> {
    if let Ok(moment) = text.parse::<jiff::Timestamp>() {
        return u64::try_from(moment.as_nanosecond()).ok();
    }
    let (full_run, part) = text.split_once('.').unwrap_or((text, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (!full_run.is_empty() && part.len() <= 9 && is_number(full_run) && is_number(part))
        .then_some(())?;
    let part: u64 = format!("{part:0<9}").parse().ok()?;
    full_run
        .parse::<u64>()
        .ok()?
        .checked_mul(1_000_000_000)?
        .checked_add(part)
}
