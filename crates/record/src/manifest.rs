//! `manifest.json`: what the run was, written first and rewritten at the end. Everything a reader needs beside the counts
//! stands here, so that no reader has to understand the plan again. How it comes about is `begin`'s job.

use std::{fs, path::Path};

use plan::{Share, about::About};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, RecordError, SCHEMA};
use crate::redact::Redactor;

/// A pool that the plan declares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolFacts {
    /// The source that measures it.
    pub source: String,
    /// Its metrics.
    #[serde(flatten)]
    pub pool: plan::server::PoolMetrics,
}

/// What the run was.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the record's format.
    pub schema: u32,
    /// Whether it came to its end.
    pub state: RunState,
    /// What wrote it.
    pub tool: Tool,
    /// The process that wrote it.
    pub pid: u32,
    /// What all processes of the run have in common, and no other run.
    #[serde(default)]
    pub run_id: String,
    /// Of the plan without its secrets, as `plan.json` has it.
    #[serde(default)]
    pub plan_sha256: String,
    /// Of one process of several: its share of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Of one process of several: what the machine is called, where somebody conducts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Of a run of several processes: how many there are, each with a record in `parts/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processes: Option<u64>,
    /// Of one process of several: what the whole run is, for whoever puts its parts together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whole: Option<Box<Whole>>,
    /// The command line, redacted.
    pub command: Vec<String>,
    /// The front door: run, artillery, mqtt, wrk, locust.
    pub door: String,
    /// What the run is called in titles.
    pub name: String,
    /// What the test is for, in its owner's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// The base URL.
    pub target: String,
    /// The load.
    pub load: LoadFacts,
    /// Its phases, in order.
    pub phases: Vec<PhaseFacts>,
    /// What virtual users do, in the plan's order; empty where the load has no scenarios.
    #[serde(default)]
    pub scenarios: Vec<ScenarioFacts>,
    /// What is judged at the end, as written.
    pub criteria: Vec<String>,
    /// What ends the run, as written.
    pub stop: Vec<String>,
    /// Pools that the plan declares, each with the name of its source.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pools: Vec<PoolFacts>,
    /// What the plan's reader had to say.
    pub notes: Vec<String>,
    /// What the front door keeps for showing the run again, in its own shape.
    #[serde(
        default,
        alias = "plugins",
        skip_serializing_if = "serde_json::Value::is_null"
    )]
    pub door_settings: serde_json::Value,
    /// Worker threads.
    pub workers: usize,
    /// The seed of everything random.
    pub seed: u64,
    /// The zero of all times, on both clocks.
    pub start: RunStart,
    /// How it ended; none while it runs, or when it was killed.
    pub end: Option<RunEnd>,
    /// The files it was read from.
    pub files: Vec<FileFacts>,
    /// Revision of the git repository in which it was started.
    pub git: Option<String>,
    /// The machine that generated the load.
    pub host: Host,
    /// The layout of all histograms.
    pub histograms: Layout,
}

/// What a run is that several processes carry out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Whole {
    /// All of its load.
    pub load: LoadFacts,
    /// Its phases, in order.
    pub phases: Vec<PhaseFacts>,
    /// What is judged at its end, as written.
    pub criteria: Vec<String>,
}

/// Whether a run came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It is under way, or was killed.
    Running,
    /// It came to its planned end.
    Complete,
    /// A signal or a stop rule ended it earlier.
    Interrupted,
}

/// What wrote a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// `loadline`.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// The load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadFacts {
    /// The model.
    pub model: Model,
    /// In words.
    pub text: String,
    /// Arrivals planned; none in a closed loop.
    pub planned: Option<u64>,
    /// Virtual users of a closed loop.
    pub users: Option<u32>,
    /// When the last phase ends, in nanoseconds from the start.
    pub end_ns: u64,
    /// How often it was changed while it went on; what is said here is as of the last time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub changes: u64,
    /// Who outside decides how many users there are and when the load ends; then its end is known behind it only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}

/// The model of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Arrivals come by the schedule, whatever the answers do.
    Open,
    /// So many virtual users, each waiting for its answers.
    Closed,
    /// One iteration.
    Once,
}

