//! Where a plan comes from.

use serde::Serialize;

use crate::{Format, Note};

/// Where a plan comes from, and what its reader noted.
#[derive(Debug, Clone, Serialize)]
pub struct Provenance {
    /// Format from which the plan was read.
    pub format: Format,
    /// Settings of the front end in its own format, which it needs to print the results of a
    /// recorded run again.
    #[serde(skip_serializing_if = "serde_json::Value::is_null")]
    pub frontend_settings: serde_json::Value,
    /// Notes of the plan reader. The record contains them, and every report shows them.
    pub notes: Vec<Note>,
    /// Files that the plan was read from.
    pub files: Vec<String>,
    /// Other files that the plan depends on: tables, bodies, certificates.
    #[serde(skip)]
    pub dependencies: Vec<String>,
}

impl Provenance {
    /// Creates the provenance of a plan that was read from a format.
    #[must_use]
    pub fn new(format: Format) -> Provenance {
        Provenance {
            format,
            frontend_settings: serde_json::Value::Null,
            notes: Vec::new(),
            files: Vec::new(),
            dependencies: Vec::new(),
        }
    }
}
