//! One run from a plan to its record: prepares the engine, writes the record while it runs, and gives the record back. What
//! is shown meanwhile is the observer's business.

use std::path::PathBuf;

use engine::{Line, Options, Prepared, RunError, Sink, StopHandle, Zero, run::DriverMaker};
use measure::{Interval, Labels};
use plan::{Plan, Problem};
use record::{
    End, Event, EventKind, Manifest, Place, Run, Started, State, Writer,
    redact::{Redactor, Salt},
};

use crate::{
    exit,
    live::{self, Live},
    log,
    watch::Watch,
};

/// Time between the decision to start and the start: every worker is ready by then.
const LEAD_NS: u64 = 20_000_000;

/// What a run needs beside its plan.
pub struct Setup {
    /// The front door's name.
    pub door: &'static str,
    /// For the engine.
    pub options: Options,
    /// Where records are kept.
    pub runs: Option<PathBuf>,
    /// Names whose values are secret, beside the usual ones.
    pub secrets: Vec<String>,
    /// What can be looked at meanwhile.
    pub live: live::Wanted,
    /// Another driver than the plan's own.
    pub driver: Option<ForLabels>,
}

/// Makes the driver's maker once the labels of the run are known.
pub type ForLabels = Box<dyn FnOnce(&Labels) -> DriverMaker>;

/// Hears of a run while it goes on.
pub trait Observer: Send {
    /// The run is about to start.
    fn started(&mut self, run: &Run);
    /// An interval is complete and written.
    fn interval(&mut self, interval: &Interval, run: &Run);
    /// A scenario or a trace prints something; secrets in traces are hidden already.
    fn line(&mut self, line: &Line);
}

/// How a run ended.
pub struct Ended {
    /// Its record.
    pub run: Run,
    /// The signal that ended it early, if one did.
    pub signal: Option<u8>,
    /// Why the engine could not carry it through.
    pub error: Option<RunError>,
}

impl Ended {
    /// From the start to the end, in nanoseconds.
    pub fn runtime_ns(&self) -> u64 {
        let end = self.run.manifest.end.as_ref();
        end.map_or_else(|| self.run.totals.last_end_ns(), |end| end.ns)
    }
}

/// Why a run did not begin.
pub struct Refused {
    /// Line by line.
    pub problems: Vec<Problem>,
    /// Whether what was asked for is at fault, not the machine.
    pub bad_input: bool,
}

impl Refused {
    fn bad_input(lines: Vec<String>) -> Refused {
        Refused {
            problems: lines.into_iter().map(Problem::anywhere).collect(),
            bad_input: true,
        }
    }
}

impl From<Vec<Problem>> for Refused {
    fn from(problems: Vec<Problem>) -> Refused {
        Refused {
            // What has a place in a file is wrong there, whatever the machine.
            bad_input: problems.iter().any(|problem| problem.at.is_some()),
            problems,
        }
    }
}

/// Runs a plan.
///
/// # Errors
/// Everything that keeps the plan from running.
pub fn run(plan: &Plan, setup: Setup, observer: &mut dyn Observer) -> Result<Ended, Refused> {
    let stop = setup.options.stop.clone();
    let seed = setup.options.seed;
    let mut prepared = Prepared::new(plan, setup.options)?;
    if let Some(driver) = setup.driver {
        let driver = driver(prepared.labels());
        prepared = prepared.with_driver(driver);
    }
    descriptors(plan)?;
    let salt = salt();
    let redactor = || Redactor::new(plan, &setup.secrets, salt);
    let labels = prepared.labels().all().to_vec();
    let zero = Zero::in_ns(LEAD_NS);
    let started = Started {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command: std::env::args_os()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        door: setup.door.to_owned(),
        workers: prepared.workers(),
        seed,
        wall_ns: zero.wall_ns,
        monotonic_ns: zero.monotonic_ns,
    };
    let mut manifest = Manifest::new(plan, started);
    // wrk never checks them.
    if !plan.http.verify_tls && setup.door != "wrk" {
        let note = "certificates were not checked (-k): whoever answered need not be who was asked";
        manifest.notes.push(note.to_owned());
    }
    let undecidable = analysis::verdict::without_subject(&manifest, &labels);
    if !undecidable.is_empty() {
        return Err(Refused::bad_input(undecidable));
    }
    let live = Live::begin(setup.live, &stop).map_err(|line| vec![Problem::anywhere(line)])?;
    let runs = setup
        .runs
        .clone()
        .or_else(|| std::env::var_os("LOADLINE_RUNS").map(PathBuf::from));
    // The seed is random unless the user set it; the clock tells runs with the same seed apart.
    let place = Place::new(runs, (seed ^ zero.wall_ns >> 10) as u16);
    let writer =
        Writer::create(&place, &manifest, plan, &labels, redactor()).unwrap_or_else(|error| {
            log::warning(format_args!("{error}; the run goes on without a record"));
            Writer::in_memory(&manifest, &labels, redactor())
        });
    let kept = match &writer.run().dir {
        Some(dir) => format!("what was measured until then is in {}", dir.display()),
        None => "there is no record".to_owned(),
    };
    if let Err(error) = stop.on_signals(end_at_once(kept)) {
        log::warning(format_args!(
            "signals cannot be caught ({error}): Ctrl-C will lose the report"
        ));
    }
    observer.started(writer.run());
    live.started(writer.run());
    let mut recording = Recording {
        writer,
        observer,
        live: &live,
        redactor: redactor(),
        watch: Watch::begin(),
    };
    let error = prepared.run(zero, &mut recording).err();
    let ended = finish(recording.writer, &stop, error);
    live.end(&ended.run);
    Ok(ended)
}