/// A phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PhaseFacts {
    /// As the file names it.
    pub name: Option<String>,
    /// In words.
    pub text: String,
    /// The duration as the file wrote it; empty when it wrote none.
    pub duration_text: String,
    /// Start, in nanoseconds from the start of the test.
    pub start_ns: u64,
    /// End.
    pub end_ns: u64,
    /// Arrivals planned.
    pub planned: u64,
    /// Whether the load is the same from its start to its end; none where the record does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub constant: Option<bool>,
}

/// A scenario.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScenarioFacts {
    /// Its name, or its place in the plan from 0: the label of its iterations.
    pub name: String,
    /// Its share of the arrivals, in proportion to the sum of all weights.
    pub weight: u32,
}

/// The start of the test on both clocks, which is the zero of all other times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStart {
    /// Nanoseconds since 1970.
    pub wall_ns: u64,
    /// `CLOCK_MONOTONIC`, in nanoseconds.
    pub monotonic_ns: u64,
    /// The wall time for people.
    pub utc: String,
    /// By how much the wall clock may be off from that of the run's other processes.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub uncertainty_ns: u64,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When, in nanoseconds from the start.
    pub ns: u64,
    /// Why it ended before its time: the signal, or the stop rule that fired.
    pub reason: Option<String>,
    /// The kind of reason: signal, page, limit, fault, or rule pass, rule fail, rule inconclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The record lacks what came after this moment, because it could no longer be written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_ends_ns: Option<u64>,
    /// The end of the run's last interval: a record whose own ends earlier lacks something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_to_ns: Option<u64>,
    /// How many lines the record's files had by then, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<LineCounts>,
}

/// Numbers of lines, for files whose content no counter repeats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LineCounts {
    /// Of `events.jsonl`.
    pub events: u64,
    /// Of `door.jsonl`.
    pub door: u64,
    /// Of `server.jsonl`.
    pub server: u64,
}

/// A file that the run was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileFacts {
    /// As the user named it.
    pub path: String,
    /// Of its content; none if it could not be read.
    pub sha256: Option<String>,
    /// Its size.
    pub bytes: u64,
}

#[allow(
    clippy::trivially_copy_pass_by_ref,
    reason = "the form that serde asks for"
)]
fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// The layout of all histograms: HdrHistogram's.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// `ns`.
    pub unit: String,
    /// Lowest value told apart from zero.
    pub lowest: u64,
    /// Highest value with a cell of its own.
    pub highest: u64,
    /// Digits kept.
    pub significant_digits: u8,
}

impl Manifest {
    /// A copy without secrets. What a reader must understand again (names of states, times, hashes) cannot hold any.
    #[must_use]
    pub fn redacted(&self, redactor: &Redactor) -> Manifest {
        let mut manifest = self.clone();
        let hide = |text: &mut String| *text = redactor.text(text);
        manifest.command = redactor.command(&self.command);
        [
            &mut manifest.name,
            &mut manifest.target,
            &mut manifest.load.text,
        ]
        .into_iter()
        .for_each(hide);
        manifest.node.iter_mut().for_each(hide);
        for list in [
            &mut manifest.criteria,
            &mut manifest.stop,
            &mut manifest.notes,
        ] {
            list.iter_mut().for_each(hide);
        }
        let whole = manifest.whole.as_deref_mut();
        let (load, phases, criteria) = whole.map_or_else(Default::default, |whole| {
            (
                Some(&mut whole.load),
                Some(&mut whole.phases),
                Some(&mut whole.criteria),
            )
        });
        load.into_iter().for_each(|load| hide(&mut load.text));
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

    /// The phase of a name: the one it was given, or its number from 1.
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

/// The manifest of a run's folder.
///
/// # Errors
/// When there is none that could be read.
pub fn read(dir: &Path) -> Result<Manifest, RecordError> {
    let damaged = |reason: String| RecordError::NoManifest {
        path: dir.to_owned(),
        reason,
    };
    let bytes = fs::read(dir.join("manifest.json"))
        .map_err(|error| damaged(format!("manifest.json: {error}")))?;
    // The version first: a newer manifest need not have this one's fields.
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
    serde_json::from_value(value).map_err(|error| damaged(format!("manifest.json: {error}")))
}
