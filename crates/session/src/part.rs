//! Settings of one process of several: record folder, share, start.

use std::path::PathBuf;

use engine::Zero;
use plan::Share;
use record::{RunStart, redact::Salt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::salt::random_salt;

/// What one process of several runs. May hold secrets from `setup`: pass it through a pipe, never a
/// file.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunPartOrder {
    /// The run's folder.
    pub run: PathBuf,
    /// Identifier that all processes of the run share.
    pub run_id: String,
    /// Number of this process, and of all processes.
    pub share: Share,
    /// Name of the process, if a conductor gave it one.
    #[serde(default)]
    pub name: Option<String>,
    /// True for a process that joined late; it owns no arrivals.
    #[serde(default)]
    pub late: bool,
    /// Whether a conductor sees the whole run and evaluates its rules.
    #[serde(default)]
    pub conducted: bool,
    /// Whether no process divides the run: the record is independent until merged.
    #[serde(default)]
    pub alone: bool,
    /// Seed of all random numbers.
    pub seed: u64,
    /// Zero of all times. For another machine the sender fills in that machine's clock and its
    /// uncertainty.
    pub start: RunStart,
    /// Shared by all redactions, so that a secret has one mark in all records.
    pub(crate) salt: [u8; 16],
    /// Variables from `setup`.
    pub(crate) inherited: Map<String, Value>,
}

impl RunPartOrder {
    /// A part that no process assigns. Processes with equal test, seed, number of parts and start
    /// run parts of one run.
    #[must_use]
    pub fn alone(share: Share, seed: u64, start: RunStart) -> RunPartOrder {
        let run = format!("{seed} {} {}", start.wall_ns, share.of);
        RunPartOrder {
            run: PathBuf::new(),
            run_id: record::sha256(run.as_bytes())[..32].to_owned(),
            share,
            name: None,
            late: false,
            conducted: false,
            alone: true,
            seed,
            start,
            salt: random_salt(),
            inherited: Map::new(),
        }
    }

    pub(crate) fn zero(&self) -> Zero {
        Zero {
            monotonic_ns: self.start.monotonic_ns,
            wall_ns: self.start.wall_ns,
        }
    }

    pub(crate) fn salt(&self) -> Salt {
        Salt::new(self.salt)
    }
}
