//! `loadline mqtt`: prints a line per second, followed by the summary and the ledger. The exit
//! codes are Loadline's own.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use analysis::page::Page;
use clap::Parser;
use engine::EngineOptions;
use measure::{
    Interval, TimeKind,
    accumulator::NamedCounts,
    label::{LabelGroup, Role},
    summary::KindTimes,
    summary::Quantile,
};
use plan::{Load, Note, Problem, Work};
use record::{Run, units};
use report::console;
use session::{
    Hosts, Job, Observer, RunObserver, RunOutcome, SharedMessageSink, StartError, exit, hosts,
    inputs,
};
use worker::OutputLine;

use crate::{ignored_options, print, read::MqttCommand, unsupported};

const PER_WORKER: f64 = 150_000.0;

pub fn command(
    arguments: &[String],
    without_command: fn(&[String], &SharedMessageSink) -> u8,
    sink: &SharedMessageSink,
) -> u8 {
    let (first, rest) = arguments
        .split_first()
        .map_or(("", arguments), |(first, rest)| (first.as_str(), rest));
    match first {
        "pepeunit" => return without_command(rest, sink),
        "" => return without_command(arguments, sink),
        flag if flag.starts_with("--") && flag != "--help" => {
            return without_command(arguments, sink);
        }
        _ => {}
    }
    if let Some(line) = unsupported::first(arguments) {
        sink.error(&line);
        return exit::BAD_INPUT;
    }
    let (arguments, notes) = ignored_options::taken(arguments);
    let line = std::iter::once("loadline mqtt").chain(arguments.iter().map(String::as_str));
    let command = match MqttCommand::try_parse_from(line) {
        Ok(command) => command,
        Err(error) => return not_a_command(&error, "loadline mqtt pub --help", sink),
    };
    match job(&command, notes) {
        Ok(job) => conduct(job, command.what.common().json.as_deref(), sink),
        Err(line) => {
            sink.error(&line);
            exit::BAD_INPUT
        }
    }
}

pub fn not_a_command(error: &clap::Error, help: &str, sink: &SharedMessageSink) -> u8 {
    if !error.use_stderr() {
        sink.out(&error.to_string());
        return exit::PASS;
    }
    let text = error.to_string();
    let first = text.lines().take_while(|line| !line.is_empty());
    let first: Vec<&str> = first.map(str::trim).collect();
    let first = first.join(" ");
    let first = first.strip_prefix("error: ").unwrap_or(&first);
    sink.error(&format_args!("{first}; {help} lists the options"));
    exit::BAD_INPUT
}

fn job(command: &MqttCommand, notes: Vec<String>) -> Result<Job, String> {
    let common = command.what.common();
    let mut plan = command.what.plan()?;
    let notes = notes.into_iter().map(|text| Note { at: None, text });
    plan.provenance.notes.extend(notes);
    let Work::Mqtt(work) = &plan.work else {
        return Err("no MQTT".to_owned());
    };
    let seed = common.seed.unwrap_or_else(inputs::random_seed);
    let driver = mqtt_driver::maker(mqtt_driver::DriverConfig {
        work: Arc::new(work.clone()),
        flat_out: matches!(plan.load, Load::Closed { .. }),
        own: Vec::new(),
        seed,
        run: (inputs::random_seed() >> 8) as u32,
        limit: command.what.limit(),
        clients: None,
    });
    let options = EngineOptions {
        workers: Some(workers(common.workers, plan.peak_rate(), work)),
        seed,
        drain_ns: Some(common.drain_ns()?),
        pacing_slack_ns: session::pacing::from_flag(common.pacing_slack.as_deref())?,
        sources: common.sources(),
        frontend: Some(Arc::new(|| Box::new(NamedCounts::default()))),
        driver: Some(driver),
        ..EngineOptions::default()
    };
    Ok(Job {
        hosts: Hosts::Native(Vec::new()),
        runs: common.runs.clone(),
        ..Job::new("mqtt", plan, options)
    })
}

pub(crate) fn workers(
    requested: Option<usize>,
    peak: Option<f64>,
    work: &plan::mqtt::Mqtt,
) -> usize {
    if work.shares_subscriptions() {
        return 1;
    }
    let usual = || {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let is_much = peak.is_some_and(|rate| rate > PER_WORKER);
        if is_much { cores } else { 1 }
    };
    let most = usize::try_from(work.clients()).unwrap_or(usize::MAX);
    requested.unwrap_or_else(usual).clamp(1, most.max(1))
}

fn conduct(job: Job, json: Option<&Path>, sink: &SharedMessageSink) -> u8 {
    let mut frontend = RunPrinter::new(json.map(Path::to_owned), sink);
    match ready(job, sink) {
        Ok(ready) => ready.conduct(&mut frontend),
        Err(reason) => frontend.not_run(&reason),
    }
}

