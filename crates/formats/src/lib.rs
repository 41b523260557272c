//! READ it: other people's test files, and our own, become a [`Plan`], or a list of every problem with its place.
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

pub mod artillery;
pub mod native;
pub mod wrk;

use std::path::PathBuf;

use plan::{Note, Plan, Problem};

pub use detect::{Kind, detect};
pub use url_plan::{UrlOptions, url_plan};

/// What our own requests say of their client where nobody sets it.
const USER_AGENT: &str = concat!("loadline/", env!("CARGO_PKG_VERSION"));

/// Whether this is what requests say of their client where nobody sets it: ours, or that of the tool whose script it is.
#[must_use]
pub fn is_usual_user_agent(value: &plan::Template) -> bool {
    let usual = [
        USER_AGENT,
        artillery::USER_AGENT,
        artillery::CLIENT_USER_AGENT,
    ];
    usual
        .iter()
        .any(|usual| *value == plan::Template::from(*usual))
}

/// Loads a test file, whatever it is, as far as this crate reads it: native plans and Artillery scripts.
///
/// # Errors
/// Every problem of the file, each with its place.
pub fn load(inputs: &Inputs) -> Result<Plan, LoadErrors> {
    let refused = |message: String| LoadErrors {
        kind: ErrorKind::Refused,
        problems: vec![Problem::anywhere(message)],
        notes: Vec::new(),
    };
    let Some(path) = inputs.files.first() else {
        return Err(refused("no test file was named".into()));
    };
    let text =
        files::from_disk(path).map_err(|why| refused(format!("{}: {why}", path.display())))?;
    let text = files::text(text).map_err(|why| LoadErrors {
        kind: ErrorKind::Refused,
        problems: vec![why.problem(path.display().to_string())],
        notes: Vec::new(),
    })?;
    match detect(path, &text).map_err(refused)? {
        Kind::Native => native::load(inputs),
        Kind::Artillery => artillery::load(inputs),
        Kind::Locust => Err(refused(format!(
            "{}: locustfiles are not supported yet",
            path.display()
        ))),
        Kind::WrkLua => Err(refused(format!(
            "{}: a script of wrk's runs behind `loadline wrk`, or with `loadline run {} --target URL`",
            path.display(),
            path.display()
        ))),
    }
}

/// What a load is made from: the files and options that a command line named.
#[derive(Clone, Default)]
pub struct Inputs {
    /// The test files, in order. The first is "the script": other paths are relative to it.
    pub files: Vec<PathBuf>,
    /// Artillery's `--config`: merged last.
    pub config: Option<PathBuf>,
    /// Artillery's `--environment`.
    pub environment: Option<String>,
    /// Replaces the target.
    pub target: Option<String>,
    /// Artillery's `--variables`: a JSON object.
    pub variables: Option<String>,
    /// Artillery's `--overrides`: a JSON object.
    pub overrides: Option<String>,
    /// Certificates are not verified.
    pub insecure: bool,
    /// One virtual user.
    pub solo: bool,
    /// Artillery's `--payload`.
    pub payload: Option<PathBuf>,
    /// Artillery's `--scenario-name`.
    pub scenario_name: Option<String>,
    /// The environment variables that scripts may refer to.
    pub process_env: Vec<(String, String)>,
    /// Names whose values are secret, beside the house list.
    pub secrets: Vec<String>,
    /// What `{{ $testId }}` is.
    pub test_id: String,
    /// Run natively rather than behind Artillery's door: a status of 400 and above is a failed request.
    pub native: bool,
    /// So much memory a table may take, in bytes; none: any.
    pub memory: Option<u64>,
}

/// Why nothing was loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadErrors {
    /// Whether the original tool has its own words and exit code for the first problem.
    pub kind: ErrorKind,
    /// Every problem, with its place where a file is to blame.
    pub problems: Vec<Problem>,
    /// What had been noted until then.
    pub notes: Vec<Note>,
}

/// What kind of refusal it is, for a front door that speaks like the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ErrorKind {
    /// Unreadable, or not supported: our own words.
    Refused,
    /// Artillery's schema says no: `Scenario validation error: MESSAGE`, exit 1.
    Validation(String),
    /// `Error: No target specified and no environment chosen`, exit 1.
    NoTarget,
    /// Artillery's worker would have died of this error, exit 11.
    Worker(String),
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
