//! Definition of the command line.

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
    /// What to do.
    #[command(subcommand)]
    pub command: CliCommand,
}

/// Our own commands; those of the front doors are listed between the first and the others.
#[derive(Debug, Subcommand)]
pub enum CliCommand {
    /// Run a test: a URL, a native plan, an Artillery script, a locustfile or a script of wrk's
    #[command(display_order = 0)]
    Run(Box<RunArgs>),
    /// Write a commented plan to go on from: of a URL, command lines of curl, what a browser recorded (HAR), or an OpenAPI description
    #[command(display_order = 1)]
    Init(Init),
    /// Run the stages of a plan one after the other, and tell of all of them in one report
    #[command(display_order = 90)]
    Campaign(Campaign),
    /// Find the load line: the highest load at which everything that is asked for still holds, with its interval
    #[command(display_order = 1)]
    Find(Box<Find>),
    /// Show what a test file would send, without sending anything: rates by scenario and endpoint, a chart of the load, what it needs
    #[command(display_order = 90)]
    Plan(Box<PlanArgs>),
    /// Start an embedded target with known truth
    #[command(display_order = 91)]
    Lab(Lab),
    /// Stand in for the services behind a target, as a plan's `mocks` describe them
    #[command(display_order = 91)]
    Mock(Mock),
    /// Render a run's record again
    #[command(display_order = 92)]
    Report(Report),
    /// Say whether runs are worse than others, with intervals: single runs, groups by tag, what other tools left
    #[command(display_order = 92)]
    Compare(Compare),
    /// Run a test several times and say whether it is worse than a baseline: for continuous integration
    #[command(display_order = 92)]
    Gate(Box<Gate>),
    /// Run a test against two targets in turns until one is shown to be worse, or not
    #[command(display_order = 92)]
    Ab(Box<Ab>),
    /// List the runs that were made, newest first, also those whose records are gone
    #[command(display_order = 92)]
    List(List),
    /// Show a figure over all runs of a test, and where it went to another level
    #[command(display_order = 92)]
    History(History),
    /// Put the parts of a run that several machines carried out together
    #[command(display_order = 92)]
    Merge(Merge),
    /// Have a cluster of Kubernetes carry a run out
    #[command(display_order = 92)]
    K8s(K8s),
    /// Carry out a part of a run, for whoever conducts it on the other end of standard input and output
    #[command(hide = true)]
    Node,
    /// Say what this machine can send before anyone tries
    #[command(display_order = 93)]
    Doctor,
    /// Check the figures that a load-testing tool printed against each other
    #[command(display_order = 94)]
    Audit(Audit),
    /// Prove on this machine that what Loadline reports is what happened
    #[command(display_order = 95)]
    Selftest(Selftest),
    /// Start a target, test it, and show the report: under a minute, offline
    #[command(display_order = 96)]
    Demo(Demo),
    /// Print what a shell completes behind `loadline`, for its own folder of completions
    #[command(display_order = 97)]
    Completions(Completions),
    /// Print the manual page, or write those of all commands
    #[command(display_order = 98)]
    Man(Man),
}

/// `loadline completions`
#[derive(Debug, ClapArgs)]
pub struct Completions {
    /// Which shell
    pub shell: clap_complete::Shell,
}

