//! Flags of find, compare, ab, gate, list, history.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{DRAIN, Many};

/// `loadline find`
#[derive(Debug, ClapArgs)]
pub struct Find {
    /// A URL, a native plan, an Artillery script or a wrk script; its load is replaced, its
    /// scenarios and weights stay
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// Criterion that must hold, for example 'p99 < 200ms' or 'errors < 0.1%', in addition to the
    /// plan's; repeatable
    #[arg(long, visible_alias = "check", value_name = "EXPR")]
    pub slo: Vec<String>,
    /// What to search: arrivals per second, or users in a closed loop
    #[arg(long, value_name = "rate|users", value_parser = ["rate", "users"], default_value = "rate")]
    pub over: String,
    /// Measure how throughput grows with the number of users instead: 1, 2, 3, 4, 6, 8, 12, … up to
    /// --max
    #[arg(long)]
    pub sweep: bool,
    /// Base URL, replaces the file's; `lab:NAME` starts an embedded target for the search
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// First level, for example 50/s, or a number of users [default: a quarter of the plan's load,
    /// else 10]
    #[arg(long, value_name = "LEVEL")]
    pub from: Option<String>,
    /// Lowest level to try [default: 1/s, or 1 user]
    #[arg(long, value_name = "LEVEL")]
    pub min: Option<String>,
    /// Highest level to try
    #[arg(long, visible_alias = "max-rate", value_name = "LEVEL")]
    pub max: Option<String>,
    /// Time limit of the search, not counting the drain of the last probe
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: String,
    /// Stop when half of the interval is at most this share of the answer
    #[arg(long, value_name = "SHARE", default_value = "2.5%")]
    pub precision: String,
    /// Longest probe
    #[arg(long, value_name = "TIME", default_value = "15s")]
    pub probe: String,
    /// Warm-up of each probe, not counted
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub settle: String,
    /// Time to wait for requests in flight after each probe
    #[arg(long, value_name = "TIME", default_value = DRAIN)]
    pub drain: String,
    /// Distribution of arrivals: random, as from many people, or even, which a service sustains at
    /// a higher rate
    #[arg(long, value_name = "poisson|even", value_parser = ["poisson", "even"], default_value = "poisson")]
    pub arrivals: String,
    /// Maximum number of connections
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// HTTP version, replaces the file's [default: 1.1]
    #[arg(long, value_name = "VERSION", value_parser = plan::HttpVersion::ALL.map(plan::HttpVersion::name))]
    pub http: Option<String>,
    /// Worker threads [default: as many as each probe's rate needs]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Seed for all random numbers [default: random, kept in the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Header for every request that does not set it; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Metrics to sample once a second: NAME=SOURCE; repeatable
    #[arg(long, value_name = "NAME=PLACE")]
    pub server: Vec<String>,
    /// Tag to select the probes by; repeatable
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Hide the values with this name; repeatable
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Allow redirects and variables to lead to this host, in addition to the test's; repeatable
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Folder for the report and the probes' records [default: a new folder in .loadline/finds]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the answer as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Open the report in a browser at the end
    #[arg(long)]
    pub open: bool,
    /// Machines for each probe
    #[command(flatten)]
    pub many: Many,
}

/// `loadline compare`
#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// Baseline: runs (name, prefix, folder, `last`), tag:WORD, name:NAME, a folder of runs, or a
    /// file of another tool; several separated by commas
    pub baseline: String,
    /// Candidate, named in the same way
    pub candidate: String,
    /// Metrics and margins
    #[command(flatten)]
    pub judged: Judged,
    /// Folder for the report [default: .loadline/comparisons/BASELINE-CANDIDATE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Open the report in a browser
    #[arg(long)]
    pub open: bool,
}

/// Metrics and margins for judging two groups of runs.
#[derive(Debug, ClapArgs)]
pub struct Judged {
    /// Changes up to this size are not a regression
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub margin: String,
    /// Additional errors up to this share of all requests are not a regression
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub error_margin: String,
    /// Metric to judge, for example 'p99', 'p95 of "POST /order"', 'iteration p50', 'errors',
    /// 'rate'; repeatable [default: p50 and p99 of the headline time, errors, and in closed loops
    /// the rate]
    #[arg(long, value_name = "FIGURE")]
    pub metric: Vec<String>,
    /// Compare even if loads, machines or validity differ, and decide on few runs
    #[arg(long)]
    pub anyway: bool,
}

