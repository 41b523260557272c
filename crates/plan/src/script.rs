//! The script of a plan: a file with functions that the scenarios call.

use std::path::PathBuf;

use serde::Serialize;

use crate::At;

/// A file with functions that scenarios call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScriptFile {
    /// Absolute path of the file.
    pub path: PathBuf,
    /// Position in the plan at which the file is named.
    pub at: Option<At>,
    /// Folder in which functions may write files. `None` if they may not write files.
    pub writes: Option<PathBuf>,
}
