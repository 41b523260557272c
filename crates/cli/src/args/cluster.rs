//! Flags of clusters.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// `loadline k8s`
#[derive(Debug, ClapArgs)]
pub struct K8s {
    /// What about it
    #[command(subcommand)]
    pub command: K8sCommand,
}

/// What is done for Kubernetes.
#[derive(Debug, Subcommand)]
pub enum K8sCommand {
    /// Write the manifests of a run of several nodes, for `kubectl apply -f -`
    Render(Box<Render>),
}

/// `loadline k8s render`
#[derive(Debug, ClapArgs)]
pub struct Render {
    /// What is run: a plan (.yml, .json), an Artillery script, a script of wrk's or a URL
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// The image with Loadline in it (packaging/Dockerfile)
    #[arg(long)]
    pub image: String,
    /// How many nodes carry the load out, one on each host
    #[arg(long, value_name = "N")]
    pub nodes: u64,
    /// Who starts them: KubeRay, with one conductor, or Kubernetes' own indexed Job, whose parts are merged afterwards
    #[arg(long, value_name = "ray|indexed", value_parser = ["ray", "indexed"], default_value = "ray")]
    pub job: String,
    /// What the job is called [default: loadline- and the file's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Where it is [default: wherever it is applied]
    #[arg(long)]
    pub namespace: Option<String>,
    /// What a node has, and no more
    #[arg(long, value_name = "QUANTITY", default_value = "2")]
    pub cpu: String,
    /// The same of memory
    #[arg(long, value_name = "QUANTITY", default_value = "4Gi")]
    pub memory: String,
    /// Room for the records
    #[arg(long, value_name = "QUANTITY", default_value = "5Gi")]
    pub storage: String,
    /// A Secret with the variables of the environment that the test refers to
    #[arg(long, value_name = "SECRET")]
    pub env_from: Option<String>,
    /// The test's files are in the image, and this is the folder in which it runs: they need no ConfigMap
    #[arg(long, value_name = "FOLDER")]
    pub in_image: Option<PathBuf>,
    /// How long all of it may take [default: the load, its drain, and 15 minutes]
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// Of --job ray: how long nodes are waited for
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub wait: String,
    /// Of --job ray: the version of Ray in the image
    #[arg(long, value_name = "VERSION", default_value = "2.60.0")]
    pub ray_version: String,
    /// Of --job indexed: when the load begins: 2026-11-24T19:30:00Z, or seconds since 1970 [default: 5 minutes from now]
    #[arg(long, value_name = "TIME")]
    pub start_at: Option<String>,
    /// Write it here; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// Further flags of `loadline run`
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}
