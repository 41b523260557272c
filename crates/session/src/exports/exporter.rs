//! Passes each interval of a run to the requested exporters. Each exporter has a thread and a
//! bounded queue, so an exporter that blocks or fails never slows down or ends the run.

use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc::{self, Receiver, SyncSender},
    },
    time::Duration,
};

use measure::{Interval, Label};
use record::Run;

use crate::{bounded::Deadline, http_server::lower_priority, messages::SharedMessageSink};

/// Maximum number of intervals that wait for an exporter. Further intervals are dropped and
/// counted.
const QUEUE: usize = 60;
/// Maximum time for all exporters to finish after the load.
const FINISH: Duration = Duration::from_secs(5);
const TOO_SLOW: &str = "the receiver is too slow";

/// Receives the intervals of a run while the run is in progress. The methods run on the exporter's
/// own thread and may block.
pub(crate) trait IntervalExporter: Send {
    /// Returns a line to print before the load.
    fn announcement(&self) -> Option<String> {
        None
    }

    /// Returns a counter that is above 0 if the next interval must include a copy of the run.
    /// `None` if the exporter needs no copies.
    fn waiting(&self) -> Option<Arc<AtomicUsize>> {
        None
    }

    /// Receives a copy of the run before its first interval. Called once.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if nothing can be exported yet.
    fn start(&mut self, run: Run) -> Result<(), String>;

    /// Receives a finished interval. Returns the number of intervals that this call delivered,
    /// because an exporter may collect several before sending them.
    ///
    /// # Errors
    ///
    /// Fails with a one-line error if the collected intervals could not be delivered. They count as
    /// not exported.
    fn interval(&mut self, interval: ExportedInterval) -> Result<u64, String>;

    /// Delivers the remaining intervals after the last one. Returns the number of delivered
    /// intervals. `run` is a copy of the run if the exporter needs copies.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`IntervalExporter::interval`].
    fn finish(&mut self, run: Option<Run>) -> Result<u64, String>;
}

/// A finished interval, as an exporter receives it.
pub(crate) struct ExportedInterval {
    pub interval: Arc<Interval>,
    /// Labels added since the previous exported interval, without secrets.
    pub labels: Vec<Label>,
    /// Copy of the run, if a client is waiting for one.
    pub run: Option<Run>,
}

/// An exporter that is ready before the run, with its name for messages.
pub(crate) struct OpenExporter {
    pub name: String,
    pub exporter: Box<dyn IntervalExporter>,
}

/// The exporters of a run in progress.
#[derive(Default)]
pub(crate) struct Exporters(Vec<ExporterThread>);

struct ExporterThread {
    name: String,
    queue: SyncSender<ExportedInterval>,
    waiting: Option<Arc<AtomicUsize>>,
    known_labels: usize,
    intervals: u64,
    progress: Arc<Progress>,
    /// Disconnects when the thread has finished.
    finished: Receiver<()>,
}

#[derive(Default)]
struct Progress {
    delivery: Mutex<Delivery>,
    last_run: Mutex<Option<Run>>,
}

#[derive(Default)]
struct Delivery {
    delivered: u64,
    problem: Option<String>,
}

