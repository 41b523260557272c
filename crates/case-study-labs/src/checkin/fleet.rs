//! All instances with their load balancer, background work, CPU figures and autoscaling.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock};

use super::downstream::drawn;
use super::instance::Instance;
use super::settings::{Autoscale, CheckInConfig};
use crate::cores::Cores;
use lab::clock;
use lab::draw::Draws;
use lab::random::mix;
use lab::timer::Timer;

const ELSEWHERE_NS: u64 = 1_100_000_000;
const ELSEWHERE_SPREAD: f64 = 0.3;
const SECOND: u64 = 1_000_000_000;

pub(super) struct Fleet {
    instances: RwLock<Vec<Arc<Instance>>>,
    next: AtomicUsize,
    settings: CheckInConfig,
    downstreams: usize,
    timer: Arc<Timer>,
    seed: u64,
}

impl Fleet {
    pub(super) fn new(
        settings: CheckInConfig,
        downstreams: usize,
        timer: Arc<Timer>,
        seed: u64,
    ) -> Arc<Self> {
        let count = settings.instances;
        let fleet = Arc::new(Self {
            instances: RwLock::default(),
            next: AtomicUsize::new(0),
            settings,
            downstreams,
            timer,
            seed,
        });
        (0..count).for_each(|_| drop(fleet.add()));
        fleet
    }

    fn add(&self) -> Arc<Instance> {
        let mut all = self
            .instances
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let index = all.len();
        let draws = Draws::new(mix(self.seed ^ index as u64));
        let CheckInConfig { cores, pauses, .. } = self.settings;
        let cores = Cores::new(cores, pauses, draws, clock::monotonic_ns());
        let threads = self.settings.threads;
        let timer = Arc::clone(&self.timer);
        let instance = Arc::new(Instance::new(
            index,
            threads,
            cores,
            self.downstreams,
            timer,
        ));
        all.push(Arc::clone(&instance));
        instance
    }

    pub(super) fn all(&self) -> Vec<Arc<Instance>> {
        let all = self.instances.read();
        all.unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn next(&self) -> Arc<Instance> {
        let all = self.instances.read();
        let all = all.unwrap_or_else(PoisonError::into_inner);
        let turn = self.next.fetch_add(1, Relaxed) % all.len();
        Arc::clone(&all[turn])
    }

    pub(super) async fn meanwhile(self: Arc<Self>) {
        for instance in self.all() {
            self.keep_busy(instance);
        }
        let scaling = Arc::clone(&self);
        if let Some(rule) = self.settings.autoscale {
            tokio::spawn(async move { scaling.scale(rule).await });
        }
        let mut last = Busy::default();
        loop {
            self.timer.until(last.moment_ns + SECOND).await;
            last = last.then(&self.all(), Instance::tell_cpu);
        }
    }

    fn keep_busy(self: &Arc<Self>, instance: Arc<Instance>) {
        let share = self.settings.background;
        if share == 0.0 {
            return;
        }
        let fleet = Arc::clone(self);
        tokio::spawn(async move {
            let seed = mix(mix(fleet.seed).wrapping_add(instance.index as u64));
            let (gaps, holds) = (Draws::new(seed), Draws::new(mix(seed)));
            let threads = share * instance.max_threads as f64;
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "durations are a few seconds long"
            )]
            let (gap_ns, cpu_ns) = (
                (ELSEWHERE_NS as f64 / threads) as u64,
                (ELSEWHERE_NS as f64 * share * f64::from(fleet.settings.cores) / threads) as u64,
            );
            let mut due = clock::monotonic_ns();
            for n in 0.. {
                due += gaps.exponential(gap_ns, n);
                fleet.timer.until(due).await;
                let instance = Arc::clone(&instance);
                let held_ns = drawn(holds, n, ELSEWHERE_NS, ELSEWHERE_SPREAD);
                tokio::spawn(async move {
                    let thread = instance.thread().await;
                    thread.compute(cpu_ns).await;
                    thread.elsewhere(held_ns.saturating_sub(cpu_ns)).await;
                });
            }
        });
    }

    async fn scale(self: Arc<Self>, rule: Autoscale) {
        let every_ns = (rule.every_ns / self.settings.hurry).max(1);
        let mut in_a_row: Vec<u32> = Vec::new();
        let mut last = Busy::default();
        loop {
            self.timer.until(last.moment_ns + every_ns).await;
            let all = self.all();
            in_a_row.resize(all.len(), 0);
            last = last.then(&all, |instance, share| {
                let count = &mut in_a_row[instance.index];
                *count = if share > rule.above { *count + 1 } else { 0 };
            });
            if in_a_row.iter().any(|&count| count >= rule.times) && all.len() < rule.up_to {
                self.keep_busy(self.add());
                in_a_row.fill(0);
            }
        }
    }
}

struct Busy {
    moment_ns: u64,
    busy_ns: Vec<u64>,
}

impl Default for Busy {
    fn default() -> Self {
        Self {
            moment_ns: clock::monotonic_ns(),
            busy_ns: Vec::new(),
        }
    }
}

impl Busy {
    fn then(self, all: &[Arc<Instance>], mut emit: impl FnMut(&Instance, f64)) -> Self {
        let moment_ns = clock::monotonic_ns();
        let busy_ns: Vec<u64> = all.iter().map(|instance| instance.cpu_ns()).collect();
        for (instance, &busy) in all.iter().zip(&busy_ns) {
            let before = self.busy_ns.get(instance.index).copied().unwrap_or(0);
            let passed = moment_ns - self.moment_ns;
            emit(
                instance,
                instance.share(busy.saturating_sub(before), passed),
            );
        }
        Self { moment_ns, busy_ns }
    }
}
