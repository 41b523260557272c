//! Flags of the command line and their help. Commands interpret the values.

mod cluster;
mod decisions;
mod distributed;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use serde::{Deserialize, Serialize};

pub use cluster::{K8s, K8sCommand, Render};
pub use distributed::{Many, Merge, Shard};

pub use decisions::{Ab, Compare, Find, Gate, History, Judged, List, Which};

/// Load testing that proves its own numbers.
#[derive(Debug, Parser)]
#[command(
    name = "loadline",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub struct Args {
    /// The command to run.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// Native commands. Help lists those of the front ends after the first group.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run a load test: URL, plan, or another tool's test file
    Run(Box<RunArgs>),
    /// Write a plan from curl, HAR, OpenAPI, Postman or JMeter
    Init(Init),
    /// Run the stages of a plan and report on all of them
    Campaign(Campaign),
    /// Find the highest load at which all criteria hold
    Find(Box<Find>),
    /// Show what a test would send, without sending it
    Plan(Box<PlanArgs>),
    /// Start an embedded target for tests
    Lab(Lab),
    /// Simulate the services that a target depends on
    Mock(Mock),
    /// Render the report of a run or of another tool's results
    Report(Report),
    /// Compare runs, with confidence intervals
    Compare(Compare),
    /// Test against a baseline and pass or fail, for CI
    Gate(Box<Gate>),
    /// Test two targets in turns until one is shown to be worse
    Ab(Box<Ab>),
    /// List finished runs, newest first
    List(List),
    /// Plot a metric over all runs and detect shifts
    History(History),
    /// Merge the parts of a distributed run
    Merge(Merge),
    /// Render Kubernetes manifests for a distributed run
    K8s(K8s),
    /// Run one part of a distributed run for a conductor
    #[command(hide = true)]
    Node,
    /// Measure how much load this machine can generate
    Doctor,
    /// Check the figures of another tool's report
    Audit(Audit),
    /// Check on this machine that reported figures are correct
    Selftest(Selftest),
    /// Start a target, test it and show the report, offline
    Demo(Demo),
    /// Print the version
    Version,
    /// Print completions for your shell
    Completions(Completions),
    /// Print the manual page, or write one per command
    Man(Man),
}

/// `loadline completions`
#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// The shell
    pub shell: clap_complete::Shell,
}

