//! A run of several processes. One process divides the run, creates the record and finishes it.
//! Each of the other processes runs a [`RunPartOrder`] and writes its record to the run's folder.

use std::path::{Path, PathBuf};

use decisions::stop::StopRules;
use engine::{RunError, Sink};
use plan::{Plan, Raw, Share};
use record::{
    Ages, DecodedChunk, Event, EventKind, NodeRow, RecordError, Run, RunEnd, RunStart, RunState,
    Writer,
    redact::{Redactor, Salt},
    server::SourceReading,
};
use worker::{OutputLine, clock::Zero, stop::StopHandle};

use crate::{
    exports::OpenExporter,
    finished::{FinishContext, FinishedRun, StartError},
    live::{Bound, Live, Steering},
    messages::SharedMessageSink,
    observer::Observer,
    part::RunPartOrder,
    prepare::{Job, Ready, RunRefused, prepare_as},
    recording::{self, Recording, RecordingInputs, heed},
    run::{hear, place},
    salt::random_salt,
    sampling::Sampling,
    setup_teardown,
    window::RecentIntervals,
};

/// A run that is ready to be divided among processes.
pub struct PartitionedRun {
    ready: Ready,
    processes: u64,
    salt: [u8; 16],
}

/// Validates a run that will be divided among `processes` other processes.
///
/// # Errors
///
/// Returns all problems that prevent the run.
pub fn divide(
    job: Job,
    processes: u64,
    sink: &SharedMessageSink,
) -> Result<PartitionedRun, RunRefused> {
    let ready = prepare_as(job, Some(processes.max(1)), sink)?;
    Ok(PartitionedRun {
        ready,
        processes: processes.max(1),
        salt: random_salt(),
    })
}

/// Coordinates a run that other processes execute.
pub struct Coordinator {
    writer: Writer,
    part: RunPartOrder,
    processes: u64,
    sampling: Sampling,
    stop: StopHandle,
    /// Ports of the live view, until the run starts.
    ports: Bound,
    exporters: Vec<OpenExporter>,
    live: Option<Live>,
    rest: FinishContext,
}

impl PartitionedRun {
    /// Runs `setup`.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot take place.
    pub fn before(&mut self, observer: Option<&mut dyn Observer>) -> Result<(), StartError> {
        if self.ready.job.plan.setup.is_some() {
            self.ready.job.plan.setup_vars = setup_teardown::before(&self.ready, observer)?;
        }
        Ok(())
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.ready.plan()
    }

    /// Returns the digest of the plan. All parts must have the same digest.
    #[must_use]
    pub fn plan_digest(&self) -> Option<String> {
        self.ready.plan_digest()
    }

    /// Returns the seed for all random numbers.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.ready.job.options.seed
    }

    /// Returns the parts, without their start and record folder.
    pub fn parts(&self) -> impl Iterator<Item = RunPartOrder> + '_ {
        let part = self.part(RunStart::at(0, 0));
        (0..self.processes).map(move |index| part.new_part(index, self.processes))
    }

    fn part(&self, start: RunStart) -> RunPartOrder {
        RunPartOrder {
            run: PathBuf::new(),
            run_id: self.ready.manifest.run_id.clone(),
            share: Share::WHOLE,
            name: None,
            late: false,
            conducted: self.ready.job.conducts,
            alone: false,
            seed: self.ready.job.options.seed,
            start,
            salt: self.salt,
            inherited: self.ready.job.plan.setup_vars.clone(),
        }
    }

    /// Runs `setup` and creates the record. The load starts `lead_ns` later.
    ///
    /// # Errors
    ///
    /// Fails if the run cannot take place, for example without a folder, because parts could not be
    /// merged.
    pub fn begin(mut self, lead_ns: u64) -> Result<Coordinator, StartError> {
        self.before(None)?;
        self.begin_at(Zero::in_ns(lead_ns))
    }

    /// Creates the record of a load that starts at `zero`.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`PartitionedRun::begin`].
    pub fn begin_at(self, zero: Zero) -> Result<Coordinator, StartError> {
        let mut part = self.part(RunStart::at(zero.wall_ns, zero.monotonic_ns));
        let (job, sink) = (self.ready.job, self.ready.sink);
        let mut manifest = self.ready.manifest;
        manifest.start = part.start.clone();
        let place = place(job.runs, job.options.seed, zero);
        let redactor = Redactor::new(&job.plan, &job.secrets, Salt::new(self.salt));
        let labels = self.ready.prepared.labels().all();
        let writer = Writer::create(&place, &manifest, &job.plan, labels, redactor);
        let writer = writer.map_err(StartError::without_record)?;
        let handler = if job.hears_signals {
            hear(&job.options.stop, &writer, &sink)
        } else {
            None
        };
        part.run = writer.dir().map(PathBuf::from).unwrap_or_default();
        Ok(Coordinator {
            writer,
            part,
            processes: self.processes,
            sampling: Sampling::begin(job.samplers, zero),
            stop: job.options.stop.clone(),
            ports: self.ready.live,
            exporters: self.ready.exporters,
            live: None,
            rest: FinishContext {
                plan: job.plan,
                options: job.options,
                secrets: job.secrets,
                salt: Salt::new(self.salt),
                exports: job.exports,
                json: job.json,
                sink,
                _signal_handler: handler,
            },
        })
    }
}

