//! Renders Kubernetes manifests: a RayJob with a conductor, or an indexed Job whose parts are
//! merged later.
//!
//! This crate only generates text.

#![forbid(unsafe_code)]

mod indexed;
mod names;
mod parts;
mod ray;
mod yaml;

use std::fmt;

pub use names::default_name;

#[derive(Debug, Clone)]
pub struct RenderOptions {
    pub name: String,
    pub namespace: Option<String>,
    pub image: String,
    pub nodes: u64,
    pub cpu: String,
    pub memory: String,
    pub storage: String,
    pub env_from: Option<String>,
    pub what: String,
    pub flags: Vec<String>,
    pub folder: String,
    pub files: Vec<(String, Vec<u8>)>,
    pub files_are_secret: bool,
    pub deadline_s: u64,
    pub job: Job,
}

#[derive(Debug, Clone)]
pub enum Job {
    Ray { version: String, wait_s: u64 },
    Indexed { seed: u64, start_at: String },
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unusable(String);

impl fmt::Display for Unusable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub fn render(options: &RenderOptions) -> Result<String, Unusable> {
    names::check(options).map_err(Unusable)?;
    let mut documents = vec![parts::claim(options)];
    if !options.files.is_empty() {
        documents.push(parts::files(options).map_err(Unusable)?);
    }
    let (head, job) = match &options.job {
        Job::Ray { version, wait_s } => ray::render(options, version, *wait_s),
        Job::Indexed { seed, start_at } => indexed::render(options, *seed, start_at),
    };
    documents.push(job);
    Ok(format!("{head}---\n{}", documents.join("---\n")))
}
