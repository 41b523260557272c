//! `loadline wrk`, also under the names `wrk` and `wrk2`. Flags, standard output and exit codes
//! equal those of wrk exactly. Loadline's own messages are written to standard error.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use analysis::summary::Summary;
use engine::{EngineOptions, RunError, run::AccumulatorMaker};
use plan::units::MILLISECOND;
use record::{Run, units};
use report::console::criteria;
use script::lua::{self, ScriptError};
use worker::stop::StopHandle;

use session::{
    FinishedRun, Job, Observer, RunObserver, RunOutcome, SharedMessageSink, StartError, exit,
    hosts, inputs, live,
};

use crate::{
    accumulator::{Accumulator, WrkSettings},
    print::{Goodput, WrkReport},
    read::{self, Persona, WrkCommand},
    screen::Screen,
    test::{Strictness, WrkTest},
};

const FAILED: u8 = 1;
const NO_THREAD: u8 = 2;
const DRAIN_NS: u64 = 100 * MILLISECOND;

pub fn command(persona: Persona, arguments: &[String], sink: &SharedMessageSink) -> u8 {
    let reading = read::read(arguments, persona);
    if let Some(lines) = reading.err.strip_suffix('\n') {
        sink.say(&lines);
    }
    sink.out(&reading.out);
    let Some(command) = reading.command else {
        return FAILED;
    };
    execute(&command, sink).unwrap_or_else(|line| last_line(&line, sink))
}

type RunRefusal = String;

fn refusal(trouble: ScriptError) -> RunRefusal {
    trouble.to_string()
}

fn execute(command: &WrkCommand, sink: &SharedMessageSink) -> Result<u8, RunRefusal> {
    let stop = StopHandle::default();
    let (exports, live) = live::options_from_env().map_err(|line| format!("loadline: {line}"))?;
    let plan = command.plan();
    // Check hosts before the script starts, because it may resolve names.
    hosts::Hosts::AsOriginalTool
        .allow(&plan)
        .map_err(|problems| lines(&problems))?;
    session::descriptors_for(command.connections)
        .map_err(|problem| format!("loadline: {problem}"))?;
    let seed = inputs::seed_from_env().map_err(|line| format!("loadline: {line}"))?;
    let test = WrkTest::ready(command, Strictness::AsWrk, &stop, sink).map_err(refusal)?;
    let options = EngineOptions {
        workers: usize::try_from(command.threads).ok(),
        seed,
        drain_ns: Some(DRAIN_NS),
        frontend: Some(accumulators(command)),
        driver: Some(test.driver(&plan, seed)),
        doing: Some(test.doing()),
        stop,
        ..EngineOptions::default()
    };
    let job = Job {
        live,
        exports,
        never_checks: true,
        ..Job::new("wrk", plan, options)
    };
    let ready = session::prepare(job, sink).map_err(|cause| lines(&cause.problems))?;
    Ok(ready.conduct(&mut Wrk {
        screen: Screen::new(command, sink),
        command,
        sink,
        test,
        report: None,
        trouble: None,
    }))
}

fn lines(problems: &[plan::Problem]) -> RunRefusal {
    let lines: Vec<String> = problems.iter().map(|p| format!("loadline: {p}")).collect();
    lines.join("\n")
}

struct Wrk<'a> {
    command: &'a WrkCommand,
    sink: &'a SharedMessageSink,
    screen: Screen<'a>,
    test: WrkTest,
    report: Option<WrkReport>,
    trouble: Option<RunRefusal>,
}

