//! Flags of `loadline mcp`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

/// `loadline mcp`
#[derive(Debug, ClapArgs)]
pub struct Mcp {
    /// Host that runs may load, in addition to this machine; repeatable
    #[arg(long, value_name = "HOST")]
    pub allow_host: Vec<String>,
    /// Highest request rate of a run
    #[arg(long, value_name = "RATE", default_value = "200/s")]
    pub most_rate: String,
    /// Highest number of users of a run
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub most_users: u32,
    /// Longest load of a run, and longest search
    #[arg(long, value_name = "TIME", default_value = "5m")]
    pub most_duration: String,
    /// Highest number of requests of a run
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    pub most_requests: u64,
    /// Highest number of runs and searches that start within an hour
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub runs_per_hour: usize,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Folder of plans; plans may name files in it, and no others
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,
    /// Environment variable that plans may read; repeatable
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,
    /// Do not ask a person before load leaves this machine
    #[arg(long)]
    pub no_ask: bool,
}