/// A new one for each run: the standard library draws its hashers' keys from the system's randomness.
pub fn salt() -> Salt {
    use std::hash::{BuildHasher, Hasher};
    let random = || {
        std::collections::hash_map::RandomState::new()
            .build_hasher()
            .finish()
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&random().to_ne_bytes());
    bytes[8..].copy_from_slice(&random().to_ne_bytes());
    Salt::new(bytes)
}

/// What the third signal does: it ends the process at once, whoever is in the middle of whatever.
pub fn end_at_once(kept: impl Into<String>) -> impl Fn(u8) + Send + 'static {
    let kept = kept.into();
    move |number| {
        log::last_words(format_args!("ended at once; {kept}"));
        engine::exit_at_once(exit::of_signal(number))
    }
}

fn finish(mut writer: Writer, stop: &StopHandle, error: Option<RunError>) -> Ended {
    let signal = stop.signal();
    let mut reason = None;
    if let Some(at_ns) = stop.noticed_at() {
        // Who came first ended it; a button asks as a signal does, and has a name of its own.
        let name = match (stop.reason(), signal, &error) {
            (Some(reason), None, _) | (Some(reason), _, None) => reason,
            (_, Some(15), _) => "SIGTERM",
            (_, Some(1), _) => "SIGHUP",
            _ => "SIGINT",
        };
        reason = Some(name.to_owned());
        tell(writer.event(&Event::new(
            at_ns,
            EventKind::Interrupt,
            format!("ended early by {name}"),
        )));
    }
    if let Some(RunError::Stuck(stuck)) = &error {
        let at_ns = writer.run().totals.last_end_ns();
        let text = stuck.to_string();
        tell(writer.event(&Event::new(at_ns, EventKind::Warning, text)));
    }
    let state = if reason.is_some() || error.is_some() {
        State::Interrupted
    } else {
        State::Complete
    };
    let reason = reason.or_else(|| error.as_ref().map(RunError::by_whom));
    let ns = stop
        .noticed_at()
        .unwrap_or_else(|| writer.run().totals.last_end_ns());
    let (run, warning) = writer.finish(
        state,
        End {
            ns,
            reason,
            record_ends_ns: None,
            recorded_to_ns: None,
        },
    );
    tell(warning);
    Ended { run, signal, error }
}

fn tell(warning: Option<record::RecordError>) {
    if let Some(warning) = warning {
        log::warning(warning);
    }
}

/// Writes the record, then tells the observer.
struct Recording<'a> {
    writer: Writer,
    observer: &'a mut dyn Observer,
    live: &'a Live,
    redactor: Redactor,
    watch: Watch,
}

impl Sink for Recording<'_> {
    fn interval(&mut self, interval: Interval) {
        tell(
            self.writer
                .interval(&interval, &self.watch.look(interval.run.cpu_ns.len())),
        );
        self.observer.interval(&interval, self.writer.run());
        self.live.interval(self.writer.run());
    }

    fn line(&mut self, line: Line) {
        match without_secrets(&mut self.redactor, line) {
            None => {}
            Some(Line::Remark(text)) => {
                let told = &self.writer.run().events;
                if told.iter().all(|event| event.text != text) {
                    let at_ns = self.writer.run().totals.last_end_ns();
                    let event = Event::new(at_ns, EventKind::Warning, text);
                    tell(self.writer.event(&event));
                }
            }
            Some(line) => self.observer.line(&line),
        }
    }
}

/// A line as it may be printed; none where it only tells of a secret.
pub fn without_secrets(redactor: &mut Redactor, line: Line) -> Option<Line> {
    Some(match line {
        Line::Trace(text) => Line::Trace(redactor.text(&text)),
        Line::Log { text, secrets } => {
            let text = redactor.text_without(&text, &secrets);
            Line::Log { text, secrets }
        }
        Line::Error(text) => Line::Error(redactor.text(&text)),
        Line::Secret(secret) => {
            redactor.learn(&secret);
            return None;
        }
        Line::Remark(text) => Line::Remark(redactor.text(&text)),
        judged @ Line::Expectation(_) => judged,
    })
}

/// Descriptors that a process needs beside its connections.
const SPARE_DESCRIPTORS: u64 = 32;

/// Says before the run that there are not enough descriptors, where the plan tells how many it needs.
fn descriptors(plan: &Plan) -> Result<(), Vec<Problem>> {
    let Some(has) = engine::raise_descriptors() else {
        return Ok(());
    };
    let connections = match (&plan.http.pool, &plan.load) {
        (_, plan::Load::Closed { users, .. }) => u64::from(*users),
        // A cap is a permission, not a need: small rates never reach it.
        (plan::Pool::Shared(n), _) if plan.peak_rate().is_some_and(|rate| rate > f64::from(*n)) => {
            u64::from(*n)
        }
        _ => 0,
    };
    enough(connections, has).map_err(|problem| vec![problem])
}

/// Says that there are not enough descriptors for so many connections.
pub fn descriptors_for(connections: u64) -> Result<(), Problem> {
    let Some(has) = engine::raise_descriptors() else {
        return Ok(());
    };
    enough(connections, has)
}

fn enough(connections: u64, has: u64) -> Result<(), Problem> {
    let needs = connections.saturating_add(SPARE_DESCRIPTORS);
    if needs <= has {
        return Ok(());
    }
    Err(Problem::anywhere(format!(
        "{connections} connections need {needs} file descriptors, the limit is {has}: raise it with `ulimit -n {needs}`, or use fewer connections"
    )))
}
