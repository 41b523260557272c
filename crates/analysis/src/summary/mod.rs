//! The summary: every reported figure, computed from the record and saved as `summary.json`. See
//! `docs/reference/summary-json.md`.

mod build;
pub(crate) mod custom;
mod deliveries;
mod http2;
mod json;
mod mocks;
mod nodes;
mod notes;
mod percentiles;
mod phases;
mod recovery;
mod scenarios;
mod server;
mod socketio;
pub(crate) mod stream;
mod traces;
mod trend;
mod websocket;
mod workloads;

use std::collections::{BTreeMap, BTreeSet};

use measure::{LabelId, TimeKind, label::LabelGroup};
use plan::work::DEFAULT;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use build::cut_text;
pub(crate) use build::summary;
pub use custom::{CustomRow, SHARE, SUM};
pub use deliveries::{DeliveryRow, LostRange};
pub use http2::{HeaderBytes, Http2, OriginVersion, RequestsPerConnection};
pub use json::json;
pub use mocks::{MockCapacity, MockRow, MockTime, mock_rows};
pub use notes::{Conclusion, Deciding, Headline, Tone};
pub use percentiles::{PercentileRow, SHARES};
pub use phases::PhaseRow;
pub use recovery::{AfterLoad, PeakRecovery, Recovery};
pub use scenarios::ScenarioRow;
pub use server::ServerRow;
pub use socketio::SocketIo;
pub use stream::{GoodputRow, StreamRow};
pub use traces::{SlowRequest, Traces};
pub use trend::{Trend, TrendSpan};
pub use websocket::WebSocket;
pub use workloads::WorkloadRow;

pub use crate::{
    saturation::{BusyGenerator, Reached, Saturation},
    steady::{Behaviour, Steady},
};

pub use crate::figures::{
    ArrivalLedger, Confidence, ErrorRow, Figure, Loss, Requests, Stats, Thin,
};
use crate::verdict::{Judged, Measurement};

use record::{Model, NodeRow, RunState};

pub const SCHEMA: u32 = 2;

/// Minimum number of requests for p99.9 to have at least ten samples beyond it.
pub const P999_SAMPLES: u64 = 10_000;

/// Fields of [`Stats`] that tables show.
pub const STATISTICS: [&str; 7] = ["mean_ns", "p50", "p90", "p95", "p99", "p999", "max"];

#[must_use]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Summary);
    serde_json::to_string_pretty(&schema).unwrap_or_default()
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub schema: u32,
    pub run: Identity,
    pub verdict: Headline,
    pub criteria: Vec<Judged>,
    /// Criteria of the plan that this run cannot decide.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unjudged_criteria: Vec<String>,
    /// Result of judging the measurement. `None` if it was not judged.
    pub measurement: Option<Measurement>,
    pub exit_code: u8,
    pub arrivals: Option<ArrivalLedger>,
    /// Processes that were lost during the run, with their lost load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<Loss>,
    pub requests: Requests,
    pub phases: Vec<PhaseRow>,
    #[serde(default)]
    pub scenarios: Vec<ScenarioRow>,
    /// Workloads of the plan. Empty if the plan has a single load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<WorkloadRow>,
    /// Load in its first, last and best quarters. `None` if the run was too short.
    pub trend: Option<Trend>,
    /// Steady state of the service. `None` for a single iteration, for an imported run, or if
    /// nothing was sent.
    #[serde(default)]
    pub steady: Option<Steady>,
    /// Recovery of the target. `None` for closed loops, for incomplete runs, and if there is
    /// nothing to report.
    #[serde(default)]
    pub recovery: Option<Recovery>,
    /// Resources that reached their limits. `None` if no service was measured.
    #[serde(default)]
    pub saturation: Option<Saturation>,
    /// Periods in which the CPU of the load generator's machine was fully used. `None` if there was
    /// no such period of several consecutive samples.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_generator: Option<BusyGenerator>,
    /// Metrics of the service over the whole run, by metric and instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<ServerRow>,
    /// Requests within bounds, for each goodput metric in the criteria.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goodput: Vec<GoodputRow>,
    /// Metrics that the test script reported.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub custom: Vec<CustomRow>,
    /// Published messages, and their deliveries to WebSocket listeners and MQTT subscribers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<DeliveryRow>,
    /// Accuracy of the mocks' response times. Empty if no mock was called.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub mocks: Vec<MockRow>,
    /// Results of each node. Empty unless several machines ran the test.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeRow>,
    pub all: Row,
    pub labels: Vec<Row>,
    pub iterations: Vec<Row>,
    /// A row for each group of steps that are timed together, in plan order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub transactions: Vec<Row>,
    #[serde(alias = "ladders")]
    pub percentiles: Vec<PercentileRow>,
    pub confidence: Vec<Confidence>,
    /// Time from the intended start until the worker picks up the request.
    pub lateness: Option<Stats>,
    /// Time from the worker's pick-up of the request to the first byte written.
    pub wait: Option<Stats>,
    /// Time from the call in the test script until the script receives the response. `None` if no
    /// test script ran.
    #[serde(default)]
    pub script: Option<Stats>,
    /// Time from the last byte read until the test script, which may be busy, receives the
    /// response.
    #[serde(default)]
    pub lag: Option<Stats>,
    pub connect: Option<Stats>,
    pub tls: Option<Stats>,
    pub in_flight: LevelStats,
    pub users: LevelStats,
    pub connections_opened: u64,
    /// HTTP/2 connections and streams. `None` if no connection used HTTP/2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http2: Option<Http2>,
    /// WebSocket connections and messages. `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub websocket: Option<WebSocket>,
    /// Socket.IO sessions and events. `None` if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub socketio: Option<SocketIo>,
    /// Requests that carried a trace context. `None` if the plan sends no trace context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<Traces>,
    /// Error causes, most frequent first.
    pub errors: Vec<ErrorRow>,
    pub conclusions: Vec<Conclusion>,
    pub assumptions: Vec<String>,
    pub notes: Vec<String>,
    /// Folder of the record. `None` if the record could not be written.
    pub record: Option<String>,
}

