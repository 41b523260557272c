//! Runs `setup` and then the load, and records the load.

use std::path::PathBuf;

use decisions::stop::StopRules;
use engine::{Prepared, RunError};
use record::{
    Event, EventKind, RecordError, Run, RunEnd, RunLocation, RunState, Writer,
    redact::{Redactor, Salt},
};
use worker::{clock::Zero, stop::StopHandle};

use crate::{
    RecordPolicy,
    finished::{FinishContext, FinishedRun, StartError},
    live::Steering,
    messages::SharedMessageSink,
    observer::{Observer, RunObserver},
    part::RunPartOrder,
    prepare::{Ready, RunRefused},
    recording::{Recording, RecordingInputs, heed},
    salt::random_salt,
    sampling::Sampling,
    setup_teardown,
    signals::{self, SignalGuard},
    window::RecentIntervals,
};

/// Time between the decision to start and the start, in which all workers get ready.
const LEAD_NS: u64 = 20_000_000;

impl Ready {
    /// Runs the test and finishes it. Returns the exit code.
    pub fn conduct(self, frontend: &mut dyn RunObserver) -> u8 {
        match self.run(frontend.observer()) {
            Ok(ended) => ended.finish(frontend),
            Err(why) => frontend.not_run(&why),
        }
    }

    /// Runs `setup` and the load.
    ///
    /// # Errors
    ///
    /// Fails if there was no load.
    pub fn run(self, observer: &mut dyn Observer) -> Result<FinishedRun, StartError> {
        self.run_with(observer, &RecentIntervals::default())
    }

    /// Runs the test like [`Ready::run`], with access to the newest intervals.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Ready::run`].
    pub fn run_with(
        mut self,
        observer: &mut dyn Observer,
        window: &RecentIntervals,
    ) -> Result<FinishedRun, StartError> {
        // With several processes, only the coordinator runs `setup`.
        if self.job.plan.setup.is_some() && self.job.part.is_none() {
            let left = setup_teardown::before(&self, Some(&mut *observer))?;
            self.job.plan.setup_vars = left;
            let prepared = Prepared::new(&self.job.plan, self.job.options.clone());
            self.prepared = prepared.map_err(RunRefused::from)?;
        }
        self.load(observer, window)
    }

    fn load(
        mut self,
        observer: &mut dyn Observer,
        window: &RecentIntervals,
    ) -> Result<FinishedRun, StartError> {
        let (job, sink) = (self.job, self.sink);
        let stop = job.options.stop.clone();
        let part = job.part.as_ref();
        let salt = part.map_or_else(|| Salt::new(random_salt()), RunPartOrder::salt);
        let redactor = || Redactor::new(&job.plan, &job.secrets, salt);
        let labels = self.prepared.labels().all().to_vec();
        let zero = part.map_or_else(|| Zero::in_ns(LEAD_NS), RunPartOrder::zero);
        part.map_or(Ok(()), |part| not_late(part, zero))?;
        self.manifest.start = part.map_or_else(
            || record::RunStart::at(zero.wall_ns, zero.monotonic_ns),
            |part| part.start.clone(),
        );
        let (manifest, plan) = (&self.manifest, &job.plan);
        let writer = match part {
            Some(part) if !part.alone => {
                let copier = job.copier;
                let writer =
                    Writer::create_part(&part.run, manifest, plan, &labels, redactor(), copier);
                writer.map_err(StartError::without_record)?
            }
            _ => {
                let in_memory = || Writer::in_memory(manifest, &labels, redactor());
                let place = place(job.runs, job.options.seed, zero);
                let create = || Writer::create(&place, manifest, plan, &labels, redactor());
                writer(job.record, create, in_memory, &sink)?
            }
        };
        let steering = match self.prepared.load_control() {
            Some(load_control) => Steering::new(load_control.clone(), zero),
            None => Steering::fixed(job.frontend, &job.plan, part.is_some()),
        };
        let inputs = RecordingInputs {
            writer,
            observer,
            window,
            redactor: redactor(),
            sampling: Sampling::begin(job.samplers, zero),
            rules: rules(part, plan),
            stop: stop.clone(),
            load_end_ns: plan.end_ns(),
            load_control: self.prepared.load_control().cloned(),
            steering,
            live: self.live,
            exporters: self.exporters,
            sink,
        };
        let mut recording = Recording::start(inputs, zero);
        let sink = recording.sink.clone();
        let handler = if job.hears_signals {
            hear(&stop, &recording.writer, &sink)
        } else {
            None
        };
        let error = self.prepared.run(zero, &mut recording).err();
        recording.last_samples();
        recording.finish_exports();
        let live = recording.live;
        let (run, error) = close(recording.writer, &stop, error, &sink);
        live.end(&run);
        Ok(FinishedRun {
            run,
            cause: stop.cause().cloned(),
            signal: stop.signal(),
            error,
            rest: FinishContext {
                plan: job.plan,
                options: job.options,
                secrets: job.secrets,
                salt,
                exports: job.exports,
                json: job.json,
                sink,
                _signal_handler: handler,
            },
        })
    }
}

