//! What was read, in one plain model for all tools: figures, and what the tool that printed them means by them. It holds no
//! opinion: whether the figures fit is `audit`'s business.

use super::figure::{Position, PrintedFigure};
pub use super::latency::{Blur, LatencyStats};

/// Who printed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    /// Artillery 2.
    Artillery,
    /// wrk.
    Wrk,
    /// wrk2: wrk with a planned rate.
    Wrk2,
    /// Locust.
    Locust,
    /// k6.
    K6,
    /// Apache JMeter.
    JMeter,
    /// Vegeta.
    Vegeta,
    /// oha.
    Oha,
    /// Fortio.
    Fortio,
    /// Whoever wrote a log of HdrHistogram.
    Hdr,
    /// Loadline itself.
    Loadline,
}

impl Tool {
    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Tool::Artillery => "Artillery",
            Tool::Wrk => "wrk",
            Tool::Wrk2 => "wrk2",
            Tool::Locust => "Locust",
            Tool::K6 => "k6",
            Tool::JMeter => "JMeter",
            Tool::Vegeta => "Vegeta",
            Tool::Oha => "oha",
            Tool::Fortio => "Fortio",
            Tool::Hdr => "HdrHistogram",
            Tool::Loadline => "Loadline",
        }
    }
}

/// The figures of one run, or of one period of it.
#[derive(Debug, Clone)]
pub struct PrintedReport {
    /// Who printed it.
    pub tool: Tool,
    /// What it is, in the tool's words: `Summary report @ 12:34:22(-0700)`.
    pub title: String,
    /// Where it begins.
    pub place: Position,
    /// Whether it is a part of a run: what was under way at its borders belongs to its neighbours.
    pub is_period: bool,
    /// The time that rates are divided by.
    pub span: Option<ReportedSpan>,
    /// When it began, in seconds since 1970, where that is printed.
    pub began_s: Option<f64>,
    /// When its last event was, likewise.
    pub ended_s: Option<f64>,
    /// How long the run was meant to last, in seconds.
    pub planned: Option<PrintedFigure>,
    /// All requests.
    pub all: PrintedRow,
    /// A row per endpoint.
    pub rows: Vec<PrintedRow>,
    /// What the rows make up.
    pub cover: Cover,
    /// Whether rates are those of the whole run.
    pub rates: Rates,
    /// Bytes read.
    pub bytes: Option<PrintedFigure>,
    /// Bytes read per second.
    pub transfer: Option<PrintedFigure>,
    /// Threads of the tool.
    pub threads: Option<PrintedFigure>,
    /// Requests per second of one thread.
    pub per_thread: Option<LatencyStats>,
    /// What bounds the requests under way.
    pub bound: Option<Bound>,
    /// Requests under way, as they were sampled.
    pub in_flight: Option<InFlight>,
    /// Virtual users.
    pub sessions: Sessions,
    /// Everything that was counted, under the tool's own names.
    pub counters: Vec<PrintedFigure>,
    /// Further sums that must come out.
    pub ledgers: Vec<SumRelation>,
    /// Longest time for which the tool waits for an answer, where slower answers are in no latency figure.
    pub cut_at_s: Option<f64>,
    /// Its periods.
    pub periods: Vec<PrintedReport>,
    /// Whether the figures of periods are those since the start instead of the period's own.
    pub periods_run_on: bool,
    /// What else must be known of it: what the file does not hold, what of it is in no figure.
    pub remarks: Vec<String>,
    /// A second opinion on the latency of all requests, to be compared with the first: name by name.
    pub again: Vec<(PrintedFigure, PrintedFigure)>,
}

impl PrintedReport {
    /// A report without figures.
    #[must_use]
    pub fn new(tool: Tool, title: impl Into<String>, place: Position) -> PrintedReport {
        PrintedReport {
            tool,
            title: title.into(),
            place,
            is_period: false,
            span: None,
            began_s: None,
            ended_s: None,
            planned: None,
            all: PrintedRow::new("", place),
            rows: Vec::new(),
            cover: Cover::All,
            rates: Rates::Whole,
            bytes: None,
            transfer: None,
            threads: None,
            per_thread: None,
            bound: None,
            in_flight: None,
            sessions: Sessions::default(),
            counters: Vec::new(),
            ledgers: Vec::new(),
            cut_at_s: None,
            periods: Vec::new(),
            periods_run_on: false,
            remarks: Vec::new(),
            again: Vec::new(),
        }
    }
}

/// The time in which requests were sent, and what the tool adds to it.
#[derive(Debug, Clone)]
pub struct ReportedSpan {
    /// Seconds.
    pub seconds: PrintedFigure,
    /// So many of them, at most, in which nothing was sent: waiting for the last answers, shutting down.
    pub idle_s: f64,
    /// The tool divides by at least so many seconds.
    pub least_s: f64,
    /// What its rate is, where that is not requests by time.
    pub rate_is: Option<&'static str>,
}

