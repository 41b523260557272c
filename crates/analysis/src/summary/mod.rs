//! The summary: every reported figure, computed from the record and saved as `summary.json`. See
//! `docs/reference/summary-json.md`.

mod build;
mod json;
mod mocks;
mod nodes;
mod notes;
mod percentiles;
mod phases;
mod recovery;
mod scenarios;
mod trend;

use std::collections::BTreeMap;

use measure::{LabelId, TimeKind, label::LabelGroup};
use plan::work::DEFAULT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use build::cut_text;
pub(crate) use build::summary;
pub use json::json;
pub use mocks::{MockCapacity, MockRow, MockTime, mock_rows};
pub use notes::{Conclusion, Deciding, Headline, Tone};
pub use percentiles::{PercentileRow, SHARES};
pub use phases::PhaseRow;
pub use recovery::{AfterLoad, PeakRecovery, Recovery};
pub use scenarios::ScenarioRow;
pub use trend::{Trend, TrendSpan};

pub use crate::{
    saturation::{Reached, Saturation},
    steady::{Behaviour, Steady},
};

pub use crate::figures::{
    ArrivalLedger, Confidence, ErrorRow, Figure, Loss, Requests, Stats, Thin,
};
use crate::verdict::{Judged, Measurement};

use record::{Model, NodeRow, RunState};

pub const SCHEMA: u32 = 1;

#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Summary);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

/// Every figure of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    /// Version of the summary's format.
    pub schema: u32,
    /// What was run.
    pub run: Identity,
    /// What to read first.
    pub verdict: Headline,
    /// Whether the criteria held, each with its measured value.
    pub criteria: Vec<Judged>,
    /// Whether the measurement can be trusted; none: not judged.
    pub measurement: Option<Measurement>,
    /// What `loadline run` exits with.
    pub exit_code: u8,
    /// The arrivals ledger; none when nothing arrives by a schedule and no iterations are counted.
    pub arrivals: Option<ArrivalLedger>,
    /// The processes that were lost while the run went on, and what was lost with them; empty where none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Loss>,
    /// The requests ledger.
    pub requests: Requests,
    /// Plan against achieved, phase by phase.
    pub phases: Vec<PhaseRow>,
    /// Plan against achieved, scenario by scenario; empty where the load has no scenarios.
    #[serde(default)]
    pub scenarios: Vec<ScenarioRow>,
    /// The course of the run; none when it was too short to have one.
    pub trend: Option<Trend>,
    /// Whether the service settled under a load that stayed the same, and from when on; none of a single iteration, of what another tool
    /// measured, and where nothing was sent.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// How the target came back to rest; none where there is nothing to tell, in closed loops, and of a run that did not come to its end.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// Which of the resources that were measured beside the load reached their limits; none where nothing of a service was measured.
    #[serde(default)]
    pub saturation: Option<Saturation>,
    /// How near the services that the plan put behind the target came to what was asked of them; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mocks: Vec<MockRow>,
    /// How each node of a run did that several machines carried out; empty of others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRow>,
    /// All requests.
    pub all: Row,
    /// A row per label of requests.
    pub labels: Vec<Row>,
    /// A row per scenario.
    pub iterations: Vec<Row>,
    /// A row per group of the plan: steps that have a time together, in the order of the plan; empty where there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<Row>,
    /// More percentiles of all requests, of each label, of each scenario and of each group.
    #[serde(alias = "ladders")]
    pub percentiles: Vec<PercentileRow>,
    /// How far the headline percentiles may be off.
    pub confidence: Vec<Confidence>,
    /// Intended start → the worker turned to it, of all requests.
    pub lateness: Option<Stats>,
    /// The worker turned to it → first byte written, of all requests.
    pub wait: Option<Stats>,
    /// The call of the test's own code → the answer in its hands, of all requests; none where no such code sends requests.
    #[serde(default)]
    pub script: Option<Stats>,
    /// Last byte read → the answer in the hands of the test's own code: for so long that was busy elsewhere.
    #[serde(default)]
    pub lag: Option<Stats>,
    /// TCP connects.
    pub connect: Option<Stats>,
    /// TLS handshakes.
    pub tls: Option<Stats>,
    /// Requests under way.
    pub in_flight: LevelStats,
    /// Virtual users under way.
    pub users: LevelStats,
    /// Connections opened.
    pub connections_opened: u64,
    /// What went wrong, most frequent first.
    pub errors: Vec<ErrorRow>,
    /// What follows, sentence by sentence.
    pub conclusions: Vec<Conclusion>,
    /// What was taken for granted.
    pub assumptions: Vec<String>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Where the record is; none when it could not be written.
    pub record: Option<String>,
}

impl Summary {
    /// Headline time: response time if every request has one, iteration time in open runs with
    /// several requests, otherwise service time.
    #[must_use]
    pub fn headline(&self) -> TimeKind {
        if self.all.response.is_some() {
            TimeKind::Response
        } else if self.run.model == Model::Open
            && !self.iterations.is_empty()
            && self.run.imported_from.is_none()
        {
            TimeKind::Iteration
        } else {
            TimeKind::Service
        }
    }

