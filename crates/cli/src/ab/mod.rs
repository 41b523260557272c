//! The command `loadline ab`, which runs a test alternately against two targets until it is decided
//! whether they differ. `decisions::compare` evaluates the runs.

mod target_process;

use std::path::Path;

use decisions::{
    compare::{self, CompareConfig, ComparedRun, Comparison, InterimPlan, Side},
    find::search::probe_seed,
    gate,
};
use plan::units::parse_duration;
use report::{console, gate as reported};
use session::{exit, inputs, signals};
use worker::{clock, stop::StopHandle};

use crate::{
    args,
    child_runs::{self, RunEnv, without_record},
    compare as comparing,
    error::{CommandError, flag_error},
    groups, log, rerender,
};
use target_process::{StartResult, TargetProcess};

pub fn command(args: &args::Ab) -> u8 {
    match run(args) {
        Ok(code) => code,
        Err(CommandError { lines, code }) => {
            lines.iter().for_each(log::error);
            code
        }
    }
}

fn run(args: &args::Ab) -> Result<u8, CommandError> {
    let config = comparing::config(&args.judged)?;
    let budget = args.budget.as_deref();
    let budget = budget
        .map(|text| parse_duration(text).map_err(|error| flag_error("--budget", text, &error)))
        .transpose()?;
    let seed = args.seed.unwrap_or_else(inputs::random_seed);
    let sides = [
        AbTarget::new("a", &args.a, args.a_cmd.as_deref(), args)?,
        AbTarget::new("b", &args.b, args.b_cmd.as_deref(), args)?,
    ];
    child_runs::can_be_written(&args.json)?;
    log::makes_way(args.json.as_deref());
    let stop = StopHandle::default();
    // Kept until the end, so that a signal also ends the started processes.
    let _signal_handler = signals::hear(&stop, String::new(), &log::sink()).map_err(|error| {
        CommandError::could_not_run(format!("cannot listen for signals: {error}"))
    })?;
    let runs = rerender::runs(args.runs.as_deref());
    let tag = child_runs::tag("ab");
    let folder = args.out.clone();
    let folder = folder.unwrap_or_else(|| comparing::place("ab", &tag["ab-".len()..]));
    let mut ab = Ab {
        args,
        config,
        budget,
        seed,
        sides,
        stop,
        env: RunEnv {
            runs: &runs,
            tag: &tag,
            folder: &folder,
        },
        made: ["a", "b"].map(|name| Side {
            name: name.to_owned(),
            runs: Vec::new(),
        }),
        number: 0,
    };
    let end = ab.make()?;
    ab.conclude(end, &folder)
}

struct AbTarget {
    name: &'static str,
    flags: Vec<String>,
    process: Option<TargetProcess>,
}

impl AbTarget {
    fn new(
        name: &'static str,
        url: &str,
        command: Option<&str>,
        args: &args::Ab,
    ) -> Result<AbTarget, CommandError> {
        let mut flags = vec!["--target".to_owned(), url.to_owned()];
        for (flag, value) in [
            ("--rate", args.rate.clone()),
            ("--duration", args.duration.clone()),
            ("--users", args.users.map(|users| users.to_string())),
        ] {
            flags.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
        }
        flags.extend(args.flags.iter().cloned());
        let process = command.map(|command| TargetProcess::new(name, command, url));
        Ok(AbTarget {
            name,
            flags,
            process: process.transpose()?,
        })
    }
}

enum AbEnd {
    Decided(Box<Comparison>),
    Over,
    Signal(u8),
}

enum RunAttempt {
    Run(Box<ComparedRun>),
    Signal(u8),
}

struct Ab<'a> {
    args: &'a args::Ab,
    config: CompareConfig,
    budget: Option<u64>,
    seed: u64,
    sides: [AbTarget; 2],
    stop: StopHandle,
    env: RunEnv<'a>,
    made: [Side; 2],
    number: u32,
}

