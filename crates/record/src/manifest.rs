//! `manifest.json`: the description of the run, written at the start and again at the end.

use std::{fs, path::Path};

use measure::NegotiatedVersion;
use plan::{Share, TraceContext, about::About};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, RecordError, SCHEMA};
use crate::redact::Redactor;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFacts {
    pub source: String,
    #[serde(flatten)]
    pub pool: plan::server::PoolMetrics,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    pub schema: u32,
    pub state: RunState,
    pub tool: Tool,
    pub pid: u32,
    #[serde(default)]
    pub run_id: String,
    #[serde(default)]
    pub plan_sha256: String,
    /// Share of the run that this record covers. `None` if the record covers the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_run: Option<Box<Whole>>,
    pub command: Vec<String>,
    pub frontend: String,
    pub name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    pub target: String,
    pub load: LoadFacts,
    pub phases: Vec<PhaseFacts>,
    #[serde(default)]
    pub scenarios: Vec<ScenarioFacts>,
    pub criteria: Vec<String>,
    /// Criteria of the plan that this run cannot decide, for example with `--once`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged_criteria: Vec<String>,
    /// Whether the run passes even if all requests failed. Affects only runs without criteria.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub allow_failures: bool,
    pub stop: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolFacts>,
    pub notes: Vec<String>,
    /// HTTP versions that servers negotiated, without origins that can only use HTTP/1.1.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub negotiated: Vec<NegotiatedVersion>,
    /// Which requests carry a trace context. `None` means no requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_context: Option<TraceContext>,
    /// URL of a trace, with `{trace_id}`. `None` if reports contain no links to traces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_url: Option<String>,
    #[serde(
        default,
        alias = "plugins",
        skip_serializing_if = "serde_json::Value::is_null"
    )]
    pub frontend_settings: serde_json::Value,
    pub workers: usize,
    pub seed: u64,
    pub start: RunStart,
    /// End of the run. `None` while the run is in progress, or if it was killed.
    pub end: Option<RunEnd>,
    pub files: Vec<FileFacts>,
    pub git: Option<String>,
    pub host: Host,
    pub histograms: Layout,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    pub load: LoadFacts,
    pub phases: Vec<PhaseFacts>,
    pub criteria: Vec<String>,
}

/// State of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// The run has not finished, or was killed.
    Running,
    /// The run reached its planned end.
    Complete,
    /// A signal or a stop rule ended the run early.
    Interrupted,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    pub name: String,
    pub version: String,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadFacts {
    pub model: Model,
    pub text: String,
    /// Number of planned arrivals. `None` if the load is closed.
    pub planned: Option<u64>,
    pub users: Option<u32>,
    /// Number of iterations after which a closed load ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub iterations: Option<u64>,
    /// End of the phase, in nanoseconds from the start of the run.
    pub end_ns: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// Workloads in the order of the plan. Empty if the plan has a single load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadFacts>,
}

/// A workload of a run. Times count from the start of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    pub name: String,
    pub model: Model,
    pub text: String,
    pub start_ns: u64,
    pub end_ns: u64,
    /// Number of planned arrivals. `None` if the workload is closed.
    pub planned: Option<u64>,
    /// Maximum number of users. `None` if the workload is open.
    pub users: Option<u32>,
    /// Names of the workload's scenarios. A scenario belongs to one workload.
    pub scenarios: Vec<String>,
    /// Start and end of each phase in which the load is constant, in nanoseconds from the start of
    /// the run.
    pub constant_ns: Vec<(u64, u64)>,
    /// Start and end of each constant phase without load: a pause, or no users.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_ns: Vec<(u64, u64)>,
}

impl LoadFacts {
    /// Returns the workload of a scenario, with its index. `None` if the plan has a single load.
    #[must_use]
    pub fn workload_of(&self, scenario: &str) -> Option<(usize, &WorkloadFacts)> {
        let mut workloads = self.workloads.iter().enumerate();
        workloads.find(|(_, workload)| workload.scenarios.iter().any(|own| own == scenario))
    }

    /// Returns whether the ledger of arrivals contains the iterations of a scenario. It omits
    /// closed workloads that run alongside open ones.
    #[must_use]
    pub fn counts_as_arrivals(&self, scenario: &str) -> bool {
        let is_closed = |(_, workload): (usize, &WorkloadFacts)| workload.model == Model::Closed;
        self.model != Model::Mixed || !self.workload_of(scenario).is_some_and(is_closed)
    }

    /// Returns whether part of the load is a closed loop.
    #[must_use]
    pub fn has_users(&self) -> bool {
        matches!(self.model, Model::Closed | Model::Mixed)
    }

    /// Returns the end of the load in nanoseconds from the start, to show progress. `None` if the
    /// load ends with its last iteration, or has no duration.
    #[must_use]
    pub fn known_end_ns(&self) -> Option<u64> {
        Some(self.end_ns).filter(|end_ns| *end_ns > 0 && self.iterations.is_none())
    }
}