/// Refuses a part that is ready too late, because the other parts do not wait for it.
fn not_late(part: &RunPartOrder, zero: Zero) -> Result<(), RunRefused> {
    if part.alone && worker::clock::monotonic_ns() >= zero.monotonic_ns {
        let line = "late: the part was not ready when the others started; nothing was sent";
        return Err(RunRefused::from(vec![plan::Problem::anywhere(line)]));
    }
    Ok(())
}

fn rules(part: Option<&RunPartOrder>, plan: &plan::Plan) -> StopRules {
    if part.is_some_and(|part| part.conducted) {
        StopRules::none()
    } else {
        StopRules::from_plan(plan)
    }
}

/// Creates the writer that the policy requires.
fn writer(
    policy: RecordPolicy,
    create: impl FnOnce() -> Result<Writer, RecordError>,
    in_memory: impl FnOnce() -> Writer,
    sink: &SharedMessageSink,
) -> Result<Writer, StartError> {
    if policy == RecordPolicy::Never {
        return Ok(in_memory());
    }
    match create() {
        Ok(writer) => Ok(writer),
        Err(error @ RecordError::NotWritable { .. }) if policy == RecordPolicy::IfWritable => {
            sink.warning(&format_args!("{error}; the run continues without a record"));
            Ok(in_memory())
        }
        Err(error) => Err(StartError::unrecorded(&error)),
    }
}

pub(crate) fn place(runs: Option<PathBuf>, seed: u64, zero: Zero) -> RunLocation {
    // Include the clock, to distinguish runs with equal seeds.
    RunLocation::new(Some(folder(runs)), (seed ^ zero.wall_ns >> 10) as u16)
}

/// Returns the folder of records: from the flag, the environment, or the default.
pub(crate) fn folder(runs: Option<PathBuf>) -> PathBuf {
    let runs = runs.or_else(|| std::env::var_os("LOADLINE_RUNS").map(PathBuf::from));
    RunLocation::new(runs, 0).runs
}

pub(crate) fn hear(
    stop: &StopHandle,
    writer: &Writer,
    sink: &SharedMessageSink,
) -> Option<SignalGuard> {
    let last_words = match &writer.run().dir {
        Some(dir) => format!("the measurements so far are in {}", dir.display()),
        None => "the run has no record".to_owned(),
    };
    let handler = signals::hear(stop, last_words, sink);
    handler
        .map_err(|error| {
            sink.warning(&format_args!(
                "cannot handle signals ({error}): after Ctrl-C there will be no report"
            ));
        })
        .ok()
}

/// Writes the end of the record with the cause. Returns the error of the engine or of the record,
/// if any.
fn close(
    mut writer: Writer,
    stop: &StopHandle,
    error: Option<RunError>,
    sink: &SharedMessageSink,
) -> (Run, Option<RunError>) {
    let unrecorded = |writer: &Writer| {
        let why = writer.failure().map(ToOwned::to_owned);
        why.map(RunError::Unrecorded)
    };
    let error = error.or_else(|| unrecorded(&writer));
    let cause = stop
        .noticed_at()
        .and_then(|at_ns| Some((at_ns, stop.cause()?)));
    if let Some((at_ns, cause)) = cause {
        let text = format!("ended early by {cause}");
        let failed = writer.event(&Event::new(at_ns, EventKind::Interrupt, text));
        heed(failed, &writer, stop, sink);
    }
    if let Some(RunError::Stuck(stuck)) = &error {
        let at_ns = writer.run().totals.rows.end_ns;
        let text = stuck.to_string();
        let failed = writer.event(&Event::new(at_ns, EventKind::Warning, text));
        heed(failed, &writer, stop, sink);
    }
    let error = error.or_else(|| unrecorded(&writer));
    let state = if cause.is_some() || error.is_some() {
        RunState::Interrupted
    } else {
        RunState::Complete
    };
    let reason = cause.map(|(_, cause)| cause.to_string());
    let kind = cause.map(|(_, cause)| cause.kind().to_owned());
    let ns = stop
        .noticed_at()
        .unwrap_or_else(|| writer.run().totals.rows.end_ns);
    let end = RunEnd {
        ns,
        reason: reason.or_else(|| error.as_ref().map(RunError::by_whom)),
        cause: kind.or_else(|| error.as_ref().map(|_| "fault".to_owned())),
        record_ends_ns: None,
        recorded_to_ns: None,
        lines: None,
    };
    let is_copied = writer.is_copied();
    let (run, failed) = writer.finish(state, end);
    let error = match failed {
        Some(failed) if is_copied => {
            sink.warning(&failed);
            error
        }
        failed => error.or(failed.map(|failed| RunError::Unrecorded(failed.to_string()))),
    };
    (run, error)
}