/// `loadline man`
#[derive(Debug, ClapArgs)]
pub struct Man {
    /// Write a page for each command into this folder: loadline.1, loadline-run.1, …
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

pub const DRAIN: &str = "30s";

/// `loadline campaign`
#[derive(Debug, ClapArgs)]
pub struct Campaign {
    /// A native plan with `stages`
    pub file: PathBuf,
    /// Base URL, instead of the file's; `lab:NAME` starts an embedded target for the campaign
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// Seed of everything random, the same for each stage [default: random, kept in the records]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Go on behind the last stage that was finished, of this campaign or of the newest
    #[arg(long, value_name = "CAMPAIGN", num_args = 0..=1)]
    pub resume: Option<Option<PathBuf>>,
    /// Where campaigns are kept [default: .loadline/campaigns]
    #[arg(long, value_name = "DIR")]
    pub folder: Option<PathBuf>,
    /// A host that redirects and values of the run may lead to, beside those that the plan names; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// A name whose values must never be shown: a variable, header, query parameter or JSON member; may be repeated
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// On how many machines each stage goes on
    #[command(flatten)]
    pub many: Many,
}

/// `loadline run`
#[derive(Debug, Clone, ClapArgs, Serialize, Deserialize)]
pub struct RunArgs {
    /// What to run: http(s)://… (or localhost:8080/…), a plan (.yml, .json), a script (.lua), a locustfile (.py), or lab:NAME?option=value
    #[arg(value_name = "FILE|URL", required = true)]
    pub what: String,
    /// A header for each request that does not set it itself, for example 'X-A: 1'; may be repeated
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Of a URL: the method, for example PUT [default: GET, with --data POST]
    #[arg(short = 'X', long, visible_alias = "request", value_name = "METHOD")]
    pub method: Option<String>,
    /// Of a URL: the body; @FILE is a file's text. JSON goes as application/json, anything else as a form, unless -H says what it is
    #[arg(short, long, value_name = "DATA")]
    pub data: Option<String>,
    /// Of a URL: name and password of basic authentication
    #[arg(short, long, value_name = "NAME:PASSWORD")]
    pub user: Option<String>,
    /// For the script's (.lua) `init`, or for Locust
    #[arg(last = true, value_name = "ARGUMENT")]
    pub arguments: Vec<String>,
    /// Base URL, instead of the file's; `lab:NAME` starts an embedded target for the run
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// One stage of a campaign, alone
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// Arrivals, for example 200/s or 90/m
    #[arg(long)]
    pub rate: Option<String>,
    /// At most so many connections; without --rate: so many users in a closed loop
    #[arg(long, value_name = "N")]
    pub connections: Option<u32>,
    /// So many users, each as fast as it is answered, on connections of their own unless --connections says how many they share
    #[arg(long, value_name = "N", conflicts_with = "rate")]
    pub users: Option<u32>,
    /// How long arrivals come, for example 30s or 5m
    #[arg(long)]
    pub duration: Option<String>,
    /// How arrivals are spread
    #[arg(long, value_name = "even|poisson", value_parser = ["even", "poisson"])]
    pub arrivals: Option<String>,
    /// Worker threads [default: as many as the planned rate needs]
    #[arg(long, value_name = "N")]
    pub workers: Option<usize>,
    /// Seed of everything random [default: random, kept in the record]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// A criterion that must hold at the end, for example 'p99 < 250ms' or 'errors < 1%'; may be repeated
    #[arg(long, value_name = "EXPR")]
    pub check: Vec<String>,
    /// A rule that ends the run, for example 'errors > 10% for 10s: stop fail'; may be repeated
    #[arg(long, value_name = "EXPR")]
    pub stop: Vec<String>,
    /// What the run is called, instead of what its file says
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// A word to find the run by among others, for `compare tag:WORD`; may be repeated
    #[arg(long, value_name = "WORD")]
    pub tag: Vec<String>,
    /// What else is measured, once a second: NAME=PLACE, for example app=http://127.0.0.1:9464/metrics or db=port:5432; may be repeated
    #[arg(long, value_name = "NAME=PLACE")]
    pub server: Vec<String>,
    /// Let the load go on rising while more than half of the requests fail
    #[arg(long)]
    pub no_guard: bool,
    /// Keep nothing of what answers held in the record, also not of errors
    #[arg(long)]
    pub no_excerpts: bool,
    /// How long what is under way may go on after the last arrival
    #[arg(long, value_name = "TIME", default_value = DRAIN)]
    pub drain: String,
    /// How late a start may be so that several share one wake-up; 0 is none [default: 100us]
    #[arg(long, value_name = "TIME")]
    pub pacing_slack: Option<String>,
    /// Send one iteration and end
    #[arg(long)]
    pub once: bool,
    /// Show requests and answers, secrets hidden, bodies cut at 2 KB
    #[arg(long)]
    pub trace: bool,
    /// The run is a probe of a search: for so long its load goes on before it counts; only --check judges
    #[arg(long, value_name = "TIME", hide = true)]
    pub probe: Option<String>,
    /// It ends as soon as its criteria are decided, or only where one fails plainly
    #[arg(long, value_name = "decided|plain", value_parser = ["decided", "plain"], hide = true, requires = "probe")]
    pub probe_until: Option<String>,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write junit=FILE or csv=FILE at the end, serve prometheus[=HOST:PORT] meanwhile; may be repeated
    #[arg(long, value_name = "FORMAT[=…]")]
    pub export: Vec<String>,
    /// Open the report in a browser when it is there
    #[arg(long)]
    pub open: bool,
    /// Show the run in a browser while it goes on, at an address on this machine that is printed
    #[arg(long)]
    pub ui: bool,
    /// Port of --ui; 0 takes a free one
    #[arg(long, value_name = "N", default_value_t = 0, requires = "ui")]
    pub ui_port: u16,
    /// A name whose values must never be shown: a variable, header, query parameter or JSON member; may be repeated
    #[arg(long, value_name = "NAME")]
    pub secret: Vec<String>,
    /// Memory for users that wait, tables, bodies and captured values [default: a quarter of the machine's]
    #[arg(long, value_name = "SIZE")]
    pub memory: Option<String>,
    /// A host that redirects and values of the run may lead to, beside those that the test names; may be repeated
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Accept any TLS certificate
    #[arg(short = 'k', long)]
    pub insecure: bool,
    /// Trust these authorities (PEM), and no others
    #[arg(long, value_name = "FILE")]
    pub cacert: Option<PathBuf>,
    /// The certificate (PEM) for servers that ask for one
    #[arg(long, value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Its key (PEM), where that is a file of its own
    #[arg(long, value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// The name that servers are asked for (SNI) and must prove, instead of the URL's
    #[arg(long, value_name = "NAME")]
    pub server_name: Option<String>,
    /// Connect to this address for this host and port; may be repeated
    #[arg(long, value_name = "HOST:PORT:ADDRESS")]
    pub resolve: Vec<String>,
    /// Connect to this Unix domain socket, whatever the host
    #[arg(long, value_name = "SOCKET")]
    pub unix: Option<PathBuf>,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// On how many machines
    #[command(flatten)]
    pub many: Many,
    /// What all processes of the run call it
    #[arg(skip)]
    #[serde(default)]
    pub stamp: Option<u32>,
    /// Which part, of a run that nobody conducts
    #[command(flatten)]
    pub part: Shard,
}

/// `loadline plan`
#[derive(Debug, ClapArgs)]
pub struct PlanArgs {
    /// A plan (.yml, .json) or an Artillery script
    #[arg(value_name = "FILE", required_unless_present = "schema")]
    pub file: Option<PathBuf>,
    /// Base URL, instead of the file's
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,
    /// One stage of a campaign, alone
    #[arg(long, value_name = "NAME")]
    pub stage: Option<String>,
    /// How long a request takes, for what is under way at a time
    #[arg(long, value_name = "TIME")]
    pub latency: Option<String>,
    /// How large an answer is, for the bandwidth
    #[arg(long, value_name = "SIZE")]
    pub answer: Option<String>,
    /// Two digits behind the point, instead of whole numbers where they are near
    #[arg(long)]
    pub exact: bool,
    /// As Markdown, to be pasted into a document
    #[arg(long)]
    pub markdown: bool,
    /// Write all figures as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Seed of arrivals that come at random
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Artillery scripts: the environment to use
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Print the JSON schema of plans and end
    #[arg(long, exclusive = true)]
    pub schema: bool,
}

/// `loadline lab`
#[derive(Debug, ClapArgs)]
pub struct Lab {
    /// Which lab; without one, the labs are listed
    pub name: Option<String>,
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port to listen on; 0 takes a free one
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// The bearer token that the lab accepts
    #[arg(long, default_value = "demo")]
    pub token: String,
    /// Seed of everything random; 0 is a new one each time
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write a line per request to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Print a valid token and end
    #[arg(long)]
    pub print_token: bool,
    /// Refuse with 503 what would be more than so many requests at a time; the same as max-in-flight=N
    #[arg(long, value_name = "N")]
    pub max_in_flight: Option<String>,
    /// What the lab calls, at this URL; the same as downstream=NAME=URL; may be repeated
    #[arg(long, value_name = "NAME=URL")]
    pub downstream: Vec<String>,
    /// End when standard input is closed
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
    /// The lab's own options
    #[arg(value_name = "OPTION=VALUE")]
    pub options: Vec<String>,
}

/// `loadline init`
#[derive(Debug, ClapArgs)]
#[command(
    override_usage = "loadline init [-o FILE] [--force] SOURCE\n       loadline init [-o FILE] [--force] curl -X POST https://…"
)]
pub struct Init {
    /// http(s)://… (or localhost:8080/…), a file (HAR, OpenAPI 3, or command lines of curl; - is standard input), or curl with its
    /// arguments behind it
    pub source: String,
    /// What stands behind curl
    #[arg(value_name = "ARGUMENT", hide = true)]
    pub arguments: Vec<String>,
    /// Where to write the plan; - is standard output [default: named after the source, in the current folder]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite the file if there is one
    #[arg(long)]
    pub force: bool,
}

