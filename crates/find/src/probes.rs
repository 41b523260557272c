//! Runs a probe as a process and evaluates its record.

use std::{
    fs,
    path::{Path, PathBuf},
};

use analysis::summary::Summary;
use decisions::find::{
    Flow, Over, ProbeRow, ViolationTally, allowed, flow,
    search::{InvalidProbe, Probe, ProbeReason, ProbeResult, probe_seed},
    tallies, throughput,
};
use plan::{Criterion, criteria::parse_criterion};
use record::Run;
use session::{child, exit, lab_process, mock_process};
use worker::clock;

use crate::{
    FindOptions, PHASE,
    recovery_polling::{self, PollResult},
    slo,
};

pub struct ProbeEnv<'a> {
    pub options: &'a FindOptions,
    pub folder: &'a Path,
    pub config: Vec<Criterion>,
}

pub struct FinishedProbe {
    pub probed: ProbeResult,
    pub row: ProbeRow,
    /// Whether there were too few responses, so that the service must be polled.
    pub is_mute: bool,
}

pub enum ProbeOutcome {
    Over(Box<FinishedProbe>),
    Signal(u8),
}

pub struct ProbeError {
    pub line: String,
    pub code: u8,
}

impl<'a> ProbeEnv<'a> {
    pub fn new(options: &'a FindOptions, folder: &'a Path) -> ProbeEnv<'a> {
        let config = options.slos.iter().map(|criterion| {
            if options.is_script {
                return criterion.clone();
            }
            let text = slo::of_phase(&criterion.text);
            parse_criterion(&text).unwrap_or_else(|_| criterion.clone())
        });
        ProbeEnv {
            options,
            folder,
            config: config.collect(),
        }
    }

    pub fn probe(&self, number: usize, probe: &Probe) -> Result<ProbeOutcome, ProbeError> {
        let began_ns = clock::monotonic_ns();
        let name = format!("{:02}", number + 1);
        let child::Printed { ended, text } = self.run(&name, &self.flags(number, probe))?;
        if let Some(signal) = ended.signal {
            return Ok(ProbeOutcome::Signal(signal));
        }
        let dir = record::find(&self.folder.join(&name), "last");
        let run = dir.ok().and_then(|dir| Run::open(&dir).ok());
        let run = run.filter(|_| ended.code != exit::BAD_INPUT);
        let run = run.ok_or_else(|| without_record(ended.code, &text))?;
        let page = audit::page(&run);
        let summary = &page.summary;
        if summary.run.unrecorded.is_some() {
            return Err(without_record(ended.code, &text));
        }
        let tallies = tallies(&run, summary, &self.config);
        self.are_measured(probe, &tallies, summary)?;
        let texts: Vec<String> = self.config.iter().map(|one| one.text.clone()).collect();
        let mut row = ProbeRow::new(summary, &texts, probe.level, probe.reason);
        if let Some(goodput) = throughput(&run, PHASE) {
            row.goodput = goodput;
        }
        row.beyond = tallies.iter().map(ViolationTally::share).collect();
        let counted = tallies.iter().map(|tally| tally.seconds.len() as f64);
        row.counted_s = counted.fold(0.0, f64::max).min(probe.seconds);
        let dir = run.dir.as_deref().and_then(Path::file_name);
        row.run = dir.map_or_else(String::new, |dir| {
            format!("{name}/{}", dir.to_string_lossy())
        });
        let mut probed = ProbeResult {
            level: probe.level,
            reason: probe.reason,
            spent_s: seconds_since(began_ns),
            tallies,
            grows: None,
            answered: None,
            invalid: None,
        };
        if let Some(flow) = self.flow(&run, probe) {
            (row.arrived, row.answered) = (Some(flow.arrived), Some(flow.answered));
            row.backlog_growth = flow.grows;
            probed.answered = Some(flow.answered);
            probed.grows = flow.is_judged.then_some(flow.grows.is_some());
        }
        let invalid = invalid(summary, &probed);
        probed.invalid = invalid.as_ref().map(|(what, _)| *what);
        row.invalid = invalid.map(|(_, reason)| reason);
        row.holds = probed.holds();
        Ok(ProbeOutcome::Over(Box::new(FinishedProbe {
            probed,
            row,
            is_mute: is_mute(summary),
        })))
    }

    /// Returns the arrivals and responses of a probe. `None` unless the search varies the rate.
    fn flow(&self, run: &Run, probe: &Probe) -> Option<Flow> {
        let is_rate = self.options.over == Over::Rate && !self.options.is_sweep;
        is_rate.then(|| flow(run, PHASE, probe.level)).flatten()
    }

    fn flags(&self, number: usize, probe: &Probe) -> Vec<String> {
        let settle_s = if self.options.is_script {
            0.0
        } else {
            self.options.config.settle_s
        };
        let until = match probe.reason {
            ProbeReason::Near => Some("plain"),
            // A repeated level needs its full duration.
            ProbeReason::Again => None,
            ProbeReason::Up | ProbeReason::Down | ProbeReason::Between => Some("decided"),
        };
        let seed = probe_seed(self.options.config.seed, number);
        let mut flags = self.load(probe.level, probe.seconds);
        flags.extend(["--seed".to_owned(), seed.to_string()]);
        flags.extend(["--probe".to_owned(), seconds(settle_s)]);
        if let Some(until) = until.filter(|_| !self.options.is_sweep) {
            flags.extend(["--probe-until".to_owned(), until.to_owned()]);
        }
        for criterion in &self.config {
            flags.extend(["--check".to_owned(), criterion.text.clone()]);
        }
        flags
    }

    fn are_measured(
        &self,
        probe: &Probe,
        tallies: &[ViolationTally],
        summary: &Summary,
    ) -> Result<(), ProbeError> {
        let is_missing = |(criterion, tally): &(&Criterion, &ViolationTally)| {
            let has_time = probe.reason.is_long() || allowed(criterion).is_none();
            has_time && tally.seconds.is_empty()
        };
        let unknown = self.config.iter().zip(tallies).find(is_missing);
        match unknown.filter(|_| !is_mute(summary)) {
            None => Ok(()),
            Some((criterion, _)) => Err(ProbeError {
                line: format!(
                    "`{}` could not be measured in a probe, so it cannot be used for a search",
                    criterion.text
                ),
                code: exit::COULD_NOT_RUN,
            }),
        }
    }

    pub fn look(&self, number: usize, chance: usize) -> Result<PollResult, ProbeError> {
        let name = format!("{:02}-look-{}", number + 1, chance + 1);
        let least = match self.options.over {
            Over::Rate => self.options.config.least.max(2.0),
            Over::Users => 1.0,
        };
        const AFTER_PROBES: usize = 1_000_000;
        let mut flags = self.load(least, recovery_polling::SECONDS);
        let seed = probe_seed(
            self.options.config.seed,
            AFTER_PROBES + number * 100 + chance,
        );
        flags.extend(["--seed".to_owned(), seed.to_string()]);
        let ended = self.run(&name, &flags)?.ended;
        if let Some(signal) = ended.signal {
            return Ok(PollResult::Signal(signal));
        }
        let dir = record::find(&self.folder.join(&name), "last");
        let run = dir.ok().and_then(|dir| Run::open(&dir).ok());
        let answers = run.is_some_and(|run| !is_mute(&audit::page(&run).summary));
        Ok(if answers {
            PollResult::Answered
        } else {
            PollResult::Silent
        })
    }

    fn load(&self, level: f64, length_s: f64) -> Vec<String> {
        let mut flags = match self.options.over {
            Over::Rate => vec![
                "--rate".to_owned(),
                format!("{}/s", decimal(level)),
                "--arrivals".to_owned(),
                self.options.arrivals.clone(),
            ],
            Over::Users => vec!["--users".to_owned(), format!("{}", level.round() as u64)],
        };
        flags.extend(["--duration".to_owned(), seconds(length_s)]);
        flags
    }

    fn run(&self, name: &str, flags: &[String]) -> Result<child::Printed, ProbeError> {
        let cannot = |line: String| ProbeError {
            line,
            code: exit::COULD_NOT_RUN,
        };
        let runs: PathBuf = self.folder.join(name);
        fs::create_dir_all(&runs)
            .map_err(|error| cannot(format!("cannot write {}: {error}", runs.display())))?;
        let (out, errors) = (runs.join("output.txt"), runs.join("errors.txt"));
        let printed = child::own(&out, Some(&errors), |command| {
            command.arg("run").arg(&self.options.what);
            if let Some(target) = &self.options.target {
                command.args(["--target", target]);
            }
            command.args(flags);
            command.arg("--no-guard");
            command.args(&self.options.flags);
            command.env("LOADLINE_RUNS", &runs);
            if !self.options.listeners.is_empty() {
                command.env(lab_process::ENVIRONMENT, self.options.listeners.join(" "));
            }
            if let Some(mocks) = &self.options.mocks {
                command.env(mock_process::ENVIRONMENT, mocks);
            }
        });
        printed.map_err(cannot)
    }
}