/// `loadline gate`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit status: 0 no metric is worse by more than the margin, 1 a metric is worse or a criterion fails, 2 no baseline or \
                  bad input, 3 could not run, 4 measurement INVALID, 5 inconclusive, 130 or 143 stopped by a signal"
)]
pub struct Gate {
    /// What to run: anything that `loadline run` takes
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// Baseline: a saved one, tag:WORD, name:NAME, a run, or a folder of runs; several separated by
    /// commas
    #[arg(
        long,
        value_name = "BASELINE",
        required_unless_present = "save_baseline"
    )]
    pub baseline: Option<String>,
    /// Save the runs under this name, replacing the saved ones; with --baseline only if the gate
    /// passes
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,
    /// Number of runs
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=40))]
    pub runs_each: u32,
    /// Metrics and margins
    #[command(flatten)]
    pub judged: Judged,
    /// Base URL, replaces the file's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Write a JUnit file with a test case per metric, per criterion, and for validity
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a short Markdown comment, as for a pull request; - is standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write everything as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Folder for the comparison's report [default: .loadline/comparisons/BASELINE-gate-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Folder for saved baselines
    #[arg(long, value_name = "DIR", default_value = ".loadline/baselines")]
    pub baselines: PathBuf,
    /// Flags of `loadline run` for every run
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

/// `loadline ab`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit status: 0 no metric is worse by more than the margin, 1 a metric is worse, 2 bad input, 3 could not run, \
                  4 measurement INVALID twice, 5 inconclusive, 130 or 143 stopped by a signal"
)]
pub struct Ab {
    /// What to run: anything that `loadline run` takes
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// Base URL of the baseline side
    #[arg(long, value_name = "URL")]
    pub a: String,
    /// Base URL of the candidate side
    #[arg(long, value_name = "URL")]
    pub b: String,
    /// Command that starts A before each of its runs; it is stopped afterwards
    #[arg(long, value_name = "COMMAND")]
    pub a_cmd: Option<String>,
    /// Command that starts B before each of its runs; it is stopped afterwards
    #[arg(long, value_name = "COMMAND")]
    pub b_cmd: Option<String>,
    /// Maximum number of runs per side
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(4..=20))]
    pub pairs: u32,
    /// Start no pair that would end after this time, for example 30m
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Metrics and margins
    #[command(flatten)]
    pub judged: Judged,
    /// Seed from which each run's seed and the order of sides are derived [default: random, kept in
    /// the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Arrival rate of each run, for example 200/s
    #[arg(long)]
    pub rate: Option<String>,
    /// Duration of the load in each run, for example 30s
    #[arg(long)]
    pub duration: Option<String>,
    /// Number of users in a closed loop
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub users: Option<u32>,
    /// Tag to select the runs by; repeatable
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Folder for the comparison's report [default: .loadline/comparisons/ab-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// More flags of `loadline run` for every run
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

/// Selection of finished runs.
#[derive(Debug, ClapArgs)]
pub struct Which {
    /// Only runs with this tag; repeatable, all must match
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Only runs with this name
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Only this number of the newest runs
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}

/// `loadline list`
#[derive(Debug, ClapArgs)]
pub struct List {
    /// Selection of runs
    #[command(flatten)]
    pub which: Which,
    /// Read all existing records again instead of using the index
    #[arg(long)]
    pub rebuild: bool,
    /// Write the runs with all their figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// `loadline history`
#[derive(Debug, ClapArgs)]
pub struct History {
    /// Metric, for example 'p99', 'p95 of "POST /order"', 'iteration p50', 'errors', 'rate'
    #[arg(value_name = "FIGURE")]
    pub figure: String,
    /// Selection of runs
    #[command(flatten)]
    pub which: Which,
    /// Treat levels as equal if they differ by less than this
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub margin: String,
    /// Treat error levels as equal if they differ by less than this share of all requests
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub error_margin: String,
    /// Include runs of other plans, loads, versions and machines
    #[arg(long)]
    pub anyway: bool,
    /// Write a page with the chart and every run
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Write the values and the shifts as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
    /// Open the page in a browser
    #[arg(long, requires = "html")]
    pub open: bool,
}