impl Progress {
    fn delivery(&self) -> MutexGuard<'_, Delivery> {
        self.delivery.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn last_run(&self) -> MutexGuard<'_, Option<Run>> {
        self.last_run.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Exporters {
    /// Starts a thread for each exporter.
    pub fn start(exporters: Vec<OpenExporter>, run: &Run, sink: &SharedMessageSink) -> Exporters {
        let started = exporters.into_iter().filter_map(|open| {
            if let Some(line) = open.exporter.announcement() {
                sink.say(&line);
            }
            let name = open.name.clone();
            let thread = ExporterThread::start(open, run, sink);
            thread
                .map_err(|reason| {
                    sink.warning(&format_args!("{name}: cannot start a thread: {reason}"));
                })
                .ok()
        });
        Exporters(started.collect())
    }

    /// Passes an interval to all exporters, without waiting for them.
    pub fn interval(&mut self, interval: &Arc<Interval>, run: &Run) {
        for thread in &mut self.0 {
            thread.interval(interval, run);
        }
    }

    /// Lets all exporters finish. Returns a note for each exporter that did not deliver every
    /// interval.
    pub fn finish(self, run: &Run) -> Vec<String> {
        let deadline = Deadline::default();
        deadline.set(FINISH);
        let mut finishing = Vec::new();
        for thread in self.0 {
            if thread.waiting.is_some() {
                *thread.progress.last_run() = Some(run.clone());
            }
            drop(thread.queue);
            finishing.push((
                thread.name,
                thread.intervals,
                thread.progress,
                thread.finished,
            ));
        }
        let notes = finishing
            .into_iter()
            .filter_map(|(name, all, progress, finished)| {
                let left = deadline.left().unwrap_or_default();
                let is_late = matches!(
                    finished.recv_timeout(left),
                    Err(mpsc::RecvTimeoutError::Timeout)
                );
                let delivery = progress.delivery();
                let missing = all - delivery.delivered.min(all);
                let reason = if is_late {
                    format!("it did not finish within {} s", FINISH.as_secs())
                } else {
                    delivery.problem.clone().unwrap_or_default()
                };
                (missing > 0).then(|| {
                    format!(
                        "{name}: {missing} of {all} intervals were not exported in time: {reason}"
                    )
                })
            });
        notes.collect()
    }
}

impl ExporterThread {
    fn start(
        open: OpenExporter,
        run: &Run,
        sink: &SharedMessageSink,
    ) -> io::Result<ExporterThread> {
        let (queue, intervals) = mpsc::sync_channel(QUEUE);
        let (working, finished) = mpsc::channel();
        let progress = Arc::<Progress>::default();
        let (name, waiting) = (open.name.clone(), open.exporter.waiting());
        let (run_copy, own_progress, sink) = (run.clone(), Arc::clone(&progress), sink.clone());
        let thread = std::thread::Builder::new().name("export".into());
        thread.spawn(move || {
            lower_priority();
            export(open, run_copy, &intervals, &own_progress, &sink);
            drop(working);
        })?;
        Ok(ExporterThread {
            name,
            queue,
            waiting,
            known_labels: run.labels.len(),
            intervals: 0,
            progress,
            finished,
        })
    }

