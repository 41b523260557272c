//! `loadline artillery run`: Artillery's flags, its standard output to the character, its exit codes. Loadline's own lines go
//! to standard error; the record is kept as for any run.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
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

use super::{
    cloud, environment,
    flags::{Quick, RunFlags},
    quick, terminal,
};
use crate::{
    Accumulator, Given,
    plugins::Plugins,
    print::{self, Console, Zone, error_text, judged_text, test_run_id},
    refusal::{FAILED, WORKER_DIED},
};

/// Artillery's code for answers that were not as expected.
const UNEXPECTED: u8 = 21;

/// Runs a script.
pub fn run(args: &RunFlags, voice: &SharedVoice) -> u8 {
    let environment = environment::with(args.dotenv.as_deref(), voice);
    if let Err(code) = cloud::check(args, &environment, voice) {
        return code;
    }
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
        voice,
    };
    let test_id = environment::get(&environment, "ARTILLERY_TEST_RUN_ID").map(ToOwned::to_owned);
    manner.run(test_id, |test_id| {
        let mut plan = crate::load(given(args, environment, test_id))?;
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

/// Runs a script of one line, made of flags.
pub fn run_quick(args: &Quick, voice: &SharedVoice) -> u8 {
    let script = match quick::script(args, voice) {
        Ok(script) => script,
        Err(code) => return code,
    };
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
        voice,
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
        crate::load_text(inputs, "quick.json", &script)
    })
}

/// What a run prints and writes.
#[derive(Clone, Copy)]
struct Manner<'a> {
    output: Option<&'a Path>,
    quiet: bool,
    voice: &'a SharedVoice,
}

impl Manner<'_> {
    fn run(
        self,
        test_id: Option<String>,
        load: impl FnOnce(&str) -> Result<Plan, LoadErrors>,
    ) -> u8 {
        let voice = self.voice;
        let seed = match std::env::var("LOADLINE_SEED").map(|text| text.parse()) {
            Err(_) => inputs::random_seed(),
            Ok(Ok(seed)) => seed,
            Ok(Err(_)) => {
                voice.error(&"LOADLINE_SEED is not a whole number");
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
                voice.say(&line);
                return FAILED;
            }
        };
        // The original finds out when the figures are there to be lost; its code is the same.
        let tried = output.as_deref().map_or(Ok(()), exports::can_be_written);
        if let Err(line) = tried {
            voice.error(&line);
            return FAILED;
        }
        voice.out(&format!("Test run id: {test_id}\n"));
        let mut plan = match load(&test_id) {
            Ok(plan) => plan,
            Err(errors) => return refused(&errors, voice),
        };
        plan.notes.iter().for_each(|note| tell_note(note, voice));
        trust::as_node(&mut plan, voice);
        trust::can_be_read(&plan, voice);
        carry_out(plan, (self.quiet, output), seed, voice)
    }
}

/// Artillery's own warnings go where Artillery prints them, and ours to standard error.
fn tell_note(note: &Note, voice: &SharedVoice) {
    match &note.at {
        None if note.text.starts_with("WARNING") => voice.out(&format!("{}\n", note.text)),
        None => voice.say(&&note.text),
        Some(at) => voice.say(&format_args!("{at}: {}", note.text)),
    }
}

fn given(args: &RunFlags, environment: Vec<(String, String)>, test_id: &str) -> Given {
    Given {
        inputs: Inputs {
            files: args.script.iter().chain(&args.input).cloned().collect(),
            environment: args.environment.clone(),
            target: args.target.clone(),
            variables: args.variables.clone(),
            insecure: args.insecure,
            solo: args.solo,
            scenario_name: args.scenario_name.clone(),
            process_env: environment,
            secrets: Vec::new(),
            test_id: test_id.to_owned(),
            native: false,
            memory: memory::budget(None).ok(),
        },
        config: args.config.clone(),
        overrides: args.overrides.clone(),
        payload: args.payload.clone(),
    }
}

