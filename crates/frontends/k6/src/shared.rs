//! What the workers and the terminal share during a run.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k6::{
    aggregate::trend_stat::TrendStat,
    duration::DurationNs,
    exit::RunError,
    metric::Registry,
    options::{Options, consolidate::Consolidated, settings::Settings},
    scenario::{Executor, Plan, Scenario},
    tags::Tags,
    threshold::evaluate::ThresholdSet,
};
use plan::Share;
use script::k6::{Script, VuOptions};
use serde_json::json;

use crate::{
    logger::Logger,
    outputs::{Outputs, WorkerOutputs},
    progress::Progress,
    result::RunResult,
    team::Team,
};

/// A test and the state of its run.
pub struct Shared {
    pub script: Arc<Script>,
    pub options: Options,
    pub settings: Settings,
    pub plan: Plan,
    /// Statistics of trends to show in the summary.
    pub trend_stats: Vec<TrendStat>,
    /// Metrics that the init code declared.
    pub registry: Registry,
    /// Thresholds before any evaluation. Empty if they are disabled.
    pub thresholds: ThresholdSet,
    /// Position of each scenario's first virtual user, by which virtual users are distributed
    /// among the workers.
    first_positions: Vec<u64>,
    pub progress: Progress,
    pub team: Arc<Team>,
    pub logger: Logger,
    /// Where messages of `console` are written. `None` means to the log.
    pub console: Option<Logger>,
    /// Descriptions of the outputs.
    pub output_names: Vec<String>,
    outputs: Mutex<Outputs>,
    outcome: Mutex<Outcome>,
}

/// The parts from which a test is assembled.
pub struct Parts {
    pub script: Arc<Script>,
    pub consolidated: Consolidated,
    pub settings: Settings,
    pub plan: Plan,
    pub logger: Logger,
    pub console: Option<Logger>,
    pub outputs: Opened,
}

/// The outputs for samples, with their descriptions.
pub struct Opened {
    pub outputs: Outputs,
    pub names: Vec<String>,
}

/// The results of a run that its record does not contain.
#[derive(Default)]
pub struct Outcome {
    /// Why the run ended early. `None` if it did not.
    pub aborted: Option<RunError>,
    /// Whether the script called `exec.test.fail`.
    pub is_failed: bool,
    /// Result computed at the end of the run. `None` if the worker did not get that far.
    pub result: Option<RunResult>,
}

impl Shared {
    /// Assembles a test. Fails if thresholds are invalid.
    pub fn new(parts: Parts) -> Result<Arc<Shared>, String> {
        let Parts {
            script,
            consolidated,
            settings,
            plan,
            logger,
            console,
            outputs,
        } = parts;
        let registry = script.metrics();
        let trend_stats = consolidated.trend_stats();
        let options = consolidated.options;
        let thresholds = match &options.thresholds {
            Some(thresholds) if settings.no_thresholds != Some(true) => {
                ThresholdSet::parse(thresholds, &registry)?
            }
            _ => ThresholdSet::default(),
        };
        Ok(Arc::new(Shared {
            progress: Progress::new(plan.scenarios.len()),
            team: Team::new(plan.scenarios.len()),
            first_positions: plan.first_positions(),
            registry,
            thresholds,
            trend_stats,
            script,
            options,
            settings,
            plan,
            logger,
            console,
            output_names: outputs.names,
            outputs: Mutex::new(outputs.outputs),
            outcome: Mutex::default(),
        }))
    }

    /// Returns whether any iterations are arrivals of a schedule. The ledger of arrivals then
    /// contains only these, without the iterations of other executors.
    pub fn has_arrivals(&self) -> bool {
        let mut scenarios = self.plan.scenarios.iter();
        scenarios.any(|scenario| scenario.executor.arrivals().is_some())
    }

    /// Returns the part of a scenario's virtual users and arrivals that a worker runs.
    pub fn scenario_share(&self, worker: Share, scenario: usize) -> Share {
        let first = self.first_positions.get(scenario).copied();
        let shift = first.unwrap_or_default() % worker.of;
        Share {
            index: (worker.index + worker.of - shift) % worker.of,
            of: worker.of,
        }
    }

    pub fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the outputs for a worker.
    pub fn worker_outputs(&self) -> WorkerOutputs {
        self.outputs().for_worker()
    }

    /// Takes the outputs, to wait for their end.
    pub fn take_outputs(&self) -> Outputs {
        std::mem::take(&mut *self.outputs())
    }

    fn outputs(&self) -> MutexGuard<'_, Outputs> {
        self.outputs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Stores why the run ends. Only the first reason is kept.
    pub fn end_early(&self, reason: RunError) {
        self.outcome().aborted.get_or_insert(reason);
    }

