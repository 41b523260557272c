//! The summary: every reported figure. It is computed from the record and saved as `summary.json`.
//! See `docs/reference/summary-json.md`.

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

pub const SCHEMA: u32 = 2;

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
    /// Whether the criteria held, with the measured value of each.
    pub criteria: Vec<Judged>,
    /// Whether the measurement can be trusted. `None` if it was not judged.
    pub measurement: Option<Measurement>,
    /// Exit code of `loadline run`.
    pub exit_code: u8,
    /// The arrivals ledger. `None` if no arrivals are scheduled and no iterations are counted.
    pub arrivals: Option<ArrivalLedger>,
    /// Processes that were lost during the run, and what was lost with them. Empty if none was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Loss>,
    /// The requests ledger.
    pub requests: Requests,
    /// Planned and achieved load, by phase.
    pub phases: Vec<PhaseRow>,
    /// Planned and achieved volume, by scenario. Empty if the load has no scenarios.
    #[serde(default)]
    pub scenarios: Vec<ScenarioRow>,
    /// First, last and best quarter of the load. `None` if the run was too short.
    pub trend: Option<Trend>,
    /// Whether and when the service settled under constant load. `None` for a single iteration, for
    /// results of other tools, and if nothing was sent.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// How the target recovered. `None` if there is nothing to report, in closed loops, and for a
    /// run that did not complete.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// Which of the measured resources reached their limits. `None` if no service was measured.
    #[serde(default)]
    pub saturation: Option<Saturation>,
    /// How closely the plan's mocks kept to the requested times. Empty if none was called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mocks: Vec<MockRow>,
    /// Results by node if several machines ran the test; otherwise empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRow>,
    /// All requests.
    pub all: Row,
    /// A row per label of requests.
    pub labels: Vec<Row>,
    /// A row per scenario.
    pub iterations: Vec<Row>,
    /// A row per group of the plan (steps that are timed together), in the order of the plan. Empty
    /// if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<Row>,
    /// More percentiles of all requests, of each label, of each scenario and of each group.
    #[serde(alias = "ladders")]
    pub percentiles: Vec<PercentileRow>,
    /// Confidence intervals of the headline percentiles.
    pub confidence: Vec<Confidence>,
    /// Intended start → the worker takes up the request, of all requests.
    pub lateness: Option<Stats>,
    /// The worker takes up the request → first byte written, of all requests.
    pub wait: Option<Stats>,
    /// From the test script's call until the response is returned to it, of all requests. `None` if
    /// no script sends requests.
    #[serde(default)]
    pub script: Option<Stats>,
    /// From the last byte read until the response is returned to the test script, which was busy
    /// until then.
    #[serde(default)]
    pub lag: Option<Stats>,
    /// TCP connects.
    pub connect: Option<Stats>,
    /// TLS handshakes.
    pub tls: Option<Stats>,
    /// Requests in flight.
    pub in_flight: LevelStats,
    /// Virtual users running.
    pub users: LevelStats,
    /// Connections opened.
    pub connections_opened: u64,
    /// What went wrong, most frequent first.
    pub errors: Vec<ErrorRow>,
    /// Conclusions, one sentence each.
    pub conclusions: Vec<Conclusion>,
    /// Assumptions that were made.
    pub assumptions: Vec<String>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// Folder of the record. `None` if it could not be written.
    pub record: Option<String>,
}

impl Summary {
    /// The headline time: response time if every request has one, iteration time in open runs whose
    /// iterations have several requests, otherwise service time.
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

    /// Rows for tables: all requests and each label, or only the label if there is just one.
    #[must_use]
    pub fn request_rows(&self) -> Vec<&Row> {
        match self.labels.as_slice() {
            [one] if one.count == self.all.count && self.run.imported_from.is_none() => vec![one],
            labels => [&self.all].into_iter().chain(labels).collect(),
        }
    }

    /// Rows for tables. Empty if each iteration is one scheduled request, because its row would be
    /// equal.
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

    /// The headline statistics and the row they are from: all requests, or the most frequent
    /// scenario.
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
    /// Name of the run in titles.
    pub name: String,
    /// The base URL.
    pub target: String,
    /// The command that made the run: `run`, `artillery`, `mqtt`, `wrk` or `locust`.
    pub frontend: String,
    /// When the run started, in UTC.
    pub started_utc: String,
    /// When the run started, in nanoseconds since 1970.
    pub started_wall_ns: u64,
    /// Whether the run is running, complete or interrupted.
    pub state: RunState,
    /// Why the run ended early.
    pub ended_by: Option<String>,
    /// The stop rule that ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    /// The model of the load.
    pub model: Model,
    /// The load in words.
    pub load: String,
    /// From the start to the last completion or the end of the load, whichever is later. Rates are
    /// relative to this time.
    pub elapsed_ns: u64,
    /// The tool that measured, if it was not Loadline. Its times have their own definition and are
    /// reported as service times.
    #[serde(default)]
    pub imported_from: Option<String>,
    /// Loadline's version.
    pub version: String,
    /// Number of worker threads. `None` for imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// The seed. `None` for imported runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// End of the record in nanoseconds from the start, if the record is damaged or could not be
    /// written completely. All figures cover only the time before it. `None` if the record holds
    /// the whole run.
    #[serde(default)]
    pub record_ends_ns: Option<u64>,
    /// Why the record could not be written, which ended the run. Its figures then decide nothing.
    /// Missing otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
}

/// All figures of one label.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    /// The label's number.
    pub id: LabelId,
    /// What the label counts: requests, iterations, transactions and so on.
    #[schemars(with = "String")]
    pub group: LabelGroup,
    /// The label, as reports show it.
    pub text: String,
    /// Requests (or iterations, or transactions) that ended, whatever the outcome.
    pub count: u64,
    /// Requests that failed or had no complete response.
    pub errors: u64,
    /// Share of `errors` in `count`. `None` if nothing ended.
    pub error_share: Option<f64>,
    /// `count` per second of the run's elapsed time.
    pub per_second: f64,
    /// First byte written → last byte read.
    pub service: Option<Stats>,
    /// Intended start → last byte read. Only if the schedule set the intended start of every
    /// request.
    pub response: Option<Stats>,
    /// Intended arrival → last response of the iteration. For a transaction: its first step was due
    /// → its last step ended.
    pub iteration: Option<Stats>,
    /// The iteration time without pauses. `None` if there are no pauses, or if they are unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaused: Option<Stats>,
    /// Responses by status.
    pub codes: BTreeMap<u16, u64>,
    /// Requests without a complete response, by class.
    #[serde(rename = "none")]
    pub unanswered: BTreeMap<String, u64>,
    /// Bytes written.
    pub bytes_out: u64,
    /// Bytes read.
    pub bytes_in: u64,
    /// Which of `count`, `errors`, `per_second` and `bytes_in` the measuring tool did not report.
    /// Reports omit them. Only for imported runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreported: Vec<String>,
}

impl Row {
    #[must_use]
    pub fn reports(&self, figure: &str) -> bool {
        !self.unreported.iter().any(|name| name == figure)
    }

    /// The name of the row. Adds the scope if the row spans several requests.
    #[must_use]
    pub fn called(&self) -> String {
        match self.group {
            LabelGroup::Transaction => format!("transaction {}", self.text),
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
    /// Largest sample. With several workers, the sum of their largest samples, which is an upper
    /// bound.
    pub max: u64,
}
