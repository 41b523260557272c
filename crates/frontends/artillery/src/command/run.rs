//! `loadline artillery run`: reproduces Artillery's flags, standard output and exit codes exactly.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use engine::{EngineOptions, Prepared, program::RequestStep};
use formats::{Inputs, LoadErrors};
use measure::accumulator;
use plan::{
    Note, Plan,
    rng::{Purpose, Rng},
};
use serde_json::Value;
use session::{Job, SharedMessageSink, ca_env, exports, inputs, live, memory};

use super::{
    cloud, environment,
    flags::{Quick, RunFlags},
    quick,
    screen::{Screen, ScreenObserver},
};
use crate::{
    Accumulator, ArtilleryInputs, StepKind, expect,
    plugins::Plugins,
    print::{Zone, test_run_id},
    refusal::{FAILED, WORKER_DIED},
};

pub fn run(args: &RunFlags, sink: &SharedMessageSink) -> u8 {
    let environment = environment::with(args.dotenv.as_deref(), sink);
    if let Err(code) = cloud::check(args, &environment, sink) {
        return code;
    }
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
        sink,
    };
    let test_id = environment::get(&environment, "ARTILLERY_TEST_RUN_ID").map(ToOwned::to_owned);
    manner.run(test_id, |test_id| {
        let mut plan = crate::load(given(args, environment, test_id))?;
        // The record contains the name that Artillery's cloud service would show.
        plan.name = args.name.clone().unwrap_or(plan.name);
        for (what, text) in [("note", &args.note), ("tags", &args.tags)] {
            plan.provenance.notes.extend(text.as_ref().map(|text| Note {
                at: None,
                text: format!("{what}: {text}"),
            }));
        }
        Ok(plan)
    })
}

pub fn run_quick(args: &Quick, sink: &SharedMessageSink) -> u8 {
    let script = match quick::script(args, sink) {
        Ok(script) => script,
        Err(code) => return code,
    };
    let manner = Manner {
        output: args.output.as_deref(),
        quiet: args.quiet,
        sink,
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

#[derive(Clone, Copy)]
struct Manner<'a> {
    output: Option<&'a Path>,
    quiet: bool,
    sink: &'a SharedMessageSink,
}

impl Manner<'_> {
    fn run(
        self,
        test_id: Option<String>,
        load: impl FnOnce(&str) -> Result<Plan, LoadErrors>,
    ) -> u8 {
        let sink = self.sink;
        let seed = match std::env::var("LOADLINE_SEED").map(|text| text.parse()) {
            Err(_) => inputs::random_seed(),
            Ok(Ok(seed)) => seed,
            Ok(Err(_)) => {
                sink.error(&"LOADLINE_SEED is not a whole number");
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
                sink.say(&line);
                return FAILED;
            }
        };
        // Artillery notices this only after the run, and exits with the same code.
        let tried = output.as_deref().map_or(Ok(()), exports::can_be_written);
        if let Err(line) = tried {
            sink.error(&line);
            return FAILED;
        }
        sink.out(&format!("Test run id: {test_id}\n"));
        let mut plan = match load(&test_id) {
            Ok(plan) => plan,
            Err(errors) => return refused(&errors, sink),
        };
        plan.provenance
            .notes
            .iter()
            .for_each(|note| tell_note(note, sink));
        ca_env::as_node(&mut plan, sink);
        ca_env::can_be_read(&plan, sink);
        execute(plan, self.quiet, output, seed, sink)
    }
}

fn tell_note(note: &Note, sink: &SharedMessageSink) {
    match &note.at {
        None if note.text.starts_with("WARNING") => sink.out(&format!("{}\n", note.text)),
        None => sink.say(&&note.text),
        Some(at) => sink.say(&format_args!("{at}: {}", note.text)),
    }
}

fn given(args: &RunFlags, environment: Vec<(String, String)>, test_id: &str) -> ArtilleryInputs {
    ArtilleryInputs {
        inputs: Inputs {
            files: args.script.iter().chain(&args.input).cloned().collect(),
            environment: args.environment.clone(),
            target: args.target.clone(),
            variables: args.variables.clone(),
            insecure: args.insecure,
            solo: args.solo,
            scenario_name: args.scenario_name.clone(),
            stage: None,
            process_env: environment,
            secrets: Vec::new(),
            test_id: test_id.to_owned(),
            native: false,
            memory: memory::budget(None).ok(),
            mocks: Vec::new(),
            run_name: None,
        },
        config: args.config.clone(),
        overrides: args.overrides.clone(),
        payload: args.payload.clone(),
    }
}

/// Prints why the run was refused, with Artillery's message if possible.
fn refused(errors: &LoadErrors, sink: &SharedMessageSink) -> u8 {
    // Artillery prints its warnings before it fails. Omit Loadline's notes.
    let warnings = errors.notes.iter();
    warnings
        .filter(|note| note.text.starts_with("WARNING"))
        .for_each(|note| tell_note(note, sink));
    let Some(original) = &errors.original else {
        errors
            .problems
            .iter()
            .for_each(|problem| sink.error(problem));
        return FAILED;
    };
    sink.out(&original.out);
    if !original.err.is_empty() {
        sink.say(&&original.err);
    }
    if original.explained {
        errors
            .problems
            .iter()
            .for_each(|problem| sink.error(problem));
    }
    original.code
}

