//! How does a cluster carry it out? Manifests for Kubernetes, of a test whose files, flags and length others have read: a RayJob, whose nodes
//! Loadline conducts, or an indexed Job, whose parts begin by the clock and are merged afterwards.
//!
//! A pure function to text: it reads no file and no clock, and talks to no cluster.

#![forbid(unsafe_code)]

mod indexed;
mod names;
mod parts;
mod ray;
mod yaml;

use std::fmt;

pub use names::default_name;

/// What is to be carried out, and where.
#[derive(Debug, Clone)]
pub struct RenderOptions {
    /// Of the job, and of what belongs to it.
    pub name: String,
    /// Where it is; none: wherever it is applied.
    pub namespace: Option<String>,
    /// The image that has Loadline in it.
    pub image: String,
    /// How many nodes carry the load out.
    pub nodes: u64,
    /// What each of them has, and no more: as Kubernetes writes quantities.
    pub cpu: String,
    /// The same of memory.
    pub memory: String,
    /// How much room the records have.
    pub storage: String,
    /// A Secret whose values the test refers to as variables of the environment.
    pub env_from: Option<String>,
    /// What is run, from `folder`: a file of the test, or a URL.
    pub what: String,
    /// Further flags of `loadline run`.
    pub flags: Vec<String>,
    /// Where it runs, below the folder of the files.
    pub folder: String,
    /// The files of the test: relative path and content.
    pub files: Vec<(String, Vec<u8>)>,
    /// Whether any of them holds a secret: then all are in a Secret instead of a ConfigMap.
    pub files_are_secret: bool,
    /// How long it may take, all in all, in seconds.
    pub deadline_s: u64,
    /// Who starts the nodes.
    pub job: Job,
}

/// Who starts the nodes.
#[derive(Debug, Clone)]
pub enum Job {
    /// KubeRay: one run, conducted.
    Ray {
        /// The version of Ray in the image.
        version: String,
        /// So long nodes may take to be there, in seconds.
        wait_s: u64,
    },
    /// Kubernetes itself: parts that nobody conducts.
    Indexed {
        /// What is random in all of them.
        seed: u64,
        /// When all of them begin, as it is written on the command line.
        start_at: String,
    },
}

/// Why there is no manifest: one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The manifests, as one text of YAML documents.
///
/// # Errors
/// What Kubernetes would refuse, or cannot hold.
pub fn render(wanted: &RenderOptions) -> Result<String, Unusable> {
    names::check(wanted).map_err(Unusable)?;
    let mut documents = vec![parts::claim(wanted)];
    if !wanted.files.is_empty() {
        documents.push(parts::files(wanted).map_err(Unusable)?);
    }
    let (head, job) = match &wanted.job {
        Job::Ray { version, wait_s } => ray::rendered(wanted, version, *wait_s),
        Job::Indexed { seed, start_at } => indexed::rendered(wanted, *seed, start_at),
    };
    documents.push(job);
    Ok(format!("{head}---\n{}", documents.join("---\n")))
}