pub fn ready(job: Job, sink: &SharedMessageSink) -> Result<session::Ready, StartError> {
    let clients = match &job.plan.work {
        Work::Mqtt(work) => work.clients(),
        _ => 0,
    };
    let ready = session::descriptors_for(clients)
        .map_err(|problem: Problem| session::RunRefused::from(vec![problem]))
        .and_then(|()| session::prepare(job, sink))?;
    if let Some(line) = hosts::first_line(ready.plan()) {
        sink.say(&format_args!("loadline: {line}"));
    }
    for note in &ready.plan().provenance.notes {
        sink.warning(&note.text);
    }
    Ok(ready)
}

#[must_use]
pub fn driver_counts(run: &Run) -> measure::accumulator::Tally {
    print::tally(run)
}

pub struct RunPrinter {
    json: Option<PathBuf>,
    shows: Shows,
    found: (String, bool),
}

impl RunPrinter {
    #[must_use]
    pub fn new(json: Option<PathBuf>, sink: &SharedMessageSink) -> RunPrinter {
        RunPrinter {
            json,
            shows: Shows {
                sink: sink.clone(),
                messages: 0,
                deliveries: 0,
            },
            found: (String::new(), false),
        }
    }

    pub fn judge(&mut self, lines: String, is_failure: bool) {
        self.found = (lines, is_failure);
    }
}

impl RunObserver for RunPrinter {
    fn page(&self, run: &record::Run) -> analysis::page::Page {
        audit::page(run)
    }

    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.shows
    }

    fn not_run(&mut self, reason: &StartError) -> u8 {
        match reason {
            StartError::Refused(refused) => {
                for problem in &refused.problems {
                    self.shows.sink.error(problem);
                }
            }
            StartError::Before { reason, .. } => self.shows.sink.error(reason),
        }
        exit::of_not_run(reason)
    }

    fn computed(&mut self, page: &Page) {
        self.shows.sink.out(&console::summary_text(&page.summary));
    }

    fn files_written(&mut self, report: Option<&Path>) {
        if let Some(path) = report {
            let line = format_args!("loadline: report {}", path.display());
            self.shows.sink.say(&line);
        }
    }

    fn code(&mut self, outcome: &RunOutcome<'_>) -> u8 {
        let sink = &self.shows.sink;
        sink.out(&print::ledger(outcome.run));
        sink.out(&self.found.0);
        if let Some(error) = outcome.error {
            sink.error(error);
        }
        let is_written = self.json.as_deref().is_none_or(|path| {
            let written = print::write_json(path, outcome);
            written.map_err(|line| sink.error(&line)).is_ok()
        });
        match exit::code(outcome) {
            exit::PASS if !is_written => exit::COULD_NOT_RUN,
            // No connection was accepted, so the result of the criteria does not matter.
            exit::PASS | exit::FAIL | exit::INVALID | exit::INCONCLUSIVE
                if print::nobody_came_in(outcome.run) =>
            {
                sink.error(&"the server accepted no connections, so nothing was measured");
                exit::COULD_NOT_RUN
            }
            exit::PASS | exit::INCONCLUSIVE if self.found.1 => exit::FAIL,
            code => code,
        }
    }
}

struct Shows {
    sink: SharedMessageSink,
    messages: u64,
    deliveries: u64,
}

impl Observer for Shows {
    fn started(&mut self, _: &Run) {}

    fn interval(&mut self, interval: &Interval, run: &Run) {
        let (mut published, mut delivered) = (0, 0);
        let mut times = Vec::new();
        for label in &run.labels {
            let slot = interval.label(label.id);
            let ok = slot.counters.ok;
            let is_message = label.group == LabelGroup::Mqtt && label.name.starts_with("PUBLISH");
            if is_message {
                published += ok;
            }
            if label.name == "DELIVERY" {
                delivered += ok;
            }
            if ok > 0 && label.group.role() != Role::Iteration && label.id > 1 {
                let of = KindTimes::from_slot(&slot, TimeKind::Response);
                let at = |q| match of.quantile(q) {
                    Quantile::Ns(ns) => units::time(ns),
                    Quantile::Empty => "-".to_owned(),
                    Quantile::NoAnswer(_) => "no answer".to_owned(),
                };
                times.push(format!("{} p50 {} p99 {}", label.name, at(0.5), at(0.99)));
            }
        }
        self.messages += published;
        self.deliveries += delivered;
        let line = format!(
            "{:.1}s pub total={} rate={published}/s recv total={} rate={delivered}/s connections={} {}\n",
            interval.span.to_ns as f64 / 1e9,
            self.messages,
            self.deliveries,
            interval.run.connections,
            times.join(", "),
        );
        self.sink.out(&line);
    }

    fn line(&mut self, line: &OutputLine) {
        if let OutputLine::Remark(text) = line {
            self.sink.warning(text);
        }
    }
}
