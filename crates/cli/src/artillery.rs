//! `loadline artillery run`: Artillery's flags, its standard output to the character, its exit codes. Loadline's own lines go
//! to standard error; the record is kept as for any run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use door_artillery::{
    Accumulator,
    print::{self, Console, Zone, error_text, judged_text, test_run_id},
};
use engine::{Line, Options, Prepared};
use formats::{Inputs, LoadErrors};
use measure::{Interval, accumulator};
use plan::{
    Note, Plan,
    plugins::Print,
    rng::{Purpose, Rng},
};
use record::Run;

use session::{
    Door, Ended, Job, NotRun, Observer, Outcome, SharedVoice, exit, exports, inputs, live, memory,
    trust,
};

use crate::{
    args::{self, ArtilleryQuick, ArtilleryRun},
    log, terminal,
};

mod about;
mod cloud;
mod environment;
mod quick;
mod tell;

/// Artillery's code for a preparation that failed.
const FAILED: u8 = 1;
/// Artillery's code for answers that were not as expected.
const UNEXPECTED: u8 = 21;
/// Artillery's code for a worker that died.
const WORKER_DIED: u8 = 11;

/// Runs `loadline artillery …`.
pub fn command(door: args::ArtilleryDoor) -> u8 {
    match door.command {
        _ if door.version => about::version(),
        Some(args::Artillery::Run(args)) => run(&args),
        Some(args::Artillery::Quick(args)) => run_quick(&args),
        Some(args::Artillery::Report { file, output }) => tell::command(&file, output),
        Some(args::Artillery::Dino { message }) => about::dino(&message),
        Some(args::Artillery::Version) | None => about::version(),
    }
}

/// What a run behind this door printed, from its record.
#[must_use]
pub fn again(run: &Run) -> String {
    Console::replay(run, Zone::of_machine(), print::Options::default()).1
}

fn run(args: &ArtilleryRun) -> u8 {
    let environment = environment::with(args.dotenv.as_deref());
    if let Err(code) = cloud::check(args, &environment) {
        return code;
    }
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
    };
    let test_id = environment::get(&environment, "ARTILLERY_TEST_RUN_ID").map(ToOwned::to_owned);
    manner.run(test_id, |test_id| {
        let mut plan = door_artillery::load(&inputs(args, environment, test_id))?;
        // What Artillery would show in its service, the record shows.
        plan.name = args.name.clone().unwrap_or(plan.name);
        for (what, text) in [("note", &args.note), ("tags", &args.tags)] {
            plan.notes.extend(text.as_ref().map(|text| Note {
                at: None,
                text: format!("{what}: {text}"),
            }));
        }
        Ok(plan)
    })
}

fn run_quick(args: &ArtilleryQuick) -> u8 {
    let script = match quick::script(args) {
        Ok(script) => script,
        Err(code) => return code,
    };
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
    };
    let environment = inputs::environment();
    let test_id = environment::get(&environment, "ARTILLERY_TEST_RUN_ID").map(ToOwned::to_owned);
    manner.run(test_id, |test_id| {
        let inputs = Inputs {
            insecure: args.insecure,
            process_env: environment,
            test_id: test_id.to_owned(),
            ..Inputs::default()
        };
        door_artillery::load_text(&inputs, "quick.json", &script)
    })
}

/// What a run prints and writes.
#[derive(Clone, Copy)]
struct Manner<'a> {
    output: Option<&'a Path>,
    quiet: bool,
}

impl Manner<'_> {
    fn run(
        self,
        test_id: Option<String>,
        load: impl FnOnce(&str) -> Result<Plan, LoadErrors>,
    ) -> u8 {
        let seed = match std::env::var("LOADLINE_SEED").map(|text| text.parse()) {
            Err(_) => inputs::random_seed(),
            Ok(Ok(seed)) => seed,
            Ok(Err(_)) => {
                log::error("LOADLINE_SEED is not a whole number");
                return FAILED;
            }
        };
        let test_id = test_id.unwrap_or_else(|| {
            let mut bits = Rng::keyed(seed, Purpose::User, u64::MAX, 0);
            test_run_id(|| bits.next_u64())
        });
        let output = match self.output.map(output_path).transpose() {
            Ok(output) => output,
            Err(line) => {
                log::say(line);
                return FAILED;
            }
        };
        // The original finds out when the figures are there to be lost; its code is the same.
        let tried = output.as_deref().map_or(Ok(()), exports::can_be_written);
        if let Err(line) = tried {
            log::error(line);
            return FAILED;
        }
        log::out(&format!("Test run id: {test_id}\n"));
        let mut plan = match load(&test_id) {
            Ok(plan) => plan,
            Err(errors) => return refused(&errors),
        };
        let voice = log::voice();
        plan.notes.iter().for_each(tell_note);
        trust::as_node(&mut plan, &voice);
        trust::can_be_read(&plan, &voice);
        carry_out(plan, (self.quiet, output), seed, &voice)
    }
}

