//! A test with several processes. The master divides the test and finishes the record, and the
//! workers run parts.

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
    Coordinator, FinishedRun, Hosts, Job, RunPartOrder, SharedMessageSink, StartError, divide,
    inputs, live,
};

use crate::{
    summary::{DRAIN_NS, TestSummary, finish_with, lines},
    test::{LOCUST, LocustTest},
};

const LEAD_NS: u64 = 250 * MILLISECOND;

#[derive(Serialize, Deserialize)]
pub(crate) struct Handed {
    pub test: LocustTest,
    pub part: RunPartOrder,
    pub processes: u64,
    /// Identifies the machine whose clock defines the start.
    machine: String,
}

fn machine() -> String {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id");
    id.map(|id| id.trim().to_owned()).unwrap_or_default()
}

impl Handed {
    pub fn read(text: &str) -> Result<Handed, Vec<String>> {
        serde_json::from_str(text).map_err(|error| {
            vec![format!(
                "the master runs a different version of Loadline: {error}"
            )]
        })
    }

    pub fn part_of(&self, number: u64) -> RunPartOrder {
        let mut part = self.part.clone();
        part.share = Share {
            index: number,
            of: self.processes.max(number + 1),
        };
        part.late = number >= self.processes;
        part
    }

    pub fn is_here(&self) -> bool {
        if self.machine != machine() {
            return false;
        }
        let manifest = record::read_manifest(&self.part.run);
        manifest.is_ok_and(|manifest| manifest.run_id == self.part.run_id)
    }
}

pub(crate) fn job(test: &LocustTest, options: EngineOptions) -> Result<Job, Vec<String>> {
    Ok(Job {
        hosts: Hosts::AsOriginalTool,
        hears_signals: false,
        never_checks: true,
        ..Job::new(LOCUST, test.plan()?, options)
    })
}

pub struct Conducting {
    parent: Coordinator,
    test: LocustTest,
    pub record: PathBuf,
}

impl Conducting {
    pub fn begin(
        test: LocustTest,
        processes: u64,
        sink: &SharedMessageSink,
    ) -> Result<Conducting, Vec<String>> {
        let refused = |line: String| vec![line];
        let (mut exports, wanted) = live::options_from_env().map_err(refused)?;
        if exports.remove_live() || wanted.view.is_some() || wanted.share.is_some() {
            sink.warning(
                &"the live view and exports during the run are not available with several processes: see the report at the end",
            );
        }
        // This process sends no requests, but the plan needs a driver.
        let (_, driver) = Bridge::new(1).map_err(|error| refused(error.to_string()))?;
        let options = EngineOptions {
            driver: Some(driver),
            workers: Some(1),
            seed: inputs::seed_from_env().map_err(|line| refused(line.to_owned()))?,
            drain_ns: Some(DRAIN_NS),
            ..EngineOptions::default()
        };
        let job = Job {
            exports,
            ..job(&test, options)?
        };
        let divided = divide(job, processes, sink).map_err(|reason| lines(&reason.problems))?;
        let parent = divided.begin(LEAD_NS).map_err(|reason| match reason {
            StartError::Refused(refused) => lines(&refused.problems),
            StartError::Before { reason, .. } => vec![reason],
        })?;
        let record = parent.dir().to_owned();
        Ok(Conducting {
            parent,
            test,
            record,
        })
    }

    pub fn handed(&self) -> Result<String, String> {
        let mut parts = self.parent.parts();
        let mut part = parts.next().ok_or("a test without processes")?;
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

    /// Returns whether a process has finished its part. `None` if the process has not started.
    #[must_use]
    pub fn has_ended(&self, number: u64) -> Option<bool> {
        let manifest = record::read_manifest(&self.folder(number)).ok()?;
        Some(manifest.state != RunState::Running)
    }

    #[must_use]
    pub fn folder(&self, number: u64) -> PathBuf {
        self.record.join("parts").join(number.to_string())
    }

    pub fn is_unmeasured(&mut self, source: &str) {
        self.parent.remark(EventKind::Unmeasured, source);
    }

    pub fn remark(&mut self, text: &str) {
        self.parent.remark(EventKind::Warning, text);
    }

    /// Records server metrics. Should be called about once per second.
    pub fn look(&mut self) {
        self.parent.look();
    }

    #[must_use]
    pub fn end(self) -> TestSummary {
        let record = render(&self.record);
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
    finish_with(|frontend| {
        ended.finish(frontend);
    })
}

fn render(path: &Path) -> String {
    path.display().to_string()
}