impl Summary {
    /// Returns the headline time of requests: the response time, or the service time for results of
    /// other tools that lack it.
    #[must_use]
    pub fn headline(&self) -> TimeKind {
        if self.all.service.is_some() && self.all.response.is_none() {
            TimeKind::Service
        } else {
            TimeKind::Response
        }
    }

    #[must_use]
    pub fn headline_name(&self) -> &'static str {
        match self.headline() {
            TimeKind::Response => "response time",
            _ if self.run.imported_from.is_some() => "response time",
            _ => "service time",
        }
    }

    /// Returns whether the run fails only because all of its requests failed.
    #[must_use]
    pub fn all_failed(&self) -> bool {
        self.exit_code == 1 && self.criteria.is_empty()
    }

    /// Returns whether the load generator disturbed the measurement, so that its times support no
    /// conclusion.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        let measurement = self.measurement.as_ref();
        measurement.is_some_and(|measurement| measurement.verdict == "INVALID")
    }

    #[must_use]
    pub fn is_generators(&self) -> bool {
        let verdict = self.measurement.as_ref().map(|m| m.verdict.as_str());
        verdict.is_some_and(|verdict| verdict != "VALID")
    }

    /// Returns whether a criterion judges a figure of a row, for example `response/p95`. If tables
    /// show a single label in place of all requests, criteria on all requests apply to its row.
    #[must_use]
    pub fn is_judged(&self, row: &Row, figure: &str) -> bool {
        let groups = [
            ("labels", &self.labels),
            ("iterations", &self.iterations),
            ("transactions", &self.transactions),
        ];
        let listed = groups.into_iter().find_map(|(group, rows)| {
            let at = rows.iter().position(|known| known.id == row.id)?;
            Some(format!("/{group}/{at}/{figure}"))
        });
        let whole = format!("/all/{figure}");
        let is_whole = self
            .request_rows()
            .first()
            .is_some_and(|first| first.id == row.id);
        let mut paths = self
            .criteria
            .iter()
            .filter_map(|judged| judged.figure.as_ref());
        paths.any(|path| Some(path) == listed.as_ref() || is_whole && *path == whole)
    }

    /// Returns the percentiles that occur only in criteria, as pairs of time and name, for
    /// additional columns.
    #[must_use]
    pub fn judged_percentiles(&self) -> BTreeSet<(&str, &str)> {
        let times = self.rows().flat_map(|row| &row.judged_percentiles);
        let names = times.flat_map(|(time, figures)| {
            let names = figures.keys();
            names.map(|name| (time.as_str(), name.as_str()))
        });
        names.collect()
    }

    /// Returns whether a criterion judges a statistic of this time of the row, for example
    /// `service`.
    #[must_use]
    pub fn judges_time(&self, row: &Row, time: &str) -> bool {
        STATISTICS
            .iter()
            .any(|statistic| self.is_judged(row, &format!("{time}/{statistic}")))
    }

    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        let of_requests = [&self.all].into_iter().chain(&self.labels);
        of_requests
            .chain(&self.iterations)
            .chain(&self.transactions)
    }

    /// Returns the rows for tables: all requests and each label, or only the label if there is just
    /// one.
    #[must_use]
    pub fn request_rows(&self) -> Vec<&Row> {
        match self.labels.as_slice() {
            [one] if one.count == self.all.count && self.run.imported_from.is_none() => vec![one],
            labels => [&self.all].into_iter().chain(labels).collect(),
        }
    }

    /// Returns the rows of iterations for tables. Empty if each iteration is a single scheduled
    /// request.
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

    /// Returns the headline statistics of all requests.
    #[must_use]
    pub fn headline_stats(&self) -> Option<&Stats> {
        match self.headline() {
            TimeKind::Response => self.all.response.as_ref(),
            _ => self.all.service.as_ref(),
        }
    }

    /// Returns the row of the scenario with the most iterations, and its iteration time. `None` if
    /// the summary has no rows for iterations.
    #[must_use]
    pub fn headline_iteration(&self) -> Option<(&Row, &Stats)> {
        let rows = self.iteration_rows().iter();
        let row = rows.max_by_key(|row| row.count)?;
        row.iteration.as_ref().map(|stats| (row, stats))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stopped {
    /// When the rule fired, in nanoseconds from the start.
    pub at_ns: u64,
    /// Text of the rule, and the value measured in its window.
    pub text: String,
    /// Whether the rule ended the run without failing it.
    #[serde(default)]
    pub passes: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Identity {
    pub name: String,
    pub target: String,
    /// Command that started the run: `run`, `artillery`, `mqtt`, `wrk` or `locust`.
    pub frontend: String,
    pub started_utc: String,
    pub started_wall_ns: u64,
    pub state: RunState,
    pub ended_by: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<Stopped>,
    pub model: Model,
    pub load: String,
    /// HTTP version that servers negotiated, such as `h2 (4 connections, server allows 128
    /// streams)`. `None` if only HTTP/1.1 was possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<String>,
    /// Time from the start to the last completion or the end of the load, whichever is later.
    pub elapsed_ns: u64,
    #[serde(default)]
    pub imported_from: Option<String>,
    pub version: String,
    /// Number of worker threads. `None` if the run was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workers: Option<usize>,
    /// Seed of the random numbers. `None` if the run was imported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// End of an incomplete record, in nanoseconds from the start. All figures cover only the time
    /// before it. `None` if the record is complete.
    #[serde(default)]
    pub record_ends_ns: Option<u64>,
    /// Why writing the record failed, which ended the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unrecorded: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Row {
    pub id: LabelId,
    #[schemars(with = "String")]
    pub group: LabelGroup,
    pub text: String,
    pub count: u64,
    pub errors: u64,
    /// `errors` as a share of `count`. `None` if `count` is 0.
    pub error_share: Option<f64>,
    /// `count` divided by the run's elapsed time in seconds.
    pub per_second: f64,
    /// Time from the first byte written to the last byte read.
    pub service: Option<Stats>,
    /// Time from the intended start to the last byte read. `None` unless the schedule determined
    /// every intended start.
    pub response: Option<Stats>,
    /// Time from the first byte written to the first byte of the response read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte: Option<Stats>,
    /// Time of an iteration from the intended arrival to the last response, or time of a
    /// transaction.
    pub iteration: Option<Stats>,
    /// Iteration or transaction time without think times. `None` unless all samples of the row are
    /// from scenarios or groups with think times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unpaused: Option<Stats>,
    /// Figures of streamed responses. `None` if the row has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamRow>,
    /// Number of responses by status: an HTTP code, or a text such as `websocket:1011`.
    pub codes: BTreeMap<String, u64>,
    #[serde(rename = "none")]
    pub unanswered: BTreeMap<String, u64>,
    pub bytes_out: u64,
    pub bytes_in: u64,
    /// Fields that the original tool of an imported run did not report. Reports omit them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unreported: Vec<String>,
    /// Percentiles that criteria judge and the statistics above lack, by time and name, for example
    /// `response` and `p75`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub judged_percentiles: BTreeMap<String, BTreeMap<String, Figure>>,
    /// Names of this row's figures that criteria judge, such as `response/p95`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub judged: Vec<String>,
}

impl Row {
    #[must_use]
    pub fn reports(&self, figure: &str) -> bool {
        !self.unreported.iter().any(|name| name == figure)
    }

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

#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelStats {
    pub mean: f64,
    /// Largest sample. With several workers, the sum of their largest samples, which is an upper
    /// bound.
    pub max: u64,
}