impl Ab<'_> {
    fn make(&mut self) -> Result<AbEnd, CommandError> {
        let looks = InterimPlan::new(self.args.pairs);
        let begun = clock::monotonic_ns();
        for pair in 0..self.args.pairs {
            if let Some(budget) = self.budget
                && pair > 0
            {
                let spent = clock::monotonic_ns().saturating_sub(begun);
                if spent + spent / u64::from(pair) > budget {
                    return Ok(AbEnd::Over);
                }
            }
            let order = if compare::is_a_first(pair, self.seed) {
                [0, 1]
            } else {
                [1, 0]
            };
            for side in order {
                match self.run(side, pair)? {
                    RunAttempt::Run(entrant) => self.made[side].runs.push(*entrant),
                    RunAttempt::Signal(signal) => return Ok(AbEnd::Signal(signal)),
                }
            }
            self.check()?;
            let confidence = looks.confidence_after(pair + 1);
            let Some(confidence) = confidence.filter(|_| pair + 1 < self.args.pairs) else {
                continue;
            };
            let comparison = self.look(confidence);
            if compare::is_decided(&comparison) {
                return Ok(AbEnd::Decided(Box::new(comparison)));
            }
        }
        Ok(AbEnd::Over)
    }

    fn run(&mut self, side: usize, pair: u32) -> Result<RunAttempt, CommandError> {
        let place = format!("pair {} of {}", pair + 1, self.args.pairs);
        for is_again in [false, true] {
            let entrant = match self.once(side)? {
                RunAttempt::Run(entrant) => entrant,
                RunAttempt::Signal(signal) => return Ok(RunAttempt::Signal(signal)),
            };
            let made = gate::made(&entrant);
            let name = self.sides[side].name;
            log::say(format_args!("{place}, {name}  {}", reported::made(&made)));
            let is_invalid = made.measurement.as_deref() == Some("INVALID");
            if !is_invalid || self.args.judged.anyway {
                return Ok(RunAttempt::Run(entrant));
            }
            if is_again {
                let cause = made.reason.unwrap_or_default();
                return Err(CommandError {
                    lines: vec![format!(
                        "the measurement of {} is INVALID, like the previous one: {cause}",
                        made.run
                    )],
                    code: exit::INVALID,
                });
            }
            log::say(format_args!("{place}, {name}  is being repeated"));
        }
        Err(CommandError::could_not_run("no run was completed"))
    }

    fn once(&mut self, side: usize) -> Result<RunAttempt, CommandError> {
        self.number += 1;
        let target = &self.sides[side];
        let process = target.process.as_ref();
        let log = self.env.folder.join(format!("run-{}-cmd.txt", self.number));
        let started = process
            .map(|process| process.start(&log, &self.stop))
            .transpose()?;
        if let Some(StartResult::Signal(signal)) = started {
            return Ok(RunAttempt::Signal(signal));
        }
        let mut tags = vec![format!("ab-{}", target.name)];
        tags.extend(self.args.tag.iter().cloned());
        // Runs with the same seed would have identical arrivals and vary too little.
        let seed = probe_seed(self.seed, self.number as usize);
        let mut flags = target.flags.clone();
        flags.extend(["--seed".to_owned(), seed.to_string()]);
        let ran = self.env.run(self.number, &self.args.what, &flags, &tags)?;
        drop(started);
        if let Some(signal) = ran.signal.or(self.stop.signal()) {
            return Ok(RunAttempt::Signal(signal));
        }
        let Some(record) = &ran.record else {
            self.env.clear(self.number);
            return Err(without_record(&ran));
        };
        let entrant = groups::recorded(record)?;
        child_runs::is_recorded(&ran, &entrant.summary)?;
        let requests = &entrant.summary.requests;
        if requests.are_all_unanswered() {
            return Err(CommandError::could_not_run(format!(
                "no request to {} was answered: check that {} is running",
                entrant.name, target.name
            )));
        }
        Ok(RunAttempt::Run(Box::new(entrant)))
    }

    fn check(&mut self) -> Result<(), CommandError> {
        let [a, b] = &self.made;
        groups::rows_are_there(a, b, &self.config)?;
        groups::hinder(a, b, self.args.judged.anyway, &mut self.config)
    }

    fn look(&self, confidence: f64) -> Comparison {
        let config = CompareConfig {
            confidence,
            ..self.config.clone()
        };
        compare::compare(&self.made[0], &self.made[1], &config)
    }

    fn conclude(&self, end: AbEnd, folder: &Path) -> Result<u8, CommandError> {
        let pairs = self.made.iter().map(|side| side.runs.len()).min();
        let pairs = pairs.unwrap_or_default();
        let tag = self.env.tag;
        let mut comparison = match end {
            AbEnd::Signal(signal) => {
                log::say(format_args!(
                    "stopped by a signal: {pairs} of {} pairs were completed and are stored with the tag {tag}",
                    self.args.pairs
                ));
                return Ok(exit::of_signal(signal));
            }
            AbEnd::Decided(comparison) => *comparison,
            AbEnd::Over => {
                let looks = InterimPlan::new(self.args.pairs);
                self.look(looks.confidence_at_end(u32::try_from(pairs).unwrap_or(u32::MAX)))
            }
        };
        comparison.notes.push(format!(
            "{pairs} pairs in alternating order, at most {}; the runs have the tag {tag}. Intervals are adjusted for repeated analyses (overall false-positive rate at most 5 %)",
            self.args.pairs
        ));
        log::summary(&console::comparison_in(&comparison, log::columns()));
        let is_written = comparing::write(&comparison, folder, self.args.json.as_deref());
        Ok(if is_written {
            comparison.exit_code
        } else {
            exit::COULD_NOT_RUN
        })
    }
}
