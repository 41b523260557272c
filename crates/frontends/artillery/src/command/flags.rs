//! Artillery's command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};

/// Run an Artillery script as `artillery` does
#[derive(Debug, Parser)]
#[command(
    name = "artillery",
    bin_name = "loadline artillery",
    display_name = "loadline-artillery",
    version,
    propagate_version = true,
    disable_version_flag = true,
    arg_required_else_help = true,
    max_term_width = 100
)]
pub struct Flags {
    /// Print versions and end
    #[arg(short = 'V', long)]
    pub version: bool,
    #[command(subcommand)]
    pub command: Option<ArtilleryCommand>,
}

#[derive(Debug, Subcommand)]
#[command(disable_version_flag = true)]
pub enum ArtilleryCommand {
    Run(Box<RunFlags>),
    /// Run a simple test without a script
    Quick(Quick),
    /// Write a report page from a file that `run -o` wrote
    Report {
        /// The file that `run -o` wrote
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Where to write the page [default: FILE.html]
        #[arg(short, long, value_name = "PATH")]
        output: Option<PathBuf>,
    },
    Version,
    /// Here be dinosaurs
    Dino {
        #[arg(short, long, default_value = "Loadline!")]
        message: String,
    },
}

/// `loadline artillery quick`
#[derive(Debug, ClapArgs)]
#[command(disable_version_flag = true)]
pub struct Quick {
    /// The URL to request
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Number of virtual users to create
    #[arg(short, long, value_name = "COUNT", default_value_t = 10)]
    pub count: u32,
    /// Number of requests that each of them sends
    #[arg(short, long, value_name = "NUM", default_value_t = 10)]
    pub num: u32,
    /// Write a JSON report to file
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Allow insecure TLS connections
    #[arg(short = 'k', long)]
    pub insecure: bool,
    #[arg(short, long)]
    pub quiet: bool,
    /// Artillery 1's flags. They are refused with Artillery's message.
    #[arg(short, long, hide = true, value_name = "SECONDS")]
    pub duration: Option<String>,
    #[arg(short, long, hide = true, value_name = "RATE")]
    pub rate: Option<String>,
}

/// `loadline artillery run`: Artillery's own flags.
#[derive(Debug, ClapArgs)]
#[command(disable_version_flag = true)]
pub struct RunFlags {
    /// The script, and files merged over it
    #[arg(value_name = "SCRIPT", required = true)]
    pub script: Vec<PathBuf>,
    /// Set the target endpoint, overriding the target set in the script
    #[arg(short, long, value_name = "URL")]
    pub target: Option<String>,
    /// A configuration file, merged last
    #[arg(short, long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Use one of the environments specified in config.environments
    #[arg(short, long, value_name = "NAME")]
    pub environment: Option<String>,
    /// Run only this scenario
    #[arg(long, value_name = "NAME")]
    pub scenario_name: Option<String>,
    /// Write a JSON report to file
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    #[arg(short, long, value_name = "JSON")]
    pub variables: Option<String>,
    /// Dynamically override values in the test script, as a JSON object
    #[arg(long, value_name = "JSON")]
    pub overrides: Option<String>,
    /// Allow insecure TLS connections
    #[arg(short = 'k', long)]
    pub insecure: bool,
    #[arg(short, long)]
    pub quiet: bool,
    /// Specify a CSV file for dynamic data
    #[arg(short, long, value_name = "CSV")]
    pub payload: Option<PathBuf>,
    /// Create only one virtual user
    #[arg(short, long)]
    pub solo: bool,
    /// Load environment variables from this file
    #[arg(long, alias = "env-file", value_name = "FILE")]
    pub dotenv: Option<PathBuf>,
    /// Another file merged over the script
    #[arg(short, long, value_name = "FILE", hide = true)]
    pub input: Vec<PathBuf>,
    /// Where the load runs: on this machine
    #[arg(long, value_name = "PLATFORM", default_value = "local", value_parser = ["local", "aws:lambda", "az:aci"])]
    pub platform: String,
    #[arg(long, value_name = "KEY=VALUE")]
    pub platform_opt: Vec<String>,
    /// Number of workers on another platform
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub count: u32,
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    #[arg(long, value_name = "TAGS")]
    pub tags: Option<String>,
    #[arg(long, value_name = "NOTE")]
    pub note: Option<String>,
    /// Send results to Artillery's service (they stay here)
    #[arg(long)]
    pub record: bool,
    /// Key of Artillery's service
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
}
