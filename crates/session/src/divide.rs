//! A run that several processes carry out: one divides it, begins its record and finishes it; each of the others is given a [`Part`],
//! runs it as any run and keeps its own record in the run's folder. How processes are started, and how a part comes to one, is the
//! caller's; adding up is `record`'s.

use std::path::{Path, PathBuf};

use engine::{RunError, StopHandle, Zero};
use plan::Share;
use record::{
    End, Event, EventKind, RecordError, Run, Start, State, Writer,
    redact::{Redactor, Salt},
    server::Look,
};

use crate::{
    before_after,
    ended::{Ended, NotRun, Rest},
    part::Part,
    prepare::{Job, Ready, Refused, prepare_as},
    recording::{self, tell},
    run::{hear, place},
    salt::random_salt,
    sampling::Sampling,
    voice::SharedVoice,
};

/// A run that can be begun by so many processes.
pub struct Divided {
    ready: Ready,
    processes: u64,
}

/// Asks everything that can refuse a run of so many processes, none of which is this one.
///
/// # Errors
/// Everything that keeps it from running.
pub fn divide(job: Job, processes: u64, voice: &SharedVoice) -> Result<Divided, Refused> {
    let ready = prepare_as(job, Some(processes.max(1)), voice)?;
    Ok(Divided {
        ready,
        processes: processes.max(1),
    })
}

/// A run that other processes carry out.
pub struct Parent {
    writer: Writer,
    part: Part,
    processes: u64,
    sampling: Sampling,
    stop: StopHandle,
    rest: Rest,
}

impl Divided {
    /// Carries out the steps before the load and begins the record; the load starts so long from then.
    ///
    /// # Errors
    /// Why there is no run: without a folder nobody could add up its parts.
    pub fn begin(mut self, lead_ns: u64) -> Result<Parent, NotRun> {
        if self.ready.job.plan.before.is_some() {
            self.ready.job.plan.inherited = before_after::before(&self.ready, None)?;
        }
        let (job, voice) = (self.ready.job, self.ready.voice);
        let zero = Zero::in_ns(lead_ns);
        let mut manifest = self.ready.manifest;
        manifest.start = Start::at(zero.wall_ns, zero.monotonic_ns);
        let place = place(job.runs, job.options.seed, zero);
        let salt = random_salt();
        let redactor = Redactor::new(&job.plan, &job.secrets, Salt::new(salt));
        let labels = self.ready.prepared.labels().all();
        let writer = Writer::create(&place, &manifest, &job.plan, labels, redactor);
        let writer = writer.map_err(NotRun::without_record)?;
        let heard = if job.hears_signals {
            hear(&job.options.stop, &writer, &voice)
        } else {
            None
        };
        let part = Part {
            run: writer.dir().map(PathBuf::from).unwrap_or_default(),
            run_id: manifest.run_id,
            share: Share::WHOLE,
            late: false,
            seed: job.options.seed,
            start: manifest.start,
            salt,
            inherited: job.plan.inherited.clone(),
        };
        Ok(Parent {
            writer,
            part,
            processes: self.processes,
            sampling: Sampling::begin(job.samplers, zero),
            stop: job.options.stop.clone(),
            rest: Rest {
                plan: job.plan,
                options: job.options,
                secrets: job.secrets,
                exports: job.exports,
                json: job.json,
                voice,
                _heard: heard,
            },
        })
    }
}

impl Parent {
    /// What each process is to carry out, in the order of their numbers. Where whatever drives itself deals out its users, one that comes while the
    /// run goes on may have the next number, of one more.
    pub fn parts(&self) -> impl Iterator<Item = Part> + '_ {
        (0..self.processes).map(|index| Part {
            share: Share {
                index,
                of: self.processes,
            },
            ..self.part.clone()
        })
    }

    /// Writes down what everybody who reads the record is told.
    pub fn remark(&mut self, kind: EventKind, text: &str) {
        let zero_ns = self.part.start.monotonic_ns;
        let at_ns = engine::clock::monotonic_ns().saturating_sub(zero_ns);
        let warning = self.writer.event(&Event::new(at_ns, kind, text));
        tell(warning, &self.rest.voice);
    }

    /// The run's folder.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.part.run
    }

    /// Signals that this process was sent, and whatever else wants an end. Telling the others is the caller's.
    #[must_use]
    pub fn stop(&self) -> &StopHandle {
        &self.stop
    }

    /// Writes down what was measured beside the load; for whoever waits to do about once a second.
    pub fn look(&mut self) {
        let looks = self.sampling.take();
        self.write(&looks);
    }

    fn write(&mut self, looks: &[Look]) {
        recording::samples(
            &mut self.writer,
            &mut self.sampling,
            looks,
            &self.rest.voice,
        );
    }

    /// Closes the record and reads what all processes have left. They are over by now: the record of one that had no time to end its own is
    /// said to be one.
    ///
    /// # Errors
    /// When a folder is there that is no part of this run.
    pub fn ended(mut self) -> Result<Ended, RecordError> {
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
        let end = End {
            ns: ns.unwrap_or_else(|| so_far.totals.last_end_ns()),
            reason: cause
                .map(ToString::to_string)
                .or_else(|| of_part.and_then(|end| end.reason.clone())),
            cause: cause
                .map(|cause| cause.kind().to_owned())
                .or_else(|| of_part.and_then(|end| end.cause.clone())),
            record_ends_ns: None,
            recorded_to_ns: None,
        };
        let state = if cause.is_some() || early.is_some() {
            State::Interrupted
        } else {
            State::Complete
        };
        let (_, warning) = self.writer.finish(state, end);
        tell(warning, &self.rest.voice);
        let failed = early.filter(|(_, end)| end.cause.as_deref() == Some("fault"));
        Ok(Ended {
            run: Run::open(&self.part.run)?,
            cause: cause.cloned(),
            signal: self.stop.signal(),
            error: failed.map(|(share, end)| {
                let reason = end.reason.unwrap_or_default();
                RunError::Worker(format!("process {} of {}: {reason}", share.index, share.of))
            }),
            rest: self.rest,
        })
    }
}
