//! Flags of the commands on results: `loadline report` and `loadline audit`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `loadline report`
#[derive(Debug, ClapArgs)]
pub struct Report {
    /// A run (`last`, its id or a prefix of it, or its folder), a campaign's folder, or a file of
    /// another tool: Artillery's -o JSON or
    /// console output, a Locust CSV (the rest of its set is found next to it), a transcript of wrk
    /// or wrk2, k6's summary, a JMeter JTL,
    /// JSON of Vegeta, oha or Fortio, or an HdrHistogram log
    #[arg(default_value = "last")]
    pub run: String,
    /// Folder for the report on another tool's file [default: FILE-report, in the current folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Add metrics of other tools from a CSV file with times and metrics; repeatable
    #[arg(long, value_name = "NAME=FILE.csv")]
    pub server: Vec<String>,
    /// How far the clock of those files is ahead of the run's (2s, -2s), or `auto` to estimate it
    /// from the load [default: 0s]
    #[arg(long, value_name = "DURATION|auto", allow_hyphen_values = true)]
    pub clock_offset: Option<String>,
    /// Write junit=FILE or csv=FILE; repeatable
    #[arg(long, value_name = "FORMAT=FILE")]
    pub export: Vec<String>,
    /// Open the report in a browser
    #[arg(long)]
    pub open: bool,
    /// Print all figures: service times, intervals, definitions and figures of the generator
    #[arg(short, long)]
    pub verbose: bool,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print only this table, in Markdown
    #[arg(long, value_enum, value_name = "TABLE")]
    pub table: Option<ReportTable>,
}

/// A table of a published report.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum ReportTable {
    /// Requests, failures, mean and rate by endpoint
    Requests,
    /// Percentiles in milliseconds by endpoint, as Locust prints them
    Percentiles,
    /// Requests per second by endpoint and phase
    Rps,
}

impl ReportTable {
    pub fn which(self) -> report::markdown::Published {
        match self {
            ReportTable::Requests => report::markdown::Published::Requests,
            ReportTable::Percentiles => report::markdown::Published::Percentiles,
            ReportTable::Rps => report::markdown::Published::Rates,
        }
    }
}

/// `loadline audit`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit status: 0 no contradictions, 1 contradictions, 2 unknown file format, 3 unreadable file"
)]
pub struct Audit {
    /// Output of Artillery, wrk, wrk2, Locust, k6, JMeter, Vegeta, oha or Fortio, HdrHistogram
    /// logs, or a Loadline run
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the findings as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