/// `loadline mock`
#[derive(Debug, ClapArgs)]
pub struct Mock {
    /// A plan with `mocks`; nothing else of it is started
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Address to listen on; any but this machine's own lets others in
    #[arg(long, default_value = "127.0.0.1")]
    pub host: String,
    /// Port of the first mock that names none, the next one's is the next; 0 takes free ones
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Seed of everything random; 0 is a new one each time
    #[arg(long, default_value_t = 0)]
    pub seed: u64,
    /// Write a line per request to this file
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// Where the records are that latencies are taken from [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// End when standard input is closed
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
}

/// `loadline report`
#[derive(Debug, ClapArgs)]
pub struct Report {
    /// A run: `last`, its id (or the beginning of it), or its folder; or what another tool left: Artillery's -o JSON or console
    /// output, one of Locust's CSV files (the others of its set are found beside it), a transcript of wrk or wrk2, k6's summary, JMeter's
    /// JTL, JSON of Vegeta, oha or Fortio, a log of HdrHistogram; or a campaign's folder
    #[arg(default_value = "last")]
    pub run: String,
    /// Where to put the report of another tool's file [default: FILE-report, in the current folder]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Show what others measured meanwhile, from a CSV file of times and metrics; may be repeated
    #[arg(long, value_name = "NAME=FILE.csv")]
    pub server: Vec<String>,
    /// How far the clock of those files is ahead of the run's (2s, -2s), or `auto`: found by what moves with the load [default: 0s]
    #[arg(long, value_name = "DURATION|auto", allow_hyphen_values = true)]
    pub clock_offset: Option<String>,
    /// Write junit=FILE or csv=FILE; may be repeated
    #[arg(long, value_name = "FORMAT=FILE")]
    pub export: Vec<String>,
    /// Open the report in a browser
    #[arg(long)]
    pub open: bool,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Print one table in Markdown and nothing else
    #[arg(long, value_enum, value_name = "TABLE")]
    pub table: Option<ReportTable>,
}

/// A table of published reports.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
pub enum ReportTable {
    /// Requests, failures, mean and rate by endpoint
    Requests,
    /// Percentiles in milliseconds by endpoint, as Locust has them
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
    after_help = "Exit status: 0 nothing contradicts, 1 something does, 2 a file that it does not read, 3 a file that \
                        cannot be read"
)]
pub struct Audit {
    /// Outputs of Artillery, wrk, wrk2, Locust, k6, JMeter, Vegeta, oha or Fortio, logs of HdrHistogram, or a run of Loadline's
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Write the findings as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `loadline selftest`
#[derive(Debug, ClapArgs)]
pub struct Selftest {
    /// Only these cases, for example T1 T20
    pub case: Vec<String>,
    /// Five seconds a case, and no assertions about microseconds: for continuous integration
    #[arg(long, conflicts_with = "full")]
    pub short: bool,
    /// A minute a case
    #[arg(long)]
    pub full: bool,
    /// No second attempt for the cases that hang on a calm machine
    #[arg(long)]
    pub once: bool,
}

/// `loadline demo`
#[derive(Debug, ClapArgs)]
pub struct Demo {
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
}
