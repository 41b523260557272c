//! Flags of `loadline export`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// `loadline export`
#[derive(Debug, ClapArgs)]
pub struct Export {
    /// What to write.
    #[command(subcommand)]
    pub what: ExportCommand,
}

/// What `loadline export` writes.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// Write a Grafana dashboard for the metrics of `--export prometheus` and `remote-write`
    GrafanaDashboard(GrafanaDashboard),
}

/// `loadline export grafana-dashboard`
#[derive(Debug, ClapArgs)]
pub struct GrafanaDashboard {
    /// File to write; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
}