/// Says why nothing was loaded, in the original's words where it has some.
fn refused(errors: &LoadErrors, voice: &SharedVoice) -> u8 {
    // Artillery's own warnings come before whatever it then dies of; ours would only distract from the refusal.
    let warnings = errors.notes.iter();
    warnings
        .filter(|note| note.text.starts_with("WARNING"))
        .for_each(|note| tell_note(note, voice));
    let Some(original) = &errors.original else {
        errors
            .problems
            .iter()
            .for_each(|problem| voice.error(problem));
        return FAILED;
    };
    voice.out(&original.out);
    if !original.err.is_empty() {
        voice.say(&&original.err);
    }
    if original.explained {
        errors
            .problems
            .iter()
            .for_each(|problem| voice.error(problem));
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
            voice.error(&line);
            return FAILED;
        }
    };
    let plugins = match Plugins::of(&plan.door_settings) {
        Ok(plugins) => plugins,
        Err(line) => {
            voice.error(&line);
            return FAILED;
        }
    };
    let door = match accumulators(&plan, &plugins, seed) {
        Ok(door) => door,
        Err(problems) => {
            problems.iter().for_each(|problem| voice.error(problem));
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
        voice: voice.clone(),
        quiet,
        plugins,
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
            refused
                .problems
                .iter()
                .for_each(|problem| voice.error(problem));
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
        let voice = self.screen.voice.clone();
        match why {
            NotRun::Refused(refused) => {
                refused
                    .problems
                    .iter()
                    .for_each(|problem| voice.error(problem));
                FAILED
            }
            NotRun::Before { why, signal } => {
                voice.error(&why);
                signal.map_or(FAILED, exit::of_signal)
            }
        }
    }

    fn ended(&mut self, ended: &Ended) {
        let voice = self.screen.voice.clone();
        let quiet = self.screen.quiet;
        let console = self.screen.console.take();
        let mut console = console.unwrap_or_else(|| new_console(&ended.run, &self.screen.plugins));
        let text = console.finish(engine::clock::wall_ns());
        if !quiet {
            voice.out(&text);
        }
        self.code = ended.signal.map_or(exit::PASS, exit::of_signal);
        if let Some(path) = &self.output {
            match std::fs::write(path, console.json()) {
                Ok(()) if quiet => {}
                Ok(()) => voice.out(&console.log_file(&shown(path))),
                Err(error) => {
                    voice.error(&format_args!("cannot write {}: {error}", path.display()));
                    self.code = FAILED;
                }
            }
        }
        let outcome = console.outcome();
        if !quiet {
            voice.out(&outcome.text);
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
        let voice = self.screen.voice.clone();
        if !outcome.files_written && self.code == exit::PASS {
            self.code = FAILED;
        }
        if let Some(measurement) = &outcome.summary.measurement {
            voice.say(&format_args!("loadline: {}", measurement.line()));
        }
        if let Some(error) = outcome.error {
            voice.error(&error);
            return WORKER_DIED;
        }
        if let Some(dir) = &outcome.run.dir {
            voice.say(&format_args!("loadline: record {}", dir.display()));
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

fn new_console(run: &Run, plugins: &Plugins) -> Console {
    Console::new(
        &run.manifest,
        plugins.clone(),
        Zone::of_machine(),
        print::Options {
            width: terminal::columns(),
            ..print::Options::default()
        },
    )
}

/// Makes the accumulator of each worker: which scenario and which endpoint each figure belongs to.
fn accumulators(
    plan: &Plan,
    plugins: &Plugins,
    seed: u64,
) -> Result<engine::run::DoorMaker, Vec<plan::Problem>> {
    let prepared = Prepared::new(
        plan,
        Options {
            seed,
            ..Options::default()
        },
    )?;
    let scenarios: Vec<String> = plan
        .scenarios()
        .iter()
        .enumerate()
        .map(|(i, scenario)| scenario.shown(i))
        .collect();
    let naming = plugins.endpoints.clone().unwrap_or_default();
    let endpoint = |step: &engine::program::RequestStep| {
        let name = step.spec.name.as_deref();
        naming.name(&plan.target, &step.spec.url_text, name)
    };
    let steps = prepared.requests().iter();
    let endpoints: Vec<String> = steps
        .map(|step| endpoint(step).unwrap_or_default())
        .collect();
    let apdex_ms = plugins.apdex_ms;
    let extended = plugins.extended_metrics;
    Ok(Arc::new(move || -> Box<dyn accumulator::Accumulator> {
        let door = Accumulator::new(scenarios.clone(), endpoints.clone(), apdex_ms);
        Box::new(door.namespace(&naming.namespace).extended(extended))
    }))
}

/// Prints what Artillery prints while the test runs.
struct Screen {
    voice: SharedVoice,
    quiet: bool,
    plugins: Plugins,
    console: Option<Console>,
}

impl Screen {
    /// How expectations are printed, if anybody asked for them.
    fn print(&self) -> Option<Print> {
        self.plugins.expect.and_then(|expect| expect.print)
    }
}

impl Observer for Screen {
    fn started(&mut self, run: &Run) {
        let console = self.console.insert(new_console(run, &self.plugins));
        if !self.quiet {
            self.voice.out(&console.begin());
        }
    }

    fn interval(&mut self, interval: &Interval, _: &Run) {
        if let Some(console) = &mut self.console {
            let text = console.interval(interval);
            if !self.quiet {
                self.voice.out(&text);
            }
        }
    }

    fn line(&mut self, line: &Line) {
        match line {
            Line::Log { text, .. } => self.voice.out(&format!("{text}\n")),
            Line::Trace(text) => self.voice.out(text),
            // What a script prints itself is no part of the console that `--quiet` silences.
            Line::Expectation(judged) => {
                if let Some(print) = self.print() {
                    self.voice.out(&judged_text(judged, print));
                }
            }
            Line::Error(error) => {
                if let Some(print) = self.print() {
                    self.voice.out(&error_text(error, print));
                }
            }
            Line::Secret(_) | Line::Remark(_) => {}
        }
    }
}
