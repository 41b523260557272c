//! Flags of distributed runs.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};

/// Machines that share a run.
#[derive(Debug, Clone, Default, ClapArgs, Serialize, Deserialize)]
#[command(next_help_heading = "Several machines")]
pub struct Many {
    /// Distribute the load over nodes: processes of this machine, or a Ray cluster
    #[arg(long, value_name = "local|ray", value_parser = ["local", "ray"])]
    pub on: Option<String>,
    /// Number of nodes [default: 2; on Ray, all that are available]
    #[arg(long, value_name = "N", requires = "on")]
    pub nodes: Option<u64>,
    /// Head of the Ray cluster [default: $RAY_ADDRESS]
    #[arg(long, value_name = "HOST:PORT", requires = "on")]
    pub address: Option<String>,
    /// How long to wait for nodes of a Ray cluster [default: 60s]
    #[arg(long, value_name = "TIME", requires = "on")]
    pub wait: Option<String>,
    /// Use a Ray cluster on other machines that requires no token
    #[arg(long, requires = "on")]
    pub insecure_cluster: bool,
    /// Fail the run if a node is lost
    #[arg(long)]
    pub strict: bool,
}

impl Many {
    pub fn flags(&self) -> Vec<String> {
        let nodes = self.nodes.map(|nodes| nodes.to_string());
        let named = [
            ("--on", self.on.clone()),
            ("--nodes", nodes),
            ("--address", self.address.clone()),
            ("--wait", self.wait.clone()),
        ];
        let named = named
            .into_iter()
            .filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
        let plain = [
            (self.insecure_cluster, "--insecure-cluster"),
            (self.strict, "--strict"),
        ];
        let plain = plain.into_iter().filter(|(given, _)| *given);
        named
            .flatten()
            .chain(plain.map(|(_, flag)| flag.to_owned()))
            .collect()
    }
}

/// A part of a run without a conductor.
#[derive(Debug, Clone, Default, ClapArgs, Serialize, Deserialize)]
#[command(next_help_heading = "Several machines")]
pub struct Shard {
    /// Run one of several parts here: 3/8 is the third of eight; `loadline merge` joins them
    #[arg(
        long,
        value_name = "I/K",
        group = "part",
        requires = "start_at",
        requires = "seed",
        conflicts_with = "on"
    )]
    pub shard: Option<String>,
    /// Part to run, numbered from 0, as the completion index of a Kubernetes job is
    #[arg(
        long,
        value_name = "I/K",
        hide = true,
        group = "part",
        requires = "start_at",
        requires = "seed",
        conflicts_with = "on"
    )]
    pub shard_index: Option<String>,
    /// Start of the load, the same for all parts: 2026-11-24T19:30:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", requires = "part")]
    pub start_at: Option<String>,
}

/// `loadline merge`
#[derive(Debug, ClapArgs)]
pub struct Merge {
    /// Records of the parts: runs with `--shard`, or the run and node folders of a run that lost
    /// its conductor
    #[arg(value_name = "RUN", required = true)]
    pub parts: Vec<PathBuf>,
    /// Folder for records [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Print all figures: service times, intervals, definitions and figures of the generator
    #[arg(short, long)]
    pub verbose: bool,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write junit=FILE or csv=FILE; repeatable
    #[arg(long, value_name = "FORMAT[=…]")]
    pub export: Vec<String>,
}