impl RunObserver for Wrk<'_> {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.screen
    }

    fn not_run(&mut self, cause: &StartError) -> u8 {
        let line = match cause {
            StartError::Refused(refused) => lines(&refused.problems),
            StartError::Before { reason, .. } => format!("loadline: {reason}"),
        };
        last_line(&line, self.sink)
    }

    fn ended(&mut self, ended: &FinishedRun) {
        if let Some(trouble) = self.test.failure() {
            self.trouble = Some(refusal(trouble));
            return;
        }
        if let Some(error @ RunError::Stuck(_)) = &ended.error {
            self.trouble = Some(format!("loadline: {error}"));
            return;
        }
        let part = std::mem::take(&mut self.screen.part);
        let report = WrkReport::from_part(part, ended.runtime_ns(), &self.command.url);
        lua::flush_output();
        self.sink.out(&report.text());
        self.trouble = self.test.done(&report).err().map(refusal);
        lua::flush_output();
        self.report = Some(report);
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        if let Some(report) = &self.report {
            own_lines(outcome.summary, report, outcome.run, self.sink);
            if let Some(path) = &self.command.json {
                write_json(path, outcome.summary, report, self.sink);
            }
        }
        if let Some(trouble) = self.trouble.take() {
            return last_line(&trouble, self.sink);
        }
        match outcome.error {
            None if exit::is_failed(outcome) => exit::FAIL,
            None => exit::PASS,
            Some(error) => {
                self.sink.error(error);
                match error {
                    RunError::Setup(_) => NO_THREAD,
                    RunError::Worker(_) | RunError::Stuck(_) | RunError::Unrecorded(_) => FAILED,
                }
            }
        }
    }
}

fn last_line(line: &RunRefusal, sink: &SharedMessageSink) -> u8 {
    lua::flush_output();
    sink.say(line);
    FAILED
}

pub fn accumulators(command: &WrkCommand) -> AccumulatorMaker {
    let settings = WrkSettings {
        paced: command.persona == Persona::Wrk2,
        threads: command.threads,
        connections: command.connections,
        duration_ns: command.duration_ns,
        timeout_ns: command.timeout_ns,
        latency: command.latency,
        uncorrected: command.uncorrected,
        per_batch: command.batch_latency,
    };
    let threads = AtomicU64::new(0);
    Arc::new(move || {
        let number = threads.fetch_add(1, Ordering::Relaxed);
        Box::new(Accumulator::new(settings, number))
    })
}

fn own_lines(summary: &Summary, report: &WrkReport, run: &Run, sink: &SharedMessageSink) {
    say_late(report, sink);
    for row in &summary.errors {
        if row.class != "unfinished" {
            let count = units::count(row.count);
            sink.say(&format_args!("loadline: {count} × {}", row.reason));
        }
    }
    if let Some(goodput) = Goodput::from_run(run, report.runtime_us * 1000) {
        for line in goodput.lines() {
            sink.say(&format_args!("loadline: {line}"));
        }
    }
    if let Some((measured, corrected)) = report.moved_p99() {
        sink.warning(&format_args!(
"wrk's correction changed p99 latency from {} (measured) to {} (shown): it adds values for requests that were never sent",
units::time(measured * 1000),
units::time(corrected * 1000)
));
    }
    for line in criteria(&summary.criteria).lines() {
        sink.say(&format_args!("loadline: {line}"));
    }
    for note in &summary.notes {
        sink.warning(&note.strip_prefix("warning: ").unwrap_or(note));
    }
    if let Some(measurement) = &summary.measurement {
        sink.say(&format_args!("loadline: {}", measurement.line()));
    }
    if let Some(dir) = &run.dir {
        sink.say(&format_args!("loadline: record {}", dir.display()));
    }
}

fn say_late(report: &WrkReport, sink: &SharedMessageSink) {
    let late = report.late;
    if late > 0 {
        sink.say(&format_args!(
"loadline: {} × answered after --timeout: wrk counts these as time-outs without latency, the record as answered",
units::count(late)
));
    }
}

fn write_json(path: &Path, summary: &Summary, report: &WrkReport, sink: &SharedMessageSink) {
    let Ok(mut json) = serde_json::to_value(summary) else {
        return;
    };
    json["wrk"] = report.json();
    if let Err(error) = std::fs::write(path, format!("{json:#}\n")) {
        sink.warning(&format_args!("cannot write {}: {error}", path.display()));
    }
}
