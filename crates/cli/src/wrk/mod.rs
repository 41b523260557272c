//! `loadline wrk`, or a link to us called `wrk` or `wrk2`: their flags, their standard output to the character, their exit codes.
//! Loadline's own lines go to standard error; the record is kept as for any run.

pub mod native;
mod screen;
mod test;

use std::{
    ffi::OsString,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use analysis::summary::Summary;
use engine::{Options, RunError, StopHandle, run::DoorMaker};
use formats::wrk::{Command, Persona};
use measure::door::{WrkDoor, WrkSettings};
use plan::units::MILLISECOND;
use record::{Run, units};
use report::wrk::{Goodput, Latency, Spectrum, Statistics, WrkReport};
use script::lua::{self, Figures, Trouble};

use crate::{
    exit,
    exports::Exports,
    hosts, live, log, render,
    session::{self, Ended, Setup},
};
pub use screen::{Screen, Silent};
pub use test::{Strictness, Test};

/// wrk's code for whatever keeps a test from running.
const FAILED: u8 = 1;
/// wrk's code for a thread that could not be made.
const NO_THREAD: u8 = 2;
/// What is under way at the end may take this long: about as long as wrk's own threads take to notice the end.
const DRAIN_NS: u64 = 100 * MILLISECOND;

/// Runs wrk's command line if this is one: `loadline wrk …`, or any name for us that ends in `wrk` or `wrk2`.
pub fn command_line(mut arguments: impl Iterator<Item = OsString>) -> Option<u8> {
    let name = arguments.next()?;
    let name = Path::new(&name).file_name()?.to_string_lossy().into_owned();
    let mut arguments = arguments.map(|argument| argument.to_string_lossy().into_owned());
    let persona = match name.as_str() {
        "wrk" => Persona::Wrk,
        "wrk2" => Persona::Wrk2,
        _ => {
            return match arguments.next().as_deref() {
                Some("wrk") => Some(door(Persona::Wrk, &arguments.collect::<Vec<_>>())),
                _ => None,
            };
        }
    };
    Some(door(persona, &arguments.collect::<Vec<_>>()))
}

/// Runs wrk's command line, without the program's name.
pub fn door(persona: Persona, arguments: &[String]) -> u8 {
    let reading = formats::wrk::read(arguments, persona);
    // In this order also where both are the same terminal.
    log::say_as_is(&reading.err);
    log::out(&reading.out);
    let Some(command) = reading.command else {
        return FAILED;
    };
    match carry_out(&command) {
        Ok(code) => code,
        Err(line) => {
            lua::flush_output();
            log::say(line);
            FAILED
        }
    }
}

/// A line for standard error, behind which nothing comes.
type Refusal = String;

fn told(trouble: Trouble) -> Refusal {
    trouble.to_string()
}

fn carry_out(command: &Command) -> Result<u8, Refusal> {
    let stop = StopHandle::default();
    let (exports, live) = live::beside_a_door().map_err(|line| format!("loadline: {line}"))?;
    let plan = command.plan();
    let hosts = hosts::beside_a_door(&plan).map_err(|problems| {
        let lines: Vec<String> = problems.iter().map(|p| format!("loadline: {p}")).collect();
        lines.join("\n")
    })?;
    session::descriptors_for(command.connections)
        .map_err(|problem| format!("loadline: {problem}"))?;
    let seed = crate::inputs::seed_beside_a_door().map_err(|line| format!("loadline: {line}"))?;
    let test = Test::ready(command, Strictness::AsWrk, &stop).map_err(told)?;
    let setup = Setup {
        door: "wrk",
        options: Options {
            workers: usize::try_from(command.threads).ok(),
            seed,
            drain_ns: Some(DRAIN_NS),
            door: Some(books(command)),
            doing: Some(test.doing()),
            hosts,
            stop,
            ..Options::default()
        },
        runs: None,
        secrets: Vec::new(),
        live,
        driver: Some(test.driver(&plan, seed)),
    };
    let mut screen = Screen::new(command);
    let ended = session::run(&plan, setup, &mut screen).map_err(|refused| {
        let lines: Vec<String> = refused
            .problems
            .iter()
            .map(|p| format!("loadline: {p}"))
            .collect();
        lines.join("\n")
    })?;
    if let Some(trouble) = test.failure() {
        kept(&ended.run, &exports);
        return Err(told(trouble));
    }
    if let Some(error @ RunError::Stuck(_)) = &ended.error {
        // A script whose hooks do not end is asked for no `done`.
        kept(&ended.run, &exports);
        return Err(format!("loadline: {error}"));
    }
    let report = WrkReport::from_part(screen.part, ended.runtime_ns(), &command.url);
    finish(command, &test, &ended, &report, &exports)
}

/// Writes what every run leaves, and what was asked for besides.
fn kept(run: &Run, exports: &Exports) -> Summary {
    let page = render::page(run);
    render::keep(run, &page, None);
    // wrk knows no code for this: a line says what could not be written.
    exports.write(run, &page.summary);
    page.summary
}

/// wrk's books for each thread.
pub fn books(command: &Command) -> DoorMaker {
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
        // Which thread has which number does not matter; that they differ does.
        let number = threads.fetch_add(1, Ordering::Relaxed);
        Box::new(WrkDoor::new(settings, number))
    })
}

