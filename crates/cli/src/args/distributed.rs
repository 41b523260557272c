//! Flags of distributed runs.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use serde::{Deserialize, Serialize};

/// On how many machines a run goes on.
#[derive(Debug, Clone, Default, ClapArgs, Serialize, Deserialize)]
#[command(next_help_heading = "Several machines")]
pub struct Many {
    /// Have nodes carry the load out together: processes of this machine, or a Ray cluster
    #[arg(long, value_name = "local|ray", value_parser = ["local", "ray"])]
    pub on: Option<String>,
    /// How many nodes [default: 2; on Ray, all that are there]
    #[arg(long, value_name = "N", requires = "on")]
    pub nodes: Option<u64>,
    /// Of Ray's head, HOST:PORT [default: $RAY_ADDRESS]
    #[arg(long, value_name = "HOST:PORT", requires = "on")]
    pub address: Option<String>,
    /// How long nodes of a Ray cluster are waited for [default: 60s]
    #[arg(long, value_name = "TIME", requires = "on")]
    pub wait: Option<String>,
    /// Use a Ray cluster beyond this machine that asks nobody for a token
    #[arg(long, requires = "on")]
    pub insecure_cluster: bool,
    /// A node that is lost fails the run
    #[arg(long)]
    pub strict: bool,
}

impl Many {
    /// As arguments for a child process.
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

/// A part of a run that nobody conducts.
#[derive(Debug, Clone, Default, ClapArgs, Serialize, Deserialize)]
#[command(next_help_heading = "Several machines")]
pub struct Shard {
    /// Carry out one of several parts, here, by number from 0: 3/8 is the fourth of eight; `loadline merge` puts them together
    #[arg(
        long,
        value_name = "I/K",
        requires = "start_at",
        requires = "seed",
        conflicts_with = "on"
    )]
    pub shard: Option<String>,
    /// When the load begins, the same for all parts: 2026-11-24T19:30:00Z, or seconds since 1970
    #[arg(long, value_name = "TIME", requires = "shard")]
    pub start_at: Option<String>,
}

/// `loadline merge`
#[derive(Debug, ClapArgs)]
pub struct Merge {
    /// What each machine has left: runs of `--shard`, or runs and nodes' folders of a run whose conductor is gone
    #[arg(value_name = "RUN", required = true)]
    pub parts: Vec<PathBuf>,
    /// Where records are kept [default: $LOADLINE_RUNS, or .loadline/runs]
    #[arg(long, value_name = "DIR")]
    pub runs: Option<PathBuf>,
    /// Write the summary as JSON to this file; - is standard output
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Write junit=FILE or csv=FILE; may be repeated
    #[arg(long, value_name = "FORMAT[=…]")]
    pub export: Vec<String>,
}