/// A divided run whose intervals the coordinator collects.
pub struct Conducting<'a> {
    recording: Recording<'a>,
}

impl Conducting<'_> {
    /// Adds an interval that was merged from all processes, with the ages of in-flight requests at
    /// its end.
    pub fn interval(&mut self, decoded: DecodedChunk, in_flight_ages: &Ages) {
        self.recording.interval_of_parts(decoded, in_flight_ages);
    }

    /// Adds a line that a process printed.
    pub fn line(&mut self, line: Raw<OutputLine>) {
        self.recording.line(line);
    }

    /// Records an event.
    pub fn event(&mut self, event: &Event) {
        let recording = &mut self.recording;
        let error = recording.writer.event(event);
        heed(error, &recording.writer, &recording.stop, &recording.sink);
    }

    /// Records server metrics. Should be called about once per second.
    pub fn look(&mut self) {
        self.recording.look();
    }

    /// Sets the state of the nodes.
    pub fn nodes(&mut self, rows: Vec<NodeRow>) {
        self.recording.writer.nodes(rows);
    }

    /// Returns the stop handle for signals and rules. The caller must forward a stop to the
    /// processes.
    #[must_use]
    pub fn stop(&self) -> &StopHandle {
        &self.recording.stop
    }

    /// Returns the message sink.
    #[must_use]
    pub fn sink(&self) -> &SharedMessageSink {
        &self.recording.sink
    }
}

impl RunPartOrder {
    fn new_part(&self, index: u64, of: u64) -> RunPartOrder {
        RunPartOrder {
            share: Share { index, of },
            ..self.clone()
        }
    }
}

impl Coordinator {
    /// Displays and evaluates the run while `work` collects the intervals. Returns when all
    /// processes have ended.
    pub fn conduct<T>(
        mut self,
        observer: &mut dyn Observer,
        window: &RecentIntervals,
        work: impl FnOnce(&mut Conducting<'_>) -> T,
    ) -> (Coordinator, T) {
        let plan = &self.rest.plan;
        let inputs = RecordingInputs {
            observer,
            window,
            redactor: Redactor::new(plan, &self.rest.secrets, self.part.salt()),
            rules: StopRules::from_plan(plan),
            stop: self.stop.clone(),
            load_end_ns: plan.end_ns(),
            load_control: None,
            steering: Steering::fixed(&self.writer.run().manifest.frontend, plan, true),
            live: std::mem::take(&mut self.ports),
            exporters: std::mem::take(&mut self.exporters),
            sink: self.rest.sink.clone(),
            writer: self.writer,
            sampling: self.sampling,
        };
        let recording = Recording::start(inputs, self.part.zero());
        let mut conducting = Conducting { recording };
        let worked = work(&mut conducting);
        conducting.recording.finish_exports();
        let Recording {
            writer,
            sampling,
            live,
            ..
        } = conducting.recording;
        let parent = Coordinator {
            writer,
            sampling,
            live: Some(live),
            ..self
        };
        (parent, worked)
    }

    /// Returns the parts in the order of their numbers. With an external driver, a process that
    /// joins gets the next number.
    pub fn parts(&self) -> impl Iterator<Item = RunPartOrder> + '_ {
        (0..self.processes).map(|index| self.part.new_part(index, self.processes))
    }

