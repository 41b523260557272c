//! Flags of `loadline run`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};

use super::{DRAIN, Many, Shard};

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
    /// Send a traceparent header (W3C) with all requests, with a share (1%), or with a number per
    /// second (10/s); the slowest traced requests are reported
    #[arg(
        long,
        value_name = "WHICH",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all",
        value_parser = plan::TraceSampling::parse
    )]
    pub trace_context: Option<plan::TraceSampling>,
    /// Address of a trace in your tracing system, for links from the report:
    /// 'https://tempo.example/trace/{trace_id}'
    #[arg(long, value_name = "URL")]
    pub trace_url: Option<String>,
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
    /// Write junit=FILE or csv=FILE at the end; during the run, serve prometheus[=HOST:PORT] or
    /// send to otlp[=URL], otlp-traces[=URL], remote-write=URL or statsd=URL; repeatable
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
