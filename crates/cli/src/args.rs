//! Flags of the command line and their help. Commands interpret the values.

mod cluster;
mod decisions;
mod distributed;
mod export;
mod mcp;
mod reports;
mod run;
mod targets;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

pub use cluster::{K8s, K8sCommand, Render};
pub use decisions::{Ab, Compare, Find, Gate, History, Judged, List, Which};
pub use distributed::{Many, Merge, Shard};
pub use export::{Export, ExportCommand};
pub use mcp::Mcp;
pub use reports::{Audit, Report, ReportTable};
pub use run::RunArgs;
pub use targets::{Lab, Mock};

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

/// Native commands. The help lists the commands of front ends after the first group.
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
    /// Let an agent run tests and read results (MCP server)
    Mcp(Mcp),
    /// Write files with which other tools show runs
    Export(Export),
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
