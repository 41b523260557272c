//! Settings for one of several processes of a run: record folder, share and start.

use std::path::PathBuf;

use plan::Share;
use record::{RunStart, redact::Salt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use worker::clock::Zero;

use crate::salt::random_salt;

/// An order to run one of several parts. It may contain secrets from `setup`, so it must be passed
/// through a pipe and never in a file.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunPartOrder {
    /// Folder of the run.
    pub run: PathBuf,
    /// Identifier that all processes of the run share.
    pub run_id: String,
    /// Index of this process, and the number of processes.
    pub share: Share,
    /// Name of the process, if a conductor assigned one.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether the process joined late, so that it has no arrivals.
    #[serde(default)]
    pub late: bool,
    /// Whether a conductor collects the whole run and evaluates stop rules.
    #[serde(default)]
    pub conducted: bool,
    /// Whether the part runs without a process that divides the run. Its record is then independent
    /// until it is merged.
    #[serde(default)]
    pub alone: bool,
    /// Seed for all random numbers.
    pub seed: u64,
    /// Start of the run, which is the zero of all times. For another machine, the sender converts
    /// it to that machine's clock and sets the uncertainty.
    pub start: RunStart,
    /// Salt that all processes use for redaction, so that a secret has the same mark in all
    /// records.
    pub(crate) salt: [u8; 16],
    pub(crate) inherited: Map<String, Value>,
}

impl RunPartOrder {
    /// Creates a part that no other process assigned. Processes with the same test, seed, number of
    /// parts and start belong to the same run.
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