/// `loadline man`
#[derive(Debug, ClapArgs)]
pub struct Man {
    /// Write one page per command into this folder: loadline.1, loadline-run.1, …
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Default time to wait for requests in flight after the last arrival.
pub const DRAIN: &str = "30s";

/// `loadline campaign`
#[derive(Debug, ClapArgs)]
pub struct Campaign {
    /// A native plan with `stages`
    pub file: PathBuf,
    /// Base URL, replaces the file's; `lab:NAME` starts an embedded target for the campaign
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Seed for all random numbers, shared by all stages [default: random, kept in the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Continue after the last finished stage, of this campaign or of the newest
    #[arg(long, value_name = "CAMPAIGN", num_args = 0..=1)]
    pub resume: Option<Option<PathBuf>>,
    /// Folder for campaigns [default: .loadline/campaigns]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// Allow redirects and variables to lead to this host, in addition to the plan's; repeatable
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Hide the values of this variable, header, query parameter or JSON member; repeatable
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Machines for each stage
    #[command(flatten)]
    pub many: Many,
}

/// `loadline run`
#[derive(Debug, Clone, ClapArgs, Serialize, Deserialize)]
pub struct RunArgs {
    /// A URL (http://… or localhost:8080/…), a plan (.yml, .json), a script (.lua), a locustfile
    /// (.py), or lab:NAME?option=value
    #[arg(value_name = "FILE|URL", required = true)]
    pub what: String,
    /// Header for every request that does not set it, for example 'X-A: 1'; repeatable
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// With a URL: the method, for example PUT [default: GET, or POST with --data]
    #[arg(short = 'X', long, visible_alias = "request", value_name = "METHOD")]
    pub method: Option<String>,
    /// With a URL: the body; @FILE reads a file. JSON is sent as application/json, other text as a
    /// form, unless -H sets the type
    #[arg(short, long, value_name = "DATA")]
    pub data: Option<String>,
    /// With a URL: read the response as a stream; for a model API without --data, send a prompt
    #[arg(long, value_name = "FORMAT", value_parser = plan::event_stream::StreamFormat::ALL.map(plan::event_stream::StreamFormat::name))]
    pub stream: Option<String>,
    /// With --stream and without --data: the model to ask
    #[arg(
        long,
        value_name = "NAME",
        requires = "stream",
        conflicts_with = "data"
    )]
    pub model: Option<String>,
    /// With a URL: name and password for basic authentication
    #[arg(short, long, value_name = "NAME:PASSWORD")]
    pub user: Option<String>,
    /// Arguments for the script's (.lua) `init`, or for Locust
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
    /// Base URL, replaces the file's; `lab:NAME` starts an embedded target for the run
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Run only this stage of a campaign
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Arrival rate, for example 200/s or 90/m
    #[arg(long)]
    pub rate: Option<String>,
    /// Maximum number of connections; without --rate the number of users in a closed loop
    #[arg(short = 'c', long, value_name = "N")]
    pub connections: Option<u32>,
    /// HTTP version, replaces the file's [default: 1.1]
    #[arg(long, value_name = "VERSION", value_parser = plan::HttpVersion::ALL.map(plan::HttpVersion::name))]
    pub http: Option<String>,
    /// Number of users in a closed loop, each with its own connection unless --connections is set
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub users: Option<u32>,
    /// Duration of the load, for example 30s or 5m
    #[arg(short = 'z', long)]
    pub duration: Option<String>,
    /// Exact number of requests to a URL; with --users or --connections, the run ends after the
    /// last one
    #[arg(short = 'n', long, value_name = "N")]
    pub requests: Option<u64>,
    /// Distribution of arrivals
    #[arg(long, value_name = "even|poisson", value_parser = ["even", "poisson"])]
    pub arrivals: Option<String>,
    /// Worker threads [default: as many as the planned rate needs]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Seed for all random numbers [default: random, kept in the record]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Criterion that must hold at the end, for example 'p99 < 250ms' or 'errors < 1%'; repeatable
    #[arg(long, value_name = "EXPR")]
    pub check: Vec<String>,
    /// Rule that ends the run, for example 'errors > 10% for 10s: stop fail'; repeatable
    #[arg(long, value_name = "EXPR")]
    pub stop: Vec<String>,
    /// Name of the run, replaces the file's
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Tag to select the run by, as in `compare tag:WORD`; repeatable
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// Metrics to sample once a second: NAME=SOURCE, for example app=http://127.0.0.1:9464/metrics
    /// or db=port:5432; repeatable
    #[arg(long, value_name = "NAME=PLACE")]
    pub server: Vec<String>,
    /// Let the load keep rising while more than half of the requests fail
    #[arg(long)]
    pub no_guard: bool,
    /// Exit with 0 even if all requests failed; affects only tests without criteria
    #[arg(long)]
    pub allow_failures: bool,
    /// Do not store response excerpts in the record
    #[arg(long)]
    pub no_excerpts: bool,
    /// Time to wait for requests in flight after the last arrival
    #[arg(long, value_name = "TIME", default_value = DRAIN)]
    pub drain: String,
    /// Maximum delay of a start, so that several starts share one wake-up; 0 disables it [default:
    /// 100us]
    #[arg(long, value_name = "TIME")]
    pub pacing_slack: Option<String>,
    /// Run one iteration and exit
    #[arg(long)]
    pub once: bool,
    /// Print requests and responses, without secrets, bodies cut at 2 KB
    #[arg(long)]
    pub trace: bool,
    /// Treat the run as a probe of a search: ignore the load of this first period, and judge only
    /// by --check
    #[arg(long, value_name = "TIME", hide = true)]
    pub probe: Option<String>,
    /// End as soon as the criteria are decided, or only when one clearly fails
    #[arg(long, value_name = "decided|plain", value_parser = ["decided", "plain"], hide = true, requires = "probe")]
    pub probe_until: Option<String>,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write junit=FILE or csv=FILE at the end, or serve prometheus[=HOST:PORT] during the run;
    /// repeatable
    #[arg(long, value_name = "FORMAT[=…]")]
    pub export: Vec<String>,
    /// Open the report in a browser at the end
    #[arg(long)]
    pub open: bool,
    /// Print all figures: service times, intervals, definitions and figures of the generator
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,
    /// Print only errors and the verdict
    #[arg(short, long)]
    pub quiet: bool,
    /// Show the run live in a browser; the address is printed
    #[arg(long)]
    pub ui: bool,
    /// Port of --ui; 0 selects a free one
    #[arg(long, value_name = "N", default_value_t = 0, requires = "ui")]
    pub ui_port: u16,
    /// Serve a read-only page of the run at a separate address
    #[arg(
        long,
        value_name = "IP:PORT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "127.0.0.1:0",
        value_parser = session::live::share_address
    )]
    pub ui_share: Option<std::net::SocketAddr>,
    /// Hide the values of this variable, header, query parameter or JSON member; repeatable
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Memory for waiting users, tables, bodies and captured values [default: a quarter of the
    /// machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// Allow redirects and variables to lead to this host, in addition to the test's; repeatable
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Folder in which functions of the test's script may write files [default: nowhere]
    #[arg(long, value_name = "DIR")]
    pub script_write: Option<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Keep no record, and therefore write no report
    #[arg(long, conflicts_with_all = ["runs", "open", "on", "shard"])]
    pub no_record: bool,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust only these certificate authorities (PEM)
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// Client certificate (PEM)
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Key of the client certificate (PEM), if in a separate file
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// Server name for SNI and certificate checks, replaces the URL's
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Connect to this address for this host and port; repeatable
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<String>,
    /// Send all requests through this HTTP proxy, with CONNECT [default: $http_proxy and
    /// $https_proxy, except for $no_proxy]
    #[arg(short = 'x', long, value_name = "URL")]
    pub proxy: Option<String>,
    /// Connect to this Unix domain socket for every host
    #[arg(long, value_name = "SOCKET")]
    pub unix: Option<PathBuf>,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Number of machines
    #[command(flatten)]
    pub many: Many,
    /// Run identifier shared by all processes
    #[arg(skip)]
    #[serde(default)]
    pub stamp: Option<u32>,
    /// Part of a run without a conductor
    #[command(flatten)]
    pub part: Shard,
}