    fn interval(&mut self, interval: &Arc<Interval>, run: &Run) {
        self.intervals += 1;
        let waiting = self.waiting.as_ref();
        let has_clients = waiting.is_some_and(|waiting| waiting.load(Ordering::Relaxed) > 0);
        let exported = ExportedInterval {
            interval: Arc::clone(interval),
            labels: run.labels[self.known_labels..].to_vec(),
            run: has_clients.then(|| run.clone()),
        };
        match self.queue.try_send(exported) {
            Ok(()) => self.known_labels = run.labels.len(),
            Err(_) => {
                let problem = &mut self.progress.delivery().problem;
                problem.get_or_insert_with(|| TOO_SLOW.to_owned());
            }
        }
    }
}

fn export(
    open: OpenExporter,
    run: Run,
    intervals: &Receiver<ExportedInterval>,
    progress: &Progress,
    sink: &SharedMessageSink,
) {
    let OpenExporter { name, mut exporter } = open;
    let account = |delivered: Result<u64, String>| match delivered {
        Ok(intervals) => progress.delivery().delivered += intervals,
        Err(reason) => {
            // Do not hold the lock while the sink prints.
            let earlier = progress.delivery().problem.replace(reason.clone());
            if earlier.is_none_or(|earlier| earlier == TOO_SLOW) {
                sink.warning(&format_args!("{name}: {reason}; the run continues"));
            }
        }
    };
    account(exporter.start(run).map(|()| 0));
    for interval in intervals {
        account(exporter.interval(interval));
    }
    let last_run = progress.last_run().take();
    account(exporter.finish(last_run));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::NullSink;

    struct Stub {
        gate: Option<Receiver<()>>,
        fails_at: Vec<u64>,
        labels: Arc<Mutex<Vec<String>>>,
    }

    impl IntervalExporter for Stub {
        fn start(&mut self, _: Run) -> Result<(), String> {
            Ok(())
        }

        fn interval(&mut self, exported: ExportedInterval) -> Result<u64, String> {
            if let Some(gate) = &self.gate {
                let _ = gate.recv();
            }
            let texts = exported.labels.into_iter().map(|label| label.text);
            self.labels.lock().unwrap().extend(texts);
            if self.fails_at.contains(&exported.interval.index) {
                return Err("connection refused".to_owned());
            }
            Ok(1)
        }

        fn finish(&mut self, _: Option<Run>) -> Result<u64, String> {
            Ok(0)
        }
    }

    fn run() -> Run {
        let text = "loadline: 1\ntarget: http://127.0.0.1:1\nload: {users: 1, duration: 1s}\n\
                    scenarios: [{name: a, steps: [{get: /}]}]";
        let plan = formats::native::translate_text("plan.yml", text).unwrap();
        let context = record::RunContext {
            version: "1".to_owned(),
            command: Vec::new(),
            frontend: "run".to_owned(),
            workers: 1,
            seed: 1,
            wall_ns: 0,
            monotonic_ns: 0,
            run_id: String::new(),
            share: None,
            node: None,
            processes: None,
        };
        Run::planned(record::Manifest::new(&plan, context), Vec::new())
    }

    fn start(stub: Stub, run: &Run) -> Exporters {
        let open = OpenExporter {
            name: "stub".to_owned(),
            exporter: Box::new(stub),
        };
        let sink: SharedMessageSink = Arc::new(NullSink);
        Exporters::start(vec![open], run, &sink)
    }

    fn interval(index: u64) -> Arc<Interval> {
        Arc::new(Interval {
            index,
            ..Interval::default()
        })
    }

    #[test]
    fn failed_intervals_are_counted_with_their_reason() {
        let run = run();
        let stub = Stub {
            gate: None,
            fails_at: vec![1, 2],
            labels: Arc::default(),
        };
        let mut exporters = start(stub, &run);
        (0..5).for_each(|index| exporters.interval(&interval(index), &run));
        let note = "stub: 2 of 5 intervals were not exported in time: connection refused";
        assert_eq!(exporters.finish(&run), [note]);
    }

    #[test]
    fn blocked_exporter_drops_intervals_but_no_label() {
        let mut run = run();
        let (open, gate) = mpsc::channel();
        let labels = Arc::<Mutex<Vec<String>>>::default();
        let stub = Stub {
            gate: Some(gate),
            fails_at: Vec::new(),
            labels: Arc::clone(&labels),
        };
        let mut exporters = start(stub, &run);
        let all = QUEUE as u64 * 3;
        for index in 0..all {
            let mut known = measure::Labels::default();
            (0..index).for_each(|n| {
                known.id(measure::label::LabelGroup::Iteration, "", &n.to_string());
            });
            run.labels = known.all().to_vec();
            exporters.interval(&interval(index), &run);
        }
        // Every interval that fits into the queue passes. The last interval then contains all
        // labels.
        drop(open);
        while exporters.0[0].known_labels < run.labels.len() {
            exporters.interval(&interval(all), &run);
        }
        let sent = exporters.0[0].intervals;
        let notes = exporters.finish(&run);
        assert_eq!(notes.len(), 1);
        let dropped = sent - QUEUE as u64;
        let count = notes[0].strip_prefix("stub: ").unwrap();
        let count: u64 = count.split(' ').next().unwrap().parse().unwrap();
        assert!((1..=dropped).contains(&count), "{notes:?}");
        assert!(notes[0].ends_with(TOO_SLOW), "{notes:?}");
        let texts: Vec<String> = run.labels.iter().map(|label| label.text.clone()).collect();
        assert_eq!(*labels.lock().unwrap(), texts);
    }
}