    /// Records a note that every report shows.
    pub fn remark(&mut self, kind: EventKind, text: &str) {
        let zero_ns = self.part.start.monotonic_ns;
        let at_ns = worker::clock::monotonic_ns().saturating_sub(zero_ns);
        let error = self.writer.event(&Event::new(at_ns, kind, text));
        heed(error, &self.writer, &self.stop, &self.rest.sink);
    }

    /// Returns the plan.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.rest.plan
    }

    /// Returns the folder of the run.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.part.run
    }

    /// Returns the stop handle for signals to this process. The caller must forward a stop to the
    /// processes.
    #[must_use]
    pub fn stop(&self) -> &StopHandle {
        &self.stop
    }

    /// Records server metrics. Should be called about once per second.
    pub fn look(&mut self) {
        let looks = self.sampling.take();
        self.write(&looks);
    }

    fn write(&mut self, looks: &[SourceReading]) {
        recording::samples(
            &mut self.writer,
            &mut self.sampling,
            looks,
            &self.stop,
            &self.rest.sink,
        );
    }

    /// Closes the record and reads the parts, whose processes must have ended. The record of a
    /// killed
    /// process is marked as truncated.
    ///
    /// # Errors
    ///
    /// Fails if a folder does not contain a part of this run.
    pub fn ended(self) -> Result<FinishedRun, RecordError> {
        self.finish_with_error(None)
    }

    /// Finishes a run whose parts are incomplete, with this error.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`Coordinator::ended`].
    pub fn finish_with_error(
        mut self,
        trouble: Option<String>,
    ) -> Result<FinishedRun, RecordError> {
        let looks = self.sampling.end();
        self.write(&looks);
        let so_far = Run::open(&self.part.run)?;
        let early = so_far.processes.iter().find_map(|process| {
            let end = process.end.as_ref()?;
            Some((process.share, end.clone())).filter(|(_, end)| end.reason.is_some())
        });
        let ends = so_far
            .processes
            .iter()
            .filter_map(|process| process.end.as_ref());
        let ns = ends.map(|end| end.ns).max();
        let cause = self.stop.cause();
        let of_part = early.as_ref().map(|(_, end)| end);
        let end = RunEnd {
            ns: ns.unwrap_or(so_far.totals.rows.end_ns),
            reason: cause
                .map(ToString::to_string)
                .or_else(|| of_part.and_then(|end| end.reason.clone())),
            cause: cause
                .map(|cause| cause.kind().to_owned())
                .or_else(|| of_part.and_then(|end| end.cause.clone())),
            record_ends_ns: None,
            recorded_to_ns: None,
            lines: None,
        };
        let state = if cause.is_some() || early.is_some() {
            RunState::Interrupted
        } else {
            RunState::Complete
        };
        let unrecorded = self.writer.failure().map(ToOwned::to_owned);
        let (_, failed) = self.writer.finish(state, end);
        let unrecorded = unrecorded.or_else(|| failed.map(|failed| failed.to_string()));
        // A run that ended early because Loadline itself failed has not passed.
        let fault = cause.filter(|cause| matches!(cause, worker::stop::Cause::Fault(_)));
        let fault = fault.map(|cause| format!("the run ended early by {cause}"));
        let trouble = unrecorded.or(trouble).or(fault);
        let failed = early.filter(|(_, end)| end.cause.as_deref() == Some("fault"));
        let run = Run::open(&self.part.run)?;
        if let Some(live) = self.live {
            live.end(&run);
        }
        Ok(FinishedRun {
            run,
            cause: cause.cloned(),
            signal: self.stop.signal(),
            error: trouble.map(RunError::Setup).or_else(|| {
                failed.map(|(share, end)| {
                    let reason = end.reason.unwrap_or_default();
                    RunError::Worker(format!(
                        "process {} of {}: {reason}",
                        share.number(),
                        share.of
                    ))
                })
            }),
            rest: self.rest,
        })
    }
}