/// `loadline plan`
#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    /// A plan (.yml, .json) or an Artillery script
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub file: Option<PathBuf>,
    /// Base URL, replaces the file's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Show only this stage of a campaign
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Assumed response time, to estimate requests in flight
    #[arg(long, value_name = "TIME")]
    pub latency: Option<String>,
    /// Assumed response size, to estimate the bandwidth
    #[arg(long, value_name = "SIZE")]
    pub answer: Option<String>,
    /// Print two decimals even for numbers close to whole ones
    #[arg(long)]
    pub exact: bool,
    /// Print Markdown, to paste into a document
    #[arg(long)]
    pub markdown: bool,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of random arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Print the JSON schema of plans and exit
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// `loadline lab`
#[derive(Debug, ClapArgs)]
pub struct Lab {
    /// Name of the embedded target; without one, all are listed
    pub name: Option<String>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 selects a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Bearer token that the target accepts
    #[arg(long, default_value = "demo")]
    pub token: String,
    /// Seed for all random numbers; 0 draws a new one
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write one line per request to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print a valid token and exit
    #[arg(long)]
    pub print_token: bool,
    /// Answer 503 above this number of concurrent requests; same as max-in-flight=N
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<String>,
    /// URL of a service that the target calls; same as downstream=NAME=URL; repeatable
    #[arg(long, value_name = "NAME=URL")]
    pub downstream: Vec<String>,
    /// Exit when standard input is closed
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
    /// Options of the embedded target
    #[arg(value_name = "OPTION=VALUE")]
    pub options: Vec<String>,
}

/// `loadline init`
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "loadline init [-o FILE] [--force] SOURCE\n       loadline init [-o FILE] [--force] COLLECTION --environment FILE\n       loadline init [-o FILE] [--force] curl -X POST https://…"
)]
pub struct Init {
    /// A URL (http://… or localhost:8080/…), a file (HAR, OpenAPI 3, Postman collection, JMeter
    /// plan, or curl command lines; - is standard input), or curl with its arguments
    pub source: String,
    /// Arguments of curl
    #[arg(value_name = "ARGUMENT", hide = true)]
    pub arguments: Vec<String>,
    /// Where to write the plan; - is standard output [default: named after the source, in the
    /// current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Environment of a Postman collection, exported from Postman
    #[arg(long, value_name = "FILE")]
    pub environment: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long)]
    pub force: bool,
}

/// `loadline mock`
#[derive(Debug, ClapArgs)]
pub struct Mock {
    /// A plan with `mocks`; the rest of the plan is ignored
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Address to listen on; other machines can connect unless it is a loopback address
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port of the first mock without a port; further mocks get the next ports; 0 selects free
    /// ports
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Seed for all random numbers; 0 draws a new one
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write one line per request to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Records to take latencies from [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Exit when standard input is closed
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
}

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

/// `loadline selftest`
#[derive(Debug, ClapArgs)]
pub struct Selftest {
    /// Run only these cases, for example T1 T20
    pub case: Vec<String>,
    /// Run five seconds per case and skip assertions about microseconds, for CI
    #[arg(long, conflicts_with = "full")]
    pub short: bool,
    /// Run a minute per case
    #[arg(long)]
    pub full: bool,
    /// Do not retry timing-sensitive cases
    #[arg(long)]
    pub once: bool,
}

/// `loadline demo`
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}
