//! The model of results that all tools share.

use super::figure::{Position, PrintedFigure};
pub use super::latency::{Blur, LatencyStats};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tool {
    Artillery,
    Wrk,
    Wrk2,
    Locust,
    K6,
    JMeter,
    Vegeta,
    Oha,
    Fortio,
    Hdr,
    Loadline,
}

impl Tool {
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

#[derive(Debug, Clone)]
pub struct PrintedReport {
    pub tool: Tool,
    pub title: String,
    pub place: Position,
    pub is_period: bool,
    pub span: Option<ReportedSpan>,
    pub began_s: Option<f64>,
    pub ended_s: Option<f64>,
    pub planned: Option<PrintedFigure>,
    pub all: PrintedRow,
    pub rows: Vec<PrintedRow>,
    pub cover: Cover,
    pub rates: Rates,
    pub bytes: Option<PrintedFigure>,
    pub transfer: Option<PrintedFigure>,
    pub threads: Option<PrintedFigure>,
    pub per_thread: Option<LatencyStats>,
    pub bound: Option<Bound>,
    pub in_flight: Option<InFlight>,
    pub sessions: Sessions,
    pub counters: Vec<PrintedFigure>,
    pub ledgers: Vec<SumRelation>,
    pub cut_at_s: Option<f64>,
    pub periods: Vec<PrintedReport>,
    pub periods_run_on: bool,
    pub remarks: Vec<String>,
    /// Pairs of figures that are printed twice and must be equal.
    pub again: Vec<(PrintedFigure, PrintedFigure)>,
}

impl PrintedReport {
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

#[derive(Debug, Clone)]
pub struct ReportedSpan {
    pub seconds: PrintedFigure,
    pub idle_s: f64,
    pub least_s: f64,
    /// Sentence that explains how the tool computes its rate, unless it is requests divided by
    /// time.
    pub rate_is: Option<&'static str>,
}

impl ReportedSpan {
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    All,
    Some,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rates {
    Whole,
    Current,
    Unknown,
}

#[derive(Debug, Clone)]
pub struct PrintedRow {
    pub name: String,
    pub place: Position,
    pub requests: Option<PrintedFigure>,
    pub responses: Option<PrintedFigure>,
    pub failures: Option<PrintedFigure>,
    pub failed_share: Option<PrintedFigure>,
    pub rate: Option<PrintedFigure>,
    pub failure_rate: Option<PrintedFigure>,
    pub codes: Vec<PrintedFigure>,
    pub errors: Vec<Failures>,
    pub mean_bytes: Option<PrintedFigure>,
    pub latency: Option<LatencyStats>,
    pub percentiles: Option<LatencyStats>,
    pub others: Vec<LatencyStats>,
    pub by_class: Vec<(char, LatencyStats)>,
}

impl PrintedRow {
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

#[derive(Debug, Clone)]
pub struct Failures {
    pub count: PrintedFigure,
    pub unanswered: Option<bool>,
}

#[derive(Debug, Clone)]
pub struct Bound {
    pub figure: PrintedFigure,
    pub what: &'static str,
    pub contradicts_above: f64,
    pub because: &'static str,
    /// Mean time during which a connection is busy, if it differs from the latency.
    pub mean: Option<PrintedFigure>,
    pub should_be_full: bool,
}

#[derive(Debug, Clone)]
pub struct InFlight {
    pub mean: PrintedFigure,
    pub max: f64,
    pub times: Vec<PrintedFigure>,
    pub every_s: f64,
    /// Largest share of time during which a worker was ready to run but was waiting for a CPU.
    pub waiting: f64,
}

#[derive(Debug, Clone, Default)]
pub struct Sessions {
    pub created: Option<PrintedFigure>,
    pub completed: Option<PrintedFigure>,
    pub failed: Option<PrintedFigure>,
    pub by_name: Vec<PrintedFigure>,
    pub length: Option<LatencyStats>,
}

#[derive(Debug, Clone)]
pub struct SumRelation {
    pub total: PrintedFigure,
    pub parts: Vec<PrintedFigure>,
    pub is: Total,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Total {
    Sum,
    AtMost,
    AtLeast,
}
