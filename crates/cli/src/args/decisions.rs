//! Flags of find, compare, ab, gate, list, history.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{DRAIN, Many};

/// `loadline find`
#[derive(Debug, ClapArgs)]
pub struct Find {
    /// What is run: a URL, a native plan, an Artillery script or a script of wrk's; its own load is replaced, its journeys and weights stay
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// What must hold, for example 'p99 < 200ms' or 'errors < 0.1%'; may be repeated. The plan's own criteria hold beside it
    #[arg(long, value_name = "EXPR")]
    pub slo: Vec<String>,
    /// What is searched: arrivals per second, or users in a closed loop
    #[arg(long, value_name = "rate|users", value_parser = ["rate", "users"], default_value = "rate")]
    pub over: String,
    /// Measure how throughput grows with the number of users instead: 1, 2, 3, 4, 6, 8, 12, … up to --max
    #[arg(long)]
    pub sweep: bool,
    /// Base URL, instead of the file's; `lab:NAME` starts an embedded target for the search
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// The first level, for example 50/s, or so many users [default: a quarter of the plan's own load, else 10]
    #[arg(long, value_name = "LEVEL")]
    pub from: Option<String>,
    /// The lowest level that is tried [default: 1/s, or 1 user]
    #[arg(long, value_name = "LEVEL")]
    pub min: Option<String>,
    /// The highest level that may be tried
    #[arg(long, visible_alias = "max-rate", value_name = "LEVEL")]
    pub max: Option<String>,
    /// How long the search may take; what is under way behind the last probe is waited for all the same
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub budget: String,
    /// Enough is known when the answer is so near: half of its interval, as a share of it
    #[arg(long, value_name = "SHARE", default_value = "2.5%")]
    pub precision: String,
    /// The longest probe
    #[arg(long, value_name = "TIME", default_value = "15s")]
    pub probe: String,
    /// For so long the load of a probe goes on before it counts
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub settle: String,
    /// How long what is under way behind a probe may go on
    #[arg(long, value_name = "TIME", default_value = DRAIN)]
    pub drain: String,
    /// How arrivals are spread: at random, as those of many people are, or evenly, which a service bears more of
    #[arg(long, value_name = "poisson|even", value_parser = ["poisson", "even"], default_value = "poisson")]
    pub arrivals: String,
    /// At most so many connections
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// Worker threads [default: as many as each probe's rate needs]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Seed of everything random [default: random, kept in the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A header for each request that does not set it itself; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// What else is measured, once a second: NAME=PLACE; may be repeated
    #[arg(long, value_name = "NAME=PLACE")]
    pub server: Vec<String>,
    /// A word to find the probes by among other runs; may be repeated
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// A name whose values must never be shown; may be repeated
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// A host that redirects and values may lead to, beside those that the test names; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Where the report and the records of the probes go [default: a new folder in .loadline/finds]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write the answer as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Open the report in a browser when it is there
    #[arg(long)]
    pub open: bool,
    /// On how many machines each probe goes on
    #[command(flatten)]
    pub many: Many,
}

/// `loadline compare`
#[derive(Debug, ClapArgs)]
pub struct Compare {
    /// What it is measured against: runs (name, beginning of it, folder, `last`), tag:WORD, name:NAME, a folder of runs, a file of another tool; several with commas
    pub baseline: String,
    /// What is measured, named likewise
    pub candidate: String,
    /// What is judged, and how
    #[command(flatten)]
    pub judged: Judged,
    /// Where to put the report [default: .loadline/comparisons/BASELINE-CANDIDATE]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Open the report in a browser
    #[arg(long)]
    pub open: bool,
}

/// What of two groups of runs is judged, and how.
#[derive(Debug, ClapArgs)]
pub struct Judged {
    /// So much worse is no regression
    #[arg(long, value_name = "SHARE", default_value = "5%")]
    pub margin: String,
    /// So many more errors are no regression, as a share of all requests
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub error_margin: String,
    /// What is judged, for example 'p99', 'p95 of "POST /order"', 'iteration p50', 'errors', 'rate'; may be repeated [default: p50 and p99 of the headline time, errors, of closed loops the rate]
    #[arg(long, value_name = "FIGURE")]
    pub metric: Vec<String>,
    /// Compare although loads, machines or measurements differ, and let a hint of too few runs decide
    #[arg(long)]
    pub anyway: bool,
}