    #[must_use]
    pub fn headline_name(&self) -> &'static str {
        match self.headline() {
            TimeKind::Response => "response time",
            TimeKind::Iteration => "iteration time",
            _ if self.run.imported_from.is_some() => "response time",
            _ => "service time",
        }
    }

    /// Whether the figures describe the generator more than the server.
    #[must_use]
    pub fn is_generators(&self) -> bool {
        let verdict = self.measurement.as_ref().map(|m| m.verdict.as_str());
        verdict.is_some_and(|verdict| verdict != "VALID")
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let of_requests = [&self.all].into_iter().chain(&self.labels);
        of_requests
            .chain(&self.iterations)
            .chain(&self.transactions)
    }

    /// Rows for tables: all requests and each label, or the only label alone.
    #[must_use]
    pub fn request_rows(&self) -> Vec<&Row> {
        match self.labels.as_slice() {
            [one] if one.count == self.all.count && self.run.imported_from.is_none() => vec![one],
            labels => [&self.all].into_iter().chain(labels).collect(),
        }
    }

    /// Rows for tables; none if each iteration is one scheduled request, whose row is equal.
    #[must_use]
    pub fn iteration_rows(&self) -> &[Row] {
        let says_the_same = |request: &Row, whole: &Row| {
            request.response.is_some()
                && whole.unpaused.is_none()
                && (whole.count, whole.errors) == (request.count, request.errors)
        };
        match (self.labels.as_slice(), self.iterations.as_slice()) {
            ([request], [whole]) if says_the_same(request, whole) => &[],
            (_, rows) => rows,
        }
    }

    /// Headline statistics with their row: all requests, or the most frequent scenario.
    #[must_use]
    pub fn headline_stats(&self) -> Option<(&Row, &Stats)> {
        match self.headline() {
            TimeKind::Response => self.all.response.as_ref().map(|stats| (&self.all, stats)),
            TimeKind::Iteration => {
                let row = self.iterations.iter().max_by_key(|row| row.count)?;
                row.iteration.as_ref().map(|stats| (row, stats))
            }
            _ => self.all.service.as_ref().map(|stats| (&self.all, stats)),
        }
    }
}

/// A stop rule that ended a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// When it fired, in nanoseconds from the start.
    pub at_ns: u64,
    /// The rule, and what was measured in its window.
    pub text: String,
}

/// What was run, when, and how.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    /// What the run is called in titles.
    pub name: String,
    /// The base URL.
    pub target: String,
    /// The front door.
    pub door: String,
    /// When it started.
    pub started_utc: String,
    /// The same in nanoseconds since 1970.
    pub started_wall_ns: u64,
    /// Whether it came to its end.
    pub state: RunState,
    /// Why it ended early.
    pub ended_by: Option<String>,
    /// The stop rule that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// The model of the load.
    pub model: Model,
    /// The load in words.
    pub load: String,
    /// From the start to the last completion or the end of the load, whichever is later: what rates are divided by.
    pub elapsed_ns: u64,
    /// The tool that measured, where it was not Loadline: its times have its own definition, and stand as service times.
    #[serde(default)]
    pub imported_from: Option<String>,
    /// Loadline's version.
    pub version: String,
    /// Worker threads; none of imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// The seed; none of imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// Where the record ends, in nanoseconds from the start, when it is damaged or could not be written: all figures are of what is
    /// before that. None: it holds the run.
    #[serde(default)]
    pub record_ends_ns: Option<u64>,
    /// Why the run's record could not be written, which ended the run: its figures decide nothing. Missing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
}

/// Everything of one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The label's number.
    pub id: LabelId,
    /// What it counts.
    #[schemars(with = "String")]
    pub group: LabelGroup,
    /// As renderings show it.
    pub text: String,
    /// Requests (or iterations, or transactions) that ended, in whatever way.
    pub count: u64,
    /// Those that failed or had no complete answer.
    pub errors: u64,
    /// Their share; none of nothing.
    pub error_share: Option<f64>,
    /// `count` per second of the run's elapsed time.
    pub per_second: f64,
    /// First byte written → last byte read.
    pub service: Option<Stats>,
    /// Intended start → last byte read; only where the schedule set the intended start of every request.
    pub response: Option<Stats>,
    /// Intended arrival → last answer of the iteration; of a transaction, its first step was due → its last ended.
    pub iteration: Option<Stats>,
    /// The same without its pauses; none where it has none, and where they are not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaused: Option<Stats>,
    /// Answers by status.
    pub codes: BTreeMap<u16, u64>,
    /// Without a complete answer, by class.
    #[serde(rename = "none")]
    pub unanswered: BTreeMap<String, u64>,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Which of `count`, `errors`, `per_second`, `bytes_in` the tool that measured did not tell: they are in no rendering. Only
    /// of imported runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_told: Vec<String>,
}

impl Row {
    #[must_use]
    pub fn reports(&self, figure: &str) -> bool {
        !self.not_told.iter().any(|name| name == figure)
    }

    /// Its name, with the scope if it spans requests.
    #[must_use]
    pub fn called(&self) -> String {
        match self.group {
            LabelGroup::Transaction => format!("transaction {}", self.text),
            // The scenario has no name.
            LabelGroup::Iteration if self.text == DEFAULT => "iteration".to_owned(),
            LabelGroup::Iteration => format!("iteration {}", self.text),
            _ => self.text.clone(),
        }
    }
}

/// A level that was sampled.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelStats {
    /// Mean over the run's samples.
    pub mean: f64,
    /// Largest sample; of several workers the sum of theirs, which is an upper bound.
    pub max: u64,
}