fn finish(
    command: &Command,
    test: &Test,
    ended: &Ended,
    report: &WrkReport,
    exports: &Exports,
) -> Result<u8, Refusal> {
    lua::flush_output();
    log::out(&report.text());
    let done = test.done(report);
    lua::flush_output();
    let summary = kept(&ended.run, exports);
    own_lines(&summary, report, &ended.run);
    if let Some(path) = &command.json {
        write_json(path, &summary, report);
    }
    done.map_err(told)?;
    match &ended.error {
        None => Ok(exit::PASS),
        Some(error) => {
            log::error(error);
            Ok(match error {
                RunError::Setup(_) => NO_THREAD,
                RunError::Worker(_) | RunError::Stuck(_) => FAILED,
            })
        }
    }
}

/// What wrk does not say, on standard error: causes of errors, what its correction did, whether the figures can be trusted.
fn own_lines(summary: &Summary, report: &WrkReport, run: &Run) {
    say_late(report);
    for row in &summary.errors {
        // What was under way at the end is nobody's error.
        if row.class != "unfinished" {
            let count = units::count(row.count);
            log::say(format_args!("loadline: {count} × {}", row.reason));
        }
    }
    if let Some(goodput) = Goodput::of(run, report.runtime_us * 1000) {
        for line in goodput.lines() {
            log::say(format_args!("loadline: {line}"));
        }
    }
    if let Some((measured, shown)) = report.moved_p99() {
        log::warning(format_args!(
            "wrk's correction moved the p99 of latency from {} as measured to {} as shown: it makes up values for requests that were \
             never sent",
            units::time(measured * 1000),
            units::time(shown * 1000)
        ));
    }
    for note in &summary.notes {
        log::warning(note.strip_prefix("warning: ").unwrap_or(note));
    }
    if let Some(measurement) = &summary.measurement {
        log::say(format_args!("loadline: {}", measurement.line()));
    }
    if let Some(dir) = &run.dir {
        log::say(format_args!("loadline: record {}", dir.display()));
    }
}

/// wrk counts answers that come late as time-outs; the record has them as the answers that they are.
fn say_late(report: &WrkReport) {
    let late = report.late;
    if late > 0 {
        log::say(format_args!(
            "loadline: {} × answered after --timeout: counted by wrk as a time-out without a latency, in the record as answered",
            units::count(late)
        ));
    }
}

fn write_json(path: &Path, summary: &Summary, report: &WrkReport) {
    let Ok(mut json) = serde_json::to_value(summary) else {
        return;
    };
    json["wrk"] = report.json();
    if let Err(error) = std::fs::write(path, format!("{json:#}\n")) {
        log::warning(format_args!("cannot write {}: {error}", path.display()));
    }
}

/// What a script's `done` sees of latency and of rates.
fn figures(report: &WrkReport) -> (Figures, Figures) {
    let latency = match &report.latency {
        Latency::Wrk { shown, .. } => of_statistics(shown),
        Latency::Wrk2 { corrected, .. } => of_spectrum(corrected),
    };
    (latency, of_statistics(&report.rate))
}

fn of_statistics(statistics: &Statistics) -> Figures {
    let (a, b) = (statistics.clone(), statistics.clone());
    Figures {
        min: a.min() as f64,
        max: a.max() as f64,
        mean: a.mean(),
        stdev: a.stdev(),
        length: a.distinct() as f64,
        percentile: Box::new(move |p| a.percentile(p) as f64),
        nth: Box::new(move |n| b.nth(n)),
    }
}

fn of_spectrum(spectrum: &Spectrum) -> Figures {
    let (a, b) = (spectrum.clone(), spectrum.clone());
    Figures {
        min: a.min() as f64,
        max: a.max() as f64,
        mean: a.mean(),
        stdev: a.stdev(),
        length: a.count() as f64,
        percentile: Box::new(move |p| a.percentile(p) as f64),
        nth: Box::new(move |n| b.nth(n)),
    }
}