/// `loadline gate`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit status: 0 nothing judged is worse by more than the margin, 1 something is or a criterion fails, 2 no baseline or \
                  bad input, 3 could not run, 4 a measurement is INVALID, 5 neither is shown, 130 or 143 by a signal"
)]
pub struct Gate {
    /// What to run: whatever `loadline run` takes
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// What it is measured against: a baseline that was saved, tag:WORD, name:NAME, a run, a folder of runs; several with commas
    #[arg(
        long,
        value_name = "BASELINE",
        required_unless_present = "save_baseline"
    )]
    pub baseline: Option<String>,
    /// Keep the runs under this name and replace the ones kept before; together with --baseline only if the gate passes
    #[arg(long, value_name = "NAME")]
    pub save_baseline: Option<String>,
    /// So many runs are made
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=40))]
    pub runs_each: u32,
    /// What is judged, and how
    #[command(flatten)]
    pub judged: Judged,
    /// Base URL, instead of the file's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Write a JUnit file: a test case for each figure, each criterion, and the measurement
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a short comment in Markdown, as for a pull request; - is standard output
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
    /// Write everything as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where to put the report of the comparison [default: .loadline/comparisons/BASELINE-gate-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Where baselines are kept that were saved
    #[arg(long, value_name = "DIR", default_value = ".loadline/baselines")]
    pub baselines: PathBuf,
    /// Flags of `loadline run`, for each run
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

/// `loadline ab`
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Exit status: 0 nothing judged is worse by more than the margin, 1 something is, 2 bad input, 3 could not run, \
                  4 a measurement is INVALID twice, 5 neither is shown, 130 or 143 by a signal"
)]
pub struct Ab {
    /// What to run: whatever `loadline run` takes
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// Base URL of the side that the other is measured against
    #[arg(long, value_name = "URL")]
    pub a: String,
    /// Base URL of the side that is measured
    #[arg(long, value_name = "URL")]
    pub b: String,
    /// Start A by this command before each of its runs, and end it behind it
    #[arg(long, value_name = "COMMAND")]
    pub a_cmd: Option<String>,
    /// The same of B
    #[arg(long, value_name = "COMMAND")]
    pub b_cmd: Option<String>,
    /// At most so many runs of each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(4..=20))]
    pub pairs: u32,
    /// Begin no pair that would end later than this, for example 30m
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// What is judged, and how
    #[command(flatten)]
    pub judged: Judged,
    /// Seed from which each run gets a seed of its own, and of which side goes first [default: random, kept in the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Arrivals of each run, for example 200/s
    #[arg(long)]
    pub rate: Option<String>,
    /// How long arrivals come in each run, for example 30s
    #[arg(long)]
    pub duration: Option<String>,
    /// So many users in a closed loop
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub users: Option<u32>,
    /// A word to find the runs by among others; may be repeated
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Where to put the report of the comparison [default: .loadline/comparisons/ab-…]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// More flags of `loadline run`, for each run
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}

/// Which runs of those that were made.
#[derive(Debug, ClapArgs)]
pub struct Which {
    /// Only runs with this tag; may be repeated, then with all of them
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Only runs that are called so
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Only the newest so many
    #[arg(long, value_name = "N")]
    pub last: Option<usize>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}

/// `loadline list`
#[derive(Debug, ClapArgs)]
pub struct List {
    /// Which runs
    #[command(flatten)]
    pub which: Which,
    /// Read the records that are there anew, whatever the index has of them
    #[arg(long)]
    pub rebuild: bool,
    /// Write the runs with all their figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "-")]
    pub json: Option<PathBuf>,
}

/// `loadline history`
#[derive(Debug, ClapArgs)]
pub struct History {
    /// What is looked at, for example 'p99', 'p95 of "POST /order"', 'iteration p50', 'errors', 'rate'
    #[arg(value_name = "FIGURE")]
    pub figure: String,
    /// Which runs
    #[command(flatten)]
    pub which: Which,
    /// Levels that differ by less are one
    #[arg(long, value_name = "SHARE", default_value = "3%")]
    pub margin: String,
    /// The same of errors, as a share of all requests
    #[arg(long, value_name = "SHARE", default_value = "0.1%")]
    pub error_margin: String,
    /// Count runs of other plans, loads, versions and machines too
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