fn execute(
    plan: Plan,
    quiet: bool,
    output: Option<PathBuf>,
    seed: u64,
    sink: &SharedMessageSink,
) -> u8 {
    let (exports, live) = match live::options_from_env() {
        Ok(options) => options,
        Err(line) => {
            sink.error(&line);
            return FAILED;
        }
    };
    let plugins = match Plugins::from_settings(&plan.provenance.frontend_settings) {
        Ok(plugins) => plugins,
        Err(line) => {
            sink.error(&line);
            return FAILED;
        }
    };
    let frontend = match accumulators(&plan, &plugins, seed) {
        Ok(frontend) => frontend,
        Err(problems) => {
            problems.iter().for_each(|problem| sink.error(problem));
            return FAILED;
        }
    };
    let hooks = match expect::hook::hooks(&plan) {
        Ok(hooks) => hooks,
        Err(line) => {
            sink.error(&line);
            return WORKER_DIED;
        }
    };
    // Artillery waits for virtual users without a time limit.
    let options = EngineOptions {
        seed,
        drain_ns: None,
        memory: memory::budget(None).ok(),
        frontend: Some(frontend),
        hooks,
        ..EngineOptions::default()
    };
    let screen = Screen::new(sink.clone(), quiet, plugins);
    let job = Job {
        exports,
        live,
        ..Job::new("artillery", plan, options)
    };
    match session::prepare(job, sink) {
        Ok(ready) => ready.conduct(&mut ScreenObserver::new(screen, output)),
        Err(refused) => {
            refused
                .problems
                .iter()
                .for_each(|problem| sink.error(problem));
            FAILED
        }
    }
}

fn output_path(named: &Path) -> Result<PathBuf, String> {
    if named.is_dir() {
        let zone = Zone::of_machine();
        return Ok(named.join(format!(
            "artillery_report_{}.json",
            zone.file_stamp(worker::clock::wall_ns())
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

fn accumulators(
    plan: &Plan,
    plugins: &Plugins,
    seed: u64,
) -> Result<engine::run::AccumulatorMaker, Vec<plan::Problem>> {
    let prepared = Prepared::new(
        plan,
        EngineOptions {
            seed,
            ..EngineOptions::default()
        },
    )?;
    let scenarios: Vec<String> = plan
        .scenarios()
        .iter()
        .enumerate()
        .map(|(i, scenario)| scenario.render(i))
        .collect();
    let naming = plugins.endpoints.clone().unwrap_or_default();
    let endpoint = |step: &RequestStep| {
        let name = step.spec.name.as_deref();
        naming.name(plan.target.expose(), step.spec.url_text.expose(), name)
    };
    let steps = || prepared.requests().iter();
    let in_sessions = requests_in_sessions(plan);
    let kinds: Vec<StepKind> = steps().map(|step| step_kind(step, &in_sessions)).collect();
    let endpoints = steps().zip(&kinds).map(|(step, kind)| match kind {
        StepKind::Request => endpoint(step).unwrap_or_default(),
        _ => String::new(),
    });
    let endpoints: Vec<String> = endpoints.collect();
    let apdex_ms = plugins.apdex_ms;
    let extended = plugins.extended_metrics;
    Ok(Arc::new(move || -> Box<dyn accumulator::Accumulator> {
        let frontend = Accumulator::new(scenarios.clone(), endpoints.clone(), apdex_ms);
        let frontend = frontend.namespace(&naming.namespace).extended(extended);
        Box::new(frontend.steps(kinds.clone()))
    }))
}

/// Returns, for each request step, whether its scenario has `engine: socketio`.
fn requests_in_sessions(plan: &Plan) -> Vec<bool> {
    let of_scenario = |scenario: &plan::Scenario| {
        let of_engine = scenario.requests().any(|step| step.socketio.is_some());
        vec![of_engine; scenario.requests().count()]
    };
    plan.scenarios().iter().flat_map(of_scenario).collect()
}

fn step_kind(step: &RequestStep, in_sessions: &[bool]) -> StepKind {
    let spec = &step.spec;
    if let Some(connect) = &spec.socketio {
        return StepKind::Session {
            is_websocket: connect.is_websocket,
        };
    }
    if spec.websocket.is_some() {
        return StepKind::WebSocket(authority(step));
    }
    match in_sessions.get(step.index as usize) {
        Some(true) => StepKind::UncountedRequest,
        _ => StepKind::Request,
    }
}

/// Returns the host and port of a step. Empty if they depend on variables.
fn authority(step: &RequestStep) -> String {
    let text = step.spec.url.as_literal().and_then(Value::as_str);
    let rest = text.and_then(|text| Some(text.split_once("://")?.1));
    let authority = rest.and_then(|rest| rest.split(['/', '?', '#']).next());
    let host = authority.map(|text| text.rsplit_once('@').map_or(text, |(_, host)| host));
    host.unwrap_or_default().to_owned()
}
