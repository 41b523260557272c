//! READ it: test files become a [`plan::Plan`], or a list of every problem with its place. Native plans and URLs are read here;
//! other tools' files by their front doors, with what this crate offers: positioned documents, tables, templates, findings.
//!
//! This crate reads files (scripts, tables) and nothing else: no clock, no environment, no network. The caller hands in the
//! environment variables, and prints what comes back.

#![forbid(unsafe_code)]

mod detect;
pub mod document;
pub mod dotenv;
pub mod files;
pub mod findings;
pub mod nearest;
pub mod open;
pub mod secrets;
pub mod table;
pub mod templates;
mod url_plan;

pub mod methods;
pub mod native;

use std::path::PathBuf;

use plan::{Note, Problem};

pub use detect::{Reader, Sample, detect, is_usual_user_agent, load};
pub use url_plan::{BodyOption, UrlOptions, url_plan};

/// What our own requests say of their client where nobody sets it.
const USER_AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

/// What a load is made from: the files and options that a command line named.
#[derive(Clone, Default)]
pub struct Inputs {
    /// The test files, in order. The first is "the script": other paths are relative to it.
    pub files: Vec<PathBuf>,
    /// Which of the file's environments holds, where it has some.
    pub environment: Option<String>,
    /// Replaces the target.
    pub target: Option<String>,
    /// Variables that replace those of the file: a JSON object.
    pub variables: Option<String>,
    /// Certificates are not verified.
    pub insecure: bool,
    /// One virtual user.
    pub solo: bool,
    /// The one scenario that is wanted.
    pub scenario_name: Option<String>,
    /// The one stage of a campaign that is wanted.
    pub stage: Option<String>,
    /// The environment variables that scripts may refer to.
    pub process_env: Vec<(String, String)>,
    /// Names whose values are secret, beside the house list.
    pub secrets: Vec<String>,
    /// What `{{ $testId }}` is.
    pub test_id: String,
    /// Run natively rather than behind the door whose file it is: a status of 400 and above is a failed request.
    pub native: bool,
    /// So much memory a table may take, in bytes; none: any.
    pub memory: Option<u64>,
    /// Where the plan's mocks listen, by their names: what `{{ mocks.NAME }}` is.
    pub mocks: Vec<(String, String)>,
    /// What all processes of the run call it; none: it has one.
    pub run_name: Option<u32>,
}

/// Why nothing was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadErrors {
    /// How the original tool ends at the first problem, where it has words and an exit code of its own.
    pub original: Option<Original>,
    /// Every problem, with its place where a file is to blame.
    pub problems: Vec<Problem>,
    /// What had been noted until then.
    pub notes: Vec<Note>,
}

impl LoadErrors {
    /// In our own words, and of no place in a file.
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

/// What another tool says when it refuses a test, for a front door that speaks like it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// For standard output.
    pub out: String,
    /// A line for standard error; empty where there is none.
    pub err: String,
    /// The exit code.
    pub code: u8,
    /// Whether our own words, with places, add something to it.
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