impl ReportedSpan {
    /// A time in which something was sent from its beginning to its end, and by which a rate is requests by time.
    #[must_use]
    pub const fn from_seconds(seconds: PrintedFigure) -> ReportedSpan {
        ReportedSpan {
            seconds,
            idle_s: 0.0,
            least_s: 0.0,
            rate_is: None,
        }
    }
}

/// What a report's rows make up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// All requests.
    All,
    /// Some of them.
    Some,
}

/// Of when the rates of rows are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    /// Of the whole run.
    Whole,
    /// Of its last seconds.
    Current,
    /// Nobody knows.
    Unknown,
}

/// The figures of one endpoint, or of all.
#[derive(Debug, Clone)]
pub struct PrintedRow {
    /// Which one.
    pub name: String,
    /// Where it stands.
    pub place: Position,
    /// Requests: sent, or ended, as the tool counts them.
    pub requests: Option<PrintedFigure>,
    /// Answers.
    pub responses: Option<PrintedFigure>,
    /// Requests that failed.
    pub failures: Option<PrintedFigure>,
    /// Their share of the requests.
    pub failed_share: Option<PrintedFigure>,
    /// Requests per second.
    pub rate: Option<PrintedFigure>,
    /// Failures per second.
    pub failure_rate: Option<PrintedFigure>,
    /// Answers by status.
    pub codes: Vec<PrintedFigure>,
    /// Errors by name.
    pub errors: Vec<Failures>,
    /// Mean size of an answer in bytes.
    pub mean_bytes: Option<PrintedFigure>,
    /// How long answers took.
    pub latency: Option<LatencyStats>,
    /// More percentiles of the same samples, from another table.
    pub percentiles: Option<LatencyStats>,
    /// Other times, of other samples.
    pub others: Vec<LatencyStats>,
    /// The same by the first digit of the status.
    pub by_class: Vec<(char, LatencyStats)>,
}

impl PrintedRow {
    /// A row without figures.
    #[must_use]
    pub fn new(name: impl Into<String>, place: Position) -> PrintedRow {
        PrintedRow {
            name: name.into(),
            place,
            requests: None,
            responses: None,
            failures: None,
            failed_share: None,
            rate: None,
            failure_rate: None,
            codes: Vec::new(),
            errors: Vec::new(),
            mean_bytes: None,
            latency: None,
            percentiles: None,
            others: Vec::new(),
            by_class: Vec::new(),
        }
    }
}

/// Errors of one name.
#[derive(Debug, Clone)]
pub struct Failures {
    /// How many.
    pub count: PrintedFigure,
    /// Whether no answer came; none: either.
    pub unanswered: Option<bool>,
}

/// What bounds the requests under way: connections, or users who wait for their answers.
#[derive(Debug, Clone)]
pub struct Bound {
    /// How many.
    pub figure: PrintedFigure,
    /// Of what.
    pub what: &'static str,
    /// More than so many times the bound contradict it; the rest up to there is the tool's definition.
    pub contradicts_above: f64,
    /// What the tool's definition does to the mean latency.
    pub because: &'static str,
    /// The mean time that a connection is busy for, where it is not the latency's.
    pub mean: Option<PrintedFigure>,
    /// Whether time outside of requests is worth a remark: users who do not wait.
    pub should_be_full: bool,
}

/// Requests under way, sampled while the run went on.
#[derive(Debug, Clone)]
pub struct InFlight {
    /// The mean of the samples.
    pub mean: PrintedFigure,
    /// The largest sample.
    pub max: f64,
    /// The times that a request is under way for, to be added up.
    pub times: Vec<PrintedFigure>,
    /// Time between two samples, in seconds.
    pub every_s: f64,
}

/// Virtual users.
#[derive(Debug, Clone, Default)]
pub struct Sessions {
    /// Begun.
    pub created: Option<PrintedFigure>,
    /// Come to their end.
    pub completed: Option<PrintedFigure>,
    /// Ended by an error.
    pub failed: Option<PrintedFigure>,
    /// Begun, by scenario.
    pub by_name: Vec<PrintedFigure>,
    /// How long they took.
    pub length: Option<LatencyStats>,
}

/// A sum that must come out.
#[derive(Debug, Clone)]
pub struct SumRelation {
    /// The total.
    pub total: PrintedFigure,
    /// What it is made of.
    pub parts: Vec<PrintedFigure>,
    /// How they belong together.
    pub is: Total,
}

/// How a total belongs to its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    /// It is their sum.
    Sum,
    /// It is not larger than their sum.
    AtMost,
    /// It is not smaller than their sum.
    AtLeast,
}
