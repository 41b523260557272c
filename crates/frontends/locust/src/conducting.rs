//! A test that several processes carry out: the one that Locust calls the master divides it, hands the parts out and finishes the record;
//! each worker carries out its part. How a part comes to a worker, and who is there, is the package's business.

use std::{
    fs,
    path::{Path, PathBuf},
};

use bridge::Bridge;
use engine::EngineOptions;
use plan::{Share, units::MILLISECOND};
use record::{EventKind, RunState};
use serde::{Deserialize, Serialize};
use session::{
    Coordinator, FinishedRun, Hosts, Job, RunPartOrder, SharedVoice, StartError, divide, inputs,
    live,
};

use crate::{
    running::{DRAIN_NS, TestSummary, finish_with, lines},
    test::{LOCUST, LocustTest},
};

/// Workers have their part by then, as a rule. One that comes later begins when it comes.
const LEAD_NS: u64 = 250 * MILLISECOND;

/// What all workers are told; each knows its number beside it.
#[derive(Serialize, Deserialize)]
pub(crate) struct Handed {
    pub test: LocustTest,
    pub part: RunPartOrder,
    /// How many there were when the test began.
    pub processes: u64,
    /// Whose clocks the part's zero is told by.
    machine: String,
}

/// What tells this machine, since it was started, from all others; empty where the kernel does not say.
fn machine() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

impl Handed {
    /// As it was written.
    ///
    /// # Errors
    /// When it was not written by this version.
    pub fn read(text: &str) -> Result<Handed, Vec<String>> {
        serde_json::from_str(text).map_err(|error| {
            vec![format!(
                "the master is of another version of Loadline: {error}"
            )]
        })
    }

    /// The part of the process of a number; numbers behind the others are of processes that come late.
    pub fn part_of(&self, number: u64) -> RunPartOrder {
        let mut part = self.part.clone();
        part.share = Share {
            index: number,
            of: self.processes.max(number + 1),
        };
        part.late = number >= self.processes;
        part
    }

    /// Whether this is the master's machine, with its clocks, and the run's folder the master's, and no other that has its name.
    pub fn is_here(&self) -> bool {
        if self.machine != machine() {
            return false;
        }
        let manifest = record::read_manifest(&self.part.run);
        manifest.is_ok_and(|manifest| manifest.run_id == self.part.run_id)
    }
}

/// The job that all processes of a test have in common.
pub(crate) fn job(test: &LocustTest, options: EngineOptions) -> Result<Job, Vec<String>> {
    Ok(Job {
        hosts: Hosts::BesideDoor,
        hears_signals: false,
        never_checks: true,
        ..Job::new(LOCUST, test.plan()?, options)
    })
}

/// A test that other processes carry out.
pub struct Conducting {
    parent: Coordinator,
    test: LocustTest,
    /// The run's folder.
    pub record: PathBuf,
}

impl Conducting {
    /// Begins the record of a test that so many processes are to carry out.
    ///
    /// # Errors
    /// Why there is none, a line each.
    pub fn begin(
        test: LocustTest,
        processes: u64,
        voice: &SharedVoice,
    ) -> Result<Conducting, Vec<String>> {
        let refused = |line: String| vec![line];
        let (exports, wanted) = live::beside_a_door().map_err(refused)?;
        if wanted.view.is_some() || wanted.metrics.is_some() {
            voice.warning(
                &"what can be looked at while the test runs is not served by several processes: the report has it all behind the end",
            );
        }
        // Nobody here sends anything: it is asked for all the same, of a plan that does not say what is sent.
        let (_, driver) = Bridge::new(1).map_err(|error| refused(error.to_string()))?;
        let options = EngineOptions {
            driver: Some(driver),
            workers: Some(1),
            seed: inputs::seed_beside_a_door().map_err(|line| refused(line.to_owned()))?,
            drain_ns: Some(DRAIN_NS),
            ..EngineOptions::default()
        };
        let job = Job {
            exports,
            ..job(&test, options)?
        };
        let divided = divide(job, processes, voice).map_err(|why| lines(&why.problems))?;
        let parent = divided.begin(LEAD_NS).map_err(|why| match why {
            StartError::Refused(refused) => lines(&refused.problems),
            StartError::Before { why, .. } => vec![why],
        })?;
        let record = parent.dir().to_owned();
        Ok(Conducting {
            parent,
            test,
            record,
        })
    }

    /// What processes are to be told, beside the number of each.
    ///
    /// # Errors
    /// When the run's folder is gone.
    pub fn handed(&self) -> Result<String, String> {
        let mut parts = self.parent.parts();
        let mut part = parts.next().ok_or("a test without processes")?;
        // Whoever is told may stand in another folder.
        part.run = fs::canonicalize(&part.run)
            .map_err(|error| format!("{}: {error}", part.run.display()))?;
        let handed = Handed {
            test: self.test.clone(),
            processes: part.share.of,
            part,
            machine: machine(),
        };
        serde_json::to_string(&handed).map_err(|error| error.to_string())
    }

    /// Whether the process of a number has ended its part; none where it has not begun it.
    #[must_use]
    pub fn has_ended(&self, number: u64) -> Option<bool> {
        let manifest = record::read_manifest(&self.folder(number)).ok()?;
        Some(manifest.state != RunState::Running)
    }

    /// Where the process of a number keeps its part.
    #[must_use]
    pub fn folder(&self, number: u64) -> PathBuf {
        self.record.join("parts").join(number.to_string())
    }

    /// Writes down that somebody's requests are not in the record.
    pub fn is_unmeasured(&mut self, who: &str) {
        self.parent.remark(EventKind::Unmeasured, who);
    }

    /// Writes down something that everybody who reads the record is told.
    pub fn remark(&mut self, text: &str) {
        self.parent.remark(EventKind::Warning, text);
    }

    /// Writes down what was measured beside the load; about once a second.
    pub fn look(&mut self) {
        self.parent.look();
    }

    /// Reads what all have left, and tells how the test came out.
    #[must_use]
    pub fn end(self) -> TestSummary {
        let record = shown(&self.record);
        match self.parent.ended() {
            Ok(ended) => finish(ended),
            Err(error) => TestSummary {
                lines: vec![error.to_string()],
                failed: true,
                record: Some(record),
            },
        }
    }
}

fn finish(ended: FinishedRun) -> TestSummary {
    finish_with(|door| {
        ended.finish(door);
    })
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
