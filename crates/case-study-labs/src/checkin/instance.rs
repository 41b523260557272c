//! An instance with cores and a thread pool with a queue. A request holds its thread until the
//! response is sent.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};

use crate::cores::Cores;
use lab::clock;
use lab::fifo::Fifo;
use lab::timer::Timer;

pub(super) struct Instance {
    pub(super) index: usize,
    pub(super) started: String,
    pub(super) max_threads: u64,
    threads: Semaphore,
    cores: Mutex<Cores>,
    lock: Mutex<Fifo>,
    locked_out: AtomicU64,
    timer: Arc<Timer>,
    waiting: AtomicU64,
    busy: AtomicU64,
    taken: AtomicU64,
    waited_ns: AtomicU64,
    longest_ns: AtomicU64,
    elsewhere: AtomicU64,
    calls: Box<[Calls]>,
    cpu_ppm: AtomicU64,
}

#[derive(Default)]
pub(super) struct Calls {
    pub(super) in_flight: AtomicU64,
    pub(super) ended: AtomicU64,
    pub(super) failed: AtomicU64,
    pub(super) ns: AtomicU64,
}

pub(super) struct InstanceStats {
    pub(super) backlog: u64,
    pub(super) busy: u64,
    pub(super) taken: u64,
    pub(super) waited_ns: u64,
    pub(super) longest_ns: u64,
    pub(super) elsewhere: u64,
    pub(super) locked_out: u64,
    pub(super) cpu: f64,
    pub(super) cpu_ns: u64,
    pub(super) cores: u32,
}

impl InstanceStats {
    pub(super) fn free(&self, max_threads: u64) -> u64 {
        max_threads.saturating_sub(self.busy)
    }
}

struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(count: &'a AtomicU64) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

pub(super) struct Thread<'a> {
    instance: &'a Instance,
    _busy: Counted<'a>,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Instance {
    pub(super) fn new(
        index: usize,
        threads: u64,
        cores: Cores,
        downstreams: usize,
        timer: Arc<Timer>,
    ) -> Self {
        Self {
            index,
            started: crate::wall_clock::instant_utc(),
            max_threads: threads,
            threads: Semaphore::new(threads as usize),
            cores: Mutex::new(cores),
            lock: Mutex::new(Fifo::new(1)),
            locked_out: AtomicU64::new(0),
            timer,
            waiting: AtomicU64::new(0),
            busy: AtomicU64::new(0),
            taken: AtomicU64::new(0),
            waited_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            calls: (0..downstreams).map(|_| Calls::default()).collect(),
            cpu_ppm: AtomicU64::new(0),
        }
    }

    pub(super) async fn thread(&self) -> Thread<'_> {
        let waiting = Counted::new(&self.waiting);
        let came = clock::monotonic_ns();
        // Threads are assigned first come, first served. The semaphore is never closed.
        let permit = self.threads.acquire().await.ok();
        let moment = self.cores().behind_pause(clock::monotonic_ns());
        self.timer.until(moment).await;
        drop(waiting);
        let waited = clock::monotonic_ns().saturating_sub(came);
        self.waited_ns.fetch_add(waited, Relaxed);
        self.longest_ns.fetch_max(waited, Relaxed);
        self.taken.fetch_add(1, Relaxed);
        Thread {
            instance: self,
            _busy: Counted::new(&self.busy),
            _permit: permit,
        }
    }

    fn cores(&self) -> MutexGuard<'_, Cores> {
        self.cores.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn calls(&self) -> &[Calls] {
        &self.calls
    }

    pub(super) fn cpu_ns(&self) -> u64 {
        self.cores().busy_ns(clock::monotonic_ns())
    }

    pub(super) fn share(&self, busy_ns: u64, of_ns: u64) -> f64 {
        busy_ns as f64 / (of_ns.max(1) as f64 * f64::from(self.cores().count))
    }

    pub(super) fn tell_cpu(&self, share: f64) {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a small share, in millionths"
        )]
        self.cpu_ppm.store((share * 1e6).round() as u64, Relaxed);
    }

    pub(super) fn render(&self) -> InstanceStats {
        let now = clock::monotonic_ns();
        let mut cores = self.cores();
        InstanceStats {
            backlog: self.waiting.load(Relaxed),
            busy: self.busy.load(Relaxed),
            taken: self.taken.load(Relaxed),
            waited_ns: self.waited_ns.load(Relaxed),
            longest_ns: self.longest_ns.load(Relaxed),
            elsewhere: self.elsewhere.load(Relaxed),
            locked_out: self.locked_out.load(Relaxed),
            cpu: self.cpu_ppm.load(Relaxed) as f64 / 1e6,
            cpu_ns: cores.busy_ns(now),
            cores: cores.count,
        }
    }
}

impl Thread<'_> {
    pub(super) async fn compute(&self, ns: u64) {
        let done = self.instance.cores().compute(clock::monotonic_ns(), ns);
        self.instance.timer.until(done).await;
    }

    pub(super) async fn locked(&self, ns: u64) {
        let now = clock::monotonic_ns();
        let lock = self.instance.lock.lock();
        let done = lock.unwrap_or_else(PoisonError::into_inner).admit(now, ns);
        let waiting = Counted::new(&self.instance.locked_out);
        self.instance.timer.until(done - ns).await;
        drop(waiting);
        self.instance.timer.until(done).await;
    }

    pub(super) async fn elsewhere(&self, ns: u64) {
        let _counted = Counted::new(&self.instance.elsewhere);
        let due = clock::monotonic_ns().saturating_add(ns);
        self.instance.timer.until(due).await;
    }

    pub(super) async fn call<T, E>(
        &self,
        downstream: usize,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, E> {
        let Some(calls) = self.instance.calls.get(downstream) else {
            return answer.await;
        };
        let in_flight = Counted::new(&calls.in_flight);
        let begun = clock::monotonic_ns();
        let answer = answer.await;
        drop(in_flight);
        let took = clock::monotonic_ns().saturating_sub(begun);
        calls.ns.fetch_add(took, Relaxed);
        calls.ended.fetch_add(1, Relaxed);
        calls.failed.fetch_add(u64::from(answer.is_err()), Relaxed);
        answer
    }
}
