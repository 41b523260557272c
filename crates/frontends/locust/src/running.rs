//! A running test: a session on its own thread, which a bridge controls.

use std::{
    sync::{Arc, Mutex, PoisonError, mpsc},
    thread::JoinHandle,
};

use bridge::Bridge;
use engine::EngineOptions;
use plan::Load;
use session::{Job, RunObserver, SharedMessageSink, inputs, live, prepare};
use worker::stop::StopHandle;

use crate::{
    conducting::{Handed, job},
    summary::{DRAIN_NS, TestObserver, TestSummary, lines},
    test::LocustTest,
};

#[derive(Debug)]
pub struct RunningTest {
    bridge: Arc<Bridge>,
    thread: JoinHandle<TestSummary>,
    pub has_arrivals: bool,
    pub record: Option<String>,
    pub live_view: Option<String>,
}

impl RunningTest {
    /// Starts a test and returns once requests can be sent.
    pub fn begin(
        test: &LocustTest,
        is_watched: bool,
        sink: &SharedMessageSink,
    ) -> Result<RunningTest, Vec<String>> {
        let refused = |line: String| vec![line];
        let (exports, mut live) = live::options_from_env().map_err(refused)?;
        live.view = live.view.or(is_watched.then_some(0));
        let seed = inputs::seed_from_env().map_err(|line| refused(line.to_owned()))?;
        RunningTest::start(sink, seed, |options| {
            let job = job(test, options)?;
            Ok(Job {
                live,
                exports,
                ..job
            })
        })
    }

    /// Starts a part. If the part's folder is on another machine, records to a local folder.
    pub fn begin_part(
        handed: &str,
        number: u64,
        sink: &SharedMessageSink,
    ) -> Result<RunningTest, Vec<String>> {
        let handed = Handed::read(handed)?;
        if !handed.is_here() {
            return Err(vec![format!(
                "the master stores the record in {}, which is not available here: this worker is on another machine",
                handed.part.run.display()
            )]);
        }
        let seed = handed.part.seed;
        RunningTest::start(sink, seed, |options| {
            Ok(job(&handed.test, options)?.part(handed.part_of(number)))
        })
    }

    fn start(
        sink: &SharedMessageSink,
        seed: u64,
        job: impl FnOnce(EngineOptions) -> Result<Job, Vec<String>>,
    ) -> Result<RunningTest, Vec<String>> {
        let refused = |line: String| vec![line];
        let (bridge, driver) = Bridge::new(1).map_err(|error| refused(error.to_string()))?;
        let bridge = Arc::new(bridge);
        let job = job(EngineOptions {
            workers: Some(1),
            seed,
            drain_ns: Some(DRAIN_NS),
            driver: Some(driver),
            stop: StopHandle::default(),
            ..EngineOptions::default()
        })?;
        let is_part = job.part.is_some();
        let has_arrivals = matches!(job.plan.load, Load::Open { .. });
        let ready = prepare(job, sink).map_err(|cause| lines(&cause.problems))?;
        let live_view = ready.live_view();
        let (began, begun) = mpsc::channel();
        let thread = std::thread::Builder::new()
            .name("session".into())
            .spawn(move || {
                let (reported, began) = (Mutex::default(), Some(began));
                let mut frontend = TestObserver {
                    summary: &reported,
                    began,
                };
                if is_part {
                    if let Err(cause) = ready.run(&mut frontend) {
                        frontend.not_run(&cause);
                    }
                } else {
                    ready.conduct(&mut frontend);
                }
                reported
                    .into_inner()
                    .unwrap_or_else(PoisonError::into_inner)
            })
            .map_err(|error| refused(format!("cannot start a thread for the test: {error}")))?;
        let Ok(record) = begun.recv() else {
            let reported = thread.join().unwrap_or_default();
            return Err(reported.lines);
        };
        Ok(RunningTest {
            bridge,
            thread,
            has_arrivals,
            record,
            live_view,
        })
    }

    #[must_use]
    pub fn bridge(&self) -> &Arc<Bridge> {
        &self.bridge
    }

    #[must_use]
    pub fn end(self) -> TestSummary {
        self.bridge.end();
        self.thread.join().unwrap_or(TestSummary {
            lines: vec!["the engine thread crashed: the record ends at that time".to_owned()],
            failed: true,
            record: self.record,
        })
    }
}
