//! Readers turn test files into a [`plan::Plan`], or into a list of all problems with their
//! positions.
//!
//! This crate reads native plans and URLs. Front ends use its documents, tables, templates and
//! findings to read the files of other tools.
//!
//! The caller supplies environment variables and prints messages.

#![forbid(unsafe_code)]

mod detect;
pub mod document;
pub mod dotenv;
pub mod files;
pub mod findings;
pub mod nearest;
pub mod open;
pub mod proxy;
pub mod secrets;
pub mod stream_request;
pub mod table;
pub mod templates;
mod url_plan;

pub mod methods;
pub mod native;

use std::path::PathBuf;

use plan::{Note, Problem};

pub use detect::{FileSample, TestFileReader, detect, is_usual_user_agent, load};
pub use url_plan::{BodyOption, UrlOptions, url_plan};

const USER_AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

#[derive(Clone, Default)]
pub struct Inputs {
    pub files: Vec<PathBuf>,
    pub environment: Option<String>,
    pub target: Option<String>,
    pub variables: Option<String>,
    pub insecure: bool,
    pub solo: bool,
    pub scenario_name: Option<String>,
    pub stage: Option<String>,
    pub process_env: Vec<(String, String)>,
    pub secrets: Vec<String>,
    pub test_id: String,
    /// Whether to run another tool's file by native rules. By these rules, a status of 400 or above
    /// is a failed request.
    pub native: bool,
    pub memory: Option<u64>,
    pub mocks: Vec<plan::mocks::MockAddress>,
    /// Number that names the run in all of its processes. `None` if the run has a single process.
    pub run_name: Option<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadErrors {
    /// The original tool's message and exit code for the first problem.
    pub original: Option<Original>,
    pub problems: Vec<Problem>,
    pub notes: Vec<Note>,
}

impl LoadErrors {
    #[must_use]
    pub fn refused(message: impl Into<String>) -> LoadErrors {
        LoadErrors::from(Problem::anywhere(message.into()))
    }
}

impl From<Problem> for LoadErrors {
    fn from(problem: Problem) -> LoadErrors {
        LoadErrors {
            original: None,
            problems: vec![problem],
            notes: Vec::new(),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    pub out: String,
    pub err: String,
    pub code: u8,
    pub explained: bool,
}

impl std::fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadErrors {}