/// Artillery's own warnings go where Artillery prints them, and ours to standard error.
fn tell_note(note: &Note) {
    match &note.at {
        None if note.text.starts_with("WARNING") => log::out(&format!("{}\n", note.text)),
        None => log::say(&note.text),
        Some(at) => log::say(format_args!("{at}: {}", note.text)),
    }
}

fn inputs(args: &ArtilleryRun, environment: Vec<(String, String)>, test_id: &str) -> Inputs {
    Inputs {
        secrets: Vec::new(),
        files: args.script.iter().chain(&args.input).cloned().collect(),
        config: args.config.clone(),
        environment: args.environment.clone(),
        target: args.target.clone(),
        variables: args.variables.clone(),
        overrides: args.overrides.clone(),
        insecure: args.insecure,
        solo: args.solo,
        payload: args.payload.clone(),
        scenario_name: args.scenario_name.clone(),
        process_env: environment,
        test_id: test_id.to_owned(),
        native: false,
        memory: memory::budget(None).ok(),
    }
}

/// Says why nothing was loaded, in the original's words where it has some.
fn refused(errors: &LoadErrors) -> u8 {
    // Artillery's own warnings come before whatever it then dies of; ours would only distract from the refusal.
    let warnings = errors.notes.iter();
    warnings
        .filter(|note| note.text.starts_with("WARNING"))
        .for_each(tell_note);
    let Some(original) = &errors.original else {
        errors.problems.iter().for_each(log::error);
        return FAILED;
    };
    log::out(&original.out);
    if !original.err.is_empty() {
        log::say(&original.err);
    }
    if original.explained {
        errors.problems.iter().for_each(log::error);
    }
    original.code
}

fn carry_out(
    plan: Plan,
    (quiet, output): (bool, Option<PathBuf>),
    seed: u64,
    voice: &SharedVoice,
) -> u8 {
    let (exports, live) = match live::beside_a_door() {
        Ok(beside) => beside,
        Err(line) => {
            log::error(line);
            return FAILED;
        }
    };
    let door = match books(&plan, seed) {
        Ok(door) => door,
        Err(problems) => {
            problems.iter().for_each(log::error);
            return FAILED;
        }
    };
    // Artillery waits for its virtual users without a limit.
    let options = Options {
        seed,
        drain_ns: None,
        memory: memory::budget(None).ok(),
        door: Some(door),
        ..Options::default()
    };
    let screen = Screen {
        quiet,
        expect: plan.plugins.expect.and_then(|expect| expect.print),
        console: None,
    };
    let job = Job {
        exports,
        live,
        ..Job::new("artillery", plan, options)
    };
    match session::prepare(job, voice) {
        Ok(ready) => ready.conduct(&mut Behind {
            screen,
            output,
            code: exit::PASS,
        }),
        Err(refused) => {
            refused.problems.iter().for_each(log::error);
            FAILED
        }
    }
}

/// Artillery's door: its console behind the run, its file, its codes.
struct Behind {
    screen: Screen,
    /// Where its own report goes.
    output: Option<PathBuf>,
    /// What the original would end with.
    code: u8,
}

impl Door for Behind {
    fn observer(&mut self) -> &mut dyn Observer {
        &mut self.screen
    }

    fn not_run(&mut self, why: &NotRun) -> u8 {
        match why {
            NotRun::Refused(refused) => {
                refused.problems.iter().for_each(log::error);
                FAILED
            }
            NotRun::Before { why, signal } => {
                log::error(why);
                signal.map_or(FAILED, exit::of_signal)
            }
        }
    }

