//! What one process of several is told: where the run's record is, which part of the run is its, when it starts. Plain data, which the
//! process that divided the run hands over as it likes.

use std::path::PathBuf;

use engine::Zero;
use plan::Share;
use record::{RunStart, redact::Salt};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::salt::random_salt;

/// What one process of several is to carry out. It may hold secrets that the steps before the load left: it goes from process to process
/// through a pipe, and into no file.
#[derive(Clone, Serialize, Deserialize)]
pub struct RunPartOrder {
    /// The run's folder.
    pub run: PathBuf,
    /// What all processes of the run have in common.
    pub run_id: String,
    /// Which process this is, of how many.
    pub share: Share,
    /// What the process is called, where somebody conducts it.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether it comes when everything has been dealt out: then no arrival is its own.
    #[serde(default)]
    pub late: bool,
    /// Whether somebody sees the whole run while it goes on: rules are asked there, and not of a part.
    #[serde(default)]
    pub conducted: bool,
    /// Whether nobody divides the run: its record is one of its own, until somebody merges it with the others.
    #[serde(default)]
    pub alone: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// The zero of all times. On another machine whoever hands the part over puts in what its clocks say then, and how well that is known.
    pub start: RunStart,
    /// Of all its redactions: a secret has one mark in all records.
    pub(crate) salt: [u8; 16],
    /// Variables that the steps before the load left.
    pub(crate) inherited: Map<String, Value>,
}

impl RunPartOrder {
    /// One of so many parts that nobody deals out: whoever has the same test, seed, number of parts and start has a part of the same run.
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