fn without_record(code: u8, message: &str) -> ProbeError {
    let last = message.lines().rev().find(|line| !line.trim().is_empty());
    let line = last.map_or_else(
        || format!("a probe left no record, exit code {code}"),
        |line| {
            let line = line.trim_start_matches("loadline: ");
            line.trim_start_matches("error: ").to_owned()
        },
    );
    let code = if code == exit::BAD_INPUT {
        exit::BAD_INPUT
    } else {
        exit::COULD_NOT_RUN
    };
    ProbeError { line, code }
}

fn is_mute(summary: &Summary) -> bool {
    let requests = &summary.requests;
    requests.issued == 0 || requests.unanswered * 2 > requests.issued
}

/// Returns why a probe is invalid, if faults of the load generator could have changed its result.
fn invalid(summary: &Summary, probed: &ProbeResult) -> Option<(InvalidProbe, String)> {
    const BUSY: f64 = 0.5;
    const ALL: f64 = 0.995;
    let measurement = summary.measurement.as_ref()?;
    let is_limited = measurement.is_generator_bound();
    let was_sent = measurement.sent.is_none_or(|sent| sent > ALL);
    let held = !probed.reason.is_long() && was_sent && probed.holds();
    if !is_limited && (measurement.verdict != "INVALID" || held) {
        return None;
    }
    let what = if is_limited || measurement.cpu > BUSY || !was_sent {
        InvalidProbe::Limited
    } else {
        InvalidProbe::Disturbed
    };
    Some((
        what,
        measurement.reasons.first().cloned().unwrap_or_default(),
    ))
}

pub fn seconds_since(began_ns: u64) -> f64 {
    clock::monotonic_ns().saturating_sub(began_ns) as f64 / 1e9
}

fn seconds(length_s: f64) -> String {
    if length_s > 0.0 {
        format!("{}ms", (length_s * 1_000.0).round() as u64)
    } else {
        "0s".to_owned()
    }
}

fn decimal(level: f64) -> String {
    let text = format!("{level:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