    fn ended(&mut self, ended: &Ended) {
        let quiet = self.screen.quiet;
        let console = self.screen.console.take();
        let mut console = console.unwrap_or_else(|| new_console(&ended.run));
        let text = console.finish(engine::clock::wall_ns());
        if !quiet {
            log::out(&text);
        }
        self.code = ended.signal.map_or(exit::PASS, exit::of_signal);
        if let Some(path) = &self.output {
            match std::fs::write(path, console.json()) {
                Ok(()) if quiet => {}
                Ok(()) => log::out(&console.log_file(&shown(path))),
                Err(error) => {
                    log::error(format_args!("cannot write {}: {error}", path.display()));
                    self.code = FAILED;
                }
            }
        }
        let outcome = console.outcome();
        if !quiet {
            log::out(&outcome.text);
        }
        if self.code == exit::PASS {
            self.code = match &outcome {
                outcome if outcome.failed => FAILED,
                outcome if outcome.unexpected => UNEXPECTED,
                _ => exit::PASS,
            };
        }
    }

    /// What Artillery does not say, on standard error, and the code.
    fn code(&mut self, outcome: &Outcome<'_>) -> u8 {
        if !outcome.files_written && self.code == exit::PASS {
            self.code = FAILED;
        }
        if let Some(measurement) = &outcome.summary.measurement {
            log::say(format_args!("loadline: {}", measurement.line()));
        }
        if let Some(error) = outcome.error {
            log::error(error);
            return WORKER_DIED;
        }
        if let Some(dir) = &outcome.run.dir {
            log::say(format_args!("loadline: record {}", dir.display()));
        }
        self.code
    }

    fn after_failed(&self) -> u8 {
        FAILED
    }
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Where the JSON report goes: a file, or a new one in a folder that exists.
fn output_path(named: &Path) -> Result<PathBuf, String> {
    if named.is_dir() {
        let zone = Zone::of_machine();
        return Ok(named.join(format!(
            "artillery_report_{}.json",
            zone.file_stamp(engine::clock::wall_ns())
        )));
    }
    let parent = named
        .parent()
        .filter(|parent| !parent.as_os_str().is_empty());
    match parent {
        Some(parent) if !parent.is_dir() => {
            Err(format!("Path does not exist: {}", named.display()))
        }
        _ => Ok(named.to_owned()),
    }
}

fn new_console(run: &Run) -> Console {
    Console::new(
        &run.manifest,
        Zone::of_machine(),
        print::Options {
            width: terminal::columns(),
            ..print::Options::default()
        },
    )
}

/// Makes Artillery's own books for each worker: which scenario and which endpoint each figure belongs to.
fn books(plan: &Plan, seed: u64) -> Result<engine::run::DoorMaker, Vec<plan::Problem>> {
    let prepared = Prepared::new(
        plan,
        Options {
            seed,
            ..Options::default()
        },
    )?;
    let scenarios: Vec<String> = plan
        .scenarios
        .iter()
        .enumerate()
        .map(|(i, scenario)| scenario.shown(i))
        .collect();
    let naming = plan.plugins.endpoints.clone().unwrap_or_default();
    let endpoint = |step: &engine::program::RequestStep| {
        let name = step.spec.name.as_deref();
        naming.name(&plan.target, &step.spec.url_text, name)
    };
    let steps = prepared.program().requests.iter();
    let endpoints: Vec<String> = steps
        .map(|step| endpoint(step).unwrap_or_default())
        .collect();
    let apdex_ms = plan.plugins.apdex_ms;
    let extended = plan.plugins.extended_metrics;
    Ok(Arc::new(move || -> Box<dyn accumulator::Accumulator> {
        let door = Accumulator::new(scenarios.clone(), endpoints.clone(), apdex_ms);
        Box::new(door.namespace(&naming.namespace).extended(extended))
    }))
}

/// Prints what Artillery prints while the test runs.
struct Screen {
    quiet: bool,
    /// How expectations are printed.
    expect: Option<Print>,
    console: Option<Console>,
}

impl Observer for Screen {
    fn started(&mut self, run: &Run) {
        let console = self.console.insert(new_console(run));
        if !self.quiet {
            log::out(&console.begin());
        }
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        if let Some(console) = &mut self.console {
            let text = console.interval(interval);
            if !self.quiet {
                log::out(&text);
            }
        }
    }

    fn line(&mut self, line: &Line) {
        match line {
            Line::Log { text, .. } => log::out(&format!("{text}\n")),
            Line::Trace(text) => log::out(text),
            // What a script prints itself is no part of the console that `--quiet` silences.
            Line::Expectation(judged) => {
                if let Some(print) = self.expect {
                    log::out(&judged_text(judged, print));
                }
            }
            Line::Error(error) => {
                if let Some(print) = self.expect {
                    log::out(&error_text(error, print));
                }
            }
            Line::Secret(_) | Line::Remark(_) => {}
        }
    }
}
