//! Flags of clusters.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

/// `loadline k8s`
#[derive(Debug, ClapArgs)]
pub struct K8s {
    /// Action
    #[command(subcommand)]
    pub command: K8sCommand,
}

/// Actions for Kubernetes.
#[derive(Debug, Subcommand)]
pub enum K8sCommand {
    /// Write the manifests of a run on several nodes, for `kubectl apply -f -`
    Render(Box<Render>),
}

/// `loadline k8s render`
#[derive(Debug, ClapArgs)]
pub struct Render {
    /// A plan (.yml, .json), an Artillery script, a wrk script or a URL
    #[arg(value_name = "FILE|URL")]
    pub what: String,
    /// Image that contains Loadline (packaging/Dockerfile)
    #[arg(long)]
    pub image: String,
    /// Number of nodes, one per host
    #[arg(long, value_name = "N")]
    pub nodes: u64,
    /// How to start the nodes: KubeRay with a conductor, or an indexed Job whose parts you merge
    /// afterwards
    #[arg(long, value_name = "ray|indexed", value_parser = ["ray", "indexed"], default_value = "ray")]
    pub job: String,
    /// Name of the job [default: loadline- and the file's name]
    #[arg(long)]
    pub name: Option<String>,
    /// Namespace [default: the one to which the manifests are applied]
    #[arg(long)]
    pub namespace: Option<String>,
    /// CPU request and limit per node
    #[arg(long, value_name = "QUANTITY", default_value = "2")]
    pub cpu: String,
    /// Memory request and limit per node
    #[arg(long, value_name = "QUANTITY", default_value = "4Gi")]
    pub memory: String,
    /// Disk space for records
    #[arg(long, value_name = "QUANTITY", default_value = "5Gi")]
    pub storage: String,
    /// Secret with the environment variables that the test uses
    #[arg(long, value_name = "SECRET")]
    pub env_from: Option<String>,
    /// Folder of the test in the image; its files then need no ConfigMap
    #[arg(long, value_name = "FOLDER")]
    pub in_image: Option<PathBuf>,
    /// Time limit for the job [default: the load, its drain, and 15 minutes]
    #[arg(long, value_name = "TIME")]
    pub deadline: Option<String>,
    /// With --job ray: how long to wait for nodes
    #[arg(long, value_name = "TIME", default_value = "10m")]
    pub wait: String,
    /// With --job ray: version of Ray in the image
    #[arg(long, value_name = "VERSION", default_value = "2.60.0")]
    pub ray_version: String,
    /// With --job indexed: start of the load: 2026-11-24T19:30:00Z, or seconds since 1970 [default:
    /// 5 minutes from now]
    #[arg(long, value_name = "TIME")]
    pub start_at: Option<String>,
    /// Write to this file; - is standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    pub output: PathBuf,
    /// More flags of `loadline run`
    #[arg(last = true, value_name = "FLAG")]
    pub flags: Vec<String>,
}