    pub fn abort(&self, reason: &str) {
        self.end_early(RunError::ScriptAborted(reason.to_owned()));
    }

    pub fn mark_failed(&self) {
        self.outcome().is_failed = true;
    }

    /// Returns the tags of a scenario's samples that do not come from the script.
    pub fn scenario_tags(&self, scenario: &Scenario) -> Tags {
        let mut tags = self.run_tags();
        for (name, value) in &scenario.tags {
            tags.set(name, value);
        }
        if self.options.enabled_system_tags().contains("scenario") {
            tags.set("scenario", &scenario.name);
        }
        tags
    }

    /// Returns the tags of all samples.
    pub fn run_tags(&self) -> Tags {
        let mut tags = Tags::default();
        for (name, value) in self.options.tags.iter().flat_map(|tags| &tags.0) {
            tags.set(name, value);
        }
        tags
    }

    /// Returns why no request may be sent to a host: the code and text of the error. `None` if
    /// requests are allowed.
    pub fn blocked(&self, host: &str) -> Option<(u32, String)> {
        let patterns = self.options.block_hostnames.as_ref();
        let pattern = patterns.and_then(|patterns| patterns.find(host))?;
        let text = format!("hostname ({host}) is in a blocked pattern ({pattern})");
        Some((1111, text))
    }

    /// Returns the options for `exec.test.options`, with the scenarios that result from shortcuts.
    pub fn options_json(&self) -> serde_json::Value {
        let mut options = self.options.to_json();
        if self.options.scenarios.is_none() {
            let scenarios = self.plan.scenarios.iter();
            let scenarios =
                scenarios.map(|scenario| (scenario.name.clone(), scenario_json(scenario)));
            options["scenarios"] = serde_json::Value::Object(scenarios.collect());
            for shortcut in ["vus", "duration", "iterations", "stages"] {
                options[shortcut] = serde_json::Value::Null;
            }
        }
        options
    }

    /// Returns the options of virtual users.
    pub fn vu_options(&self) -> VuOptions {
        let options = &self.options;
        let usual = VuOptions::default();
        let count = |value: Option<i64>, usual: usize| {
            value.map_or(usual, |value| usize::try_from(value).unwrap_or(0))
        };
        VuOptions {
            max_redirects: options
                .max_redirects
                .map(|most| u32::try_from(most).unwrap_or(0)),
            user_agent: options.user_agent.clone().unwrap_or(usual.user_agent),
            batch: count(options.batch, usual.batch),
            batch_per_host: count(options.batch_per_host, usual.batch_per_host),
            discard_response_bodies: options.discard_response_bodies == Some(true),
            no_cookies_reset: options.no_cookies_reset == Some(true),
            throw: options.throw == Some(true),
            tags: options
                .tags
                .iter()
                .flat_map(|tags| tags.0.clone())
                .collect(),
            system_tags: options.enabled_system_tags(),
            ..VuOptions::default()
        }
    }
}

/// Returns a scenario in the form that scripts use. Shortcuts stand only for executors of virtual
/// users.
fn scenario_json(scenario: &Scenario) -> serde_json::Value {
    let text = |ns: u64| DurationNs(i64::try_from(ns).unwrap_or(i64::MAX)).to_string();
    let mut json = match &scenario.executor {
        Executor::ConstantVus { vus, duration_ns } => {
            json!({ "vus": vus, "duration": text(*duration_ns) })
        }
        Executor::SharedIterations {
            vus,
            iterations,
            max_duration_ns,
        }
        | Executor::PerVuIterations {
            vus,
            iterations,
            max_duration_ns,
        } => json!({
            "vus": vus,
            "iterations": iterations,
            "maxDuration": text(*max_duration_ns),
        }),
        Executor::RampingVus(ramp) => {
            let stages = ramp.stages.iter().map(
                |stage| json!({ "duration": text(stage.duration_ns), "target": stage.target }),
            );
            json!({
                "startVUs": ramp.start_vus,
                "stages": stages.collect::<Vec<_>>(),
                "gracefulRampDown": text(ramp.graceful_ramp_down_ns),
            })
        }
        Executor::ConstantArrivalRate(_) | Executor::RampingArrivalRate(_) => json!({}),
    };
    json["executor"] = scenario.executor.kind().name().into();
    json["exec"] = scenario.exec.clone().into();
    json["startTime"] = text(scenario.start_time_ns).into();
    json["gracefulStop"] = text(scenario.graceful_stop_ns).into();
    json
}
