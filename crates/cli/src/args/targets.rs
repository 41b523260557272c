//! Flags of the commands that start servers: `loadline lab` and `loadline mock`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

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
