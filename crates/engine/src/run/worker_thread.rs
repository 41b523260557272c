//! The thread of a worker.

use std::{rc::Rc, sync::Arc};

use measure::{Recorder, cuts::Cuts};

use super::{AccumulatorMaker, DriverContext, DriverMaker, EngineOptions, RunError};
use worker::{
    Pacer, Worker, WorkerContext, WorkerPosition, clock::Clock, memory::Memory, watchdog::Pulse,
};

/// The data with which a worker starts on its thread.
pub(super) struct WorkerSeed {
    pub(super) index: usize,
    pub(super) position: WorkerPosition,
    pub(super) context: DriverContext,
    pub(super) options: EngineOptions,
    pub(super) common: WorkerContext,
    pub(super) driver: DriverMaker,
    pub(super) frontend: Option<AccumulatorMaker>,
}

impl WorkerSeed {
    /// Runs the worker until it ends.
    pub(super) fn run(self) -> Result<(), RunError> {
        let stop = self.common.stop.clone();
        let result = self.run_worker();
        if result.is_err() {
            // The other workers may wait for this one.
            stop.fail("a worker could not be set up");
        }
        result
    }

    fn run_worker(self) -> Result<(), RunError> {
        let pulse = Arc::clone(&self.common.pulse);
        pulse.begin();
        let _end = EndOfPulse(pulse);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build_local(tokio::runtime::LocalOptions::default())
            .map_err(|e| RunError::Setup(format!("cannot create a runtime for a worker: {e}")))?;
        let zero = self.common.zero;
        let clock = Clock::system(zero);
        let schedule = &self.context.schedule;
        let cuts = Cuts::new(zero.wall_ns, schedule.phase_ends())
            .with_arrivals_at_ends(schedule.has_arrivals_at_ends());
        let frontend = self.frontend.as_ref().map(|make| make());
        let recorder = Recorder::new(self.index, cuts, self.context.labels.all().len(), frontend);
        let share = self
            .options
            .memory
            .map(|all| all / self.position.workers as u64);
        let worker = Rc::new(Worker::new(
            self.position,
            self.options.seed,
            clock,
            recorder,
            Memory::new(share.unwrap_or(u64::MAX)),
            self.common,
        ));
        let driver = (self.driver)(self.context);
        let result = runtime.block_on(async {
            let pacer = Pacer::new(worker.common.pacing_slack_ns)?;
            pacer.start(&worker).await?;
            let work = tokio::task::spawn_local(driver.run(Rc::clone(&worker)));
            pacer.run(&worker, || work.is_finished()).await?;
            match work.await {
                Err(e) if e.is_panic() => std::panic::resume_unwind(e.into_panic()),
                _ => Ok(()),
            }
        });
        worker.finish();
        // Do not wait for a pending name lookup, which may block its thread for a long time.
        runtime.shutdown_background();
        result.map_err(|e: std::io::Error| RunError::Setup(format!("the kernel's timer: {e}")))
    }
}

struct EndOfPulse(Arc<Pulse>);

impl Drop for EndOfPulse {
    fn drop(&mut self) {
        self.0.end();
    }
}