/// Model of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Arrivals follow the schedule, independently of responses.
    Open,
    /// Closed model: each of a number of virtual users waits for its responses.
    Closed,
    /// Several workloads, some of them open and some closed.
    Mixed,
    /// A single iteration.
    Once,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseFacts {
    pub name: Option<String>,
    pub text: String,
    pub duration_text: String,
    pub start_ns: u64,
    pub end_ns: u64,
    pub planned: u64,
    /// Whether the load is constant. `None` in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioFacts {
    /// Name or index of the scenario. Its iterations have this label.
    pub name: String,
    pub weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    pub wall_ns: u64,
    pub monotonic_ns: u64,
    pub utc: String,
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncertainty_ns: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    pub ns: u64,
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// Time after which the record could not be written. `None` if it was written completely.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_ends_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_to_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineCounts {
    pub events: u64,
    pub frontend: u64,
    pub server: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    pub path: String,
    /// Hash of the file. `None` if the file could not be read.
    pub sha256: Option<String>,
    pub bytes: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde requires this signature"
)]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    pub unit: String,
    pub lowest: u64,
    pub highest: u64,
    pub significant_digits: u8,
}

impl Manifest {
    /// Returns a copy without secrets. States, times and hashes never contain secrets.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Manifest {
        let mut manifest = self.clone();
        let hide = |text: &mut String| *text = redactor.text(text);
        manifest.command = redactor.command(&self.command);
        [&mut manifest.name, &mut manifest.target]
            .into_iter()
            .for_each(hide);
        manifest.node.iter_mut().for_each(hide);
        manifest.trace_url.iter_mut().for_each(hide);
        for list in [
            &mut manifest.criteria,
            &mut manifest.unjudged_criteria,
            &mut manifest.stop,
            &mut manifest.notes,
        ] {
            list.iter_mut().for_each(hide);
        }
        let full_run = manifest.full_run.as_deref_mut();
        let (load, phases, criteria) = full_run.map_or_else(Default::default, |full_run| {
            (
                Some(&mut full_run.load),
                Some(&mut full_run.phases),
                Some(&mut full_run.criteria),
            )
        });
        let loads = load.into_iter().chain([&mut manifest.load]);
        loads.for_each(|load| {
            hide(&mut load.text);
            for workload in &mut load.workloads {
                let names = workload.scenarios.iter_mut().chain([&mut workload.name]);
                names.chain([&mut workload.text]).for_each(hide);
            }
        });
        criteria.into_iter().flatten().for_each(hide);
        for phase in manifest
            .phases
            .iter_mut()
            .chain(phases.into_iter().flatten())
        {
            phase
                .name
                .iter_mut()
                .chain([&mut phase.text, &mut phase.duration_text])
                .for_each(hide);
        }
        for scenario in &mut manifest.scenarios {
            hide(&mut scenario.name);
        }
        manifest
            .files
            .iter_mut()
            .map(|file| &mut file.path)
            .for_each(hide);
        manifest
            .end
            .iter_mut()
            .filter_map(|end| end.reason.as_mut())
            .for_each(hide);
        manifest
    }

    pub fn phases_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = u32> + 'a {
        let number = name.parse::<usize>().ok();
        let fits = move |(i, phase): &(usize, &PhaseFacts)| {
            phase
                .name
                .as_deref()
                .map_or(number == Some(i + 1), |own| own == name)
        };
        self.phases
            .iter()
            .enumerate()
            .filter(fits)
            .map(|(i, _)| i as u32)
    }
}

pub fn read(dir: &Path) -> Result<Manifest, RecordError> {
    let damaged = |reason: String| RecordError::NoManifest {
        path: dir.to_owned(),
        reason,
    };
    let bytes = fs::read(dir.join("manifest.json"))
        .map_err(|error| damaged(format!("manifest.json: {error}")))?;
    // Read the version first, because manifests of newer versions may lack fields.
    let value: serde_json::Value = serde_json::from_slice(&bytes)
        .map_err(|error| damaged(format!("manifest.json: {error}")))?;
    let schema = value
        .get("schema")
        .and_then(serde_json::Value::as_u64)
        .unwrap_or(0);
    if schema > u64::from(SCHEMA) {
        return Err(RecordError::Newer {
            path: dir.to_owned(),
            schema: u32::try_from(schema).unwrap_or(u32::MAX),
        });
    }
    if (1..u64::from(SCHEMA)).contains(&schema) {
        return Err(RecordError::Older {
            path: dir.to_owned(),
            schema: u32::try_from(schema).unwrap_or(u32::MAX),
        });
    }
    serde_json::from_value(value).map_err(|error| damaged(format!("manifest.json: {error}")))
}
