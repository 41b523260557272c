//! Compiled loads: the single load of a plan, or each of its workloads.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use plan::{Draw, Load, Plan, Schedule, Share, Workload, seed_of_workload};

/// A load with its schedule and random choices. Times count from the start of the run.
#[derive(Debug, Clone)]
pub struct CompiledLoad {
    /// Planned load.
    pub load: Load,
    /// Schedule of the intended starts.
    pub schedule: Schedule,
    /// Random choice of the scenario of an arrival or iteration.
    pub draw: Draw,
    /// Seed for the random numbers of its users. Every workload numbers its arrivals from 0, so
    /// each needs a different seed.
    pub seed: u64,
    /// Whether started iterations count in the ledger of arrivals. False for users that run
    /// alongside arrivals, because the ledger then covers only the arrivals.
    pub counts_arrivals: bool,
    /// Number of active users of an open load, across all workers. Limited by `max-users`.
    active: Arc<AtomicU64>,
}

impl CompiledLoad {
    /// Compiles the loads of a plan.
    #[must_use]
    pub fn all(plan: &Plan, seed: u64) -> Vec<CompiledLoad> {
        if plan.workloads().is_empty() {
            return vec![CompiledLoad {
                load: plan.load.clone(),
                schedule: plan.schedule(seed),
                draw: plan.draw(seed),
                seed,
                counts_arrivals: true,
                active: Arc::default(),
            }];
        }
        let is_mixed = plan.is_mixed();
        let compile = |(index, workload): (usize, &Workload)| CompiledLoad {
            load: workload.load_on_timeline(),
            schedule: plan.schedule_of_workload(index, seed),
            draw: plan.draw_of_workload(index, seed),
            seed: seed_of_workload(seed, index),
            counts_arrivals: workload.is_open() || !is_mixed,
            active: Arc::default(),
        };
        plan.workloads().iter().enumerate().map(compile).collect()
    }

    /// Returns how many arrivals of a share are due by a time. Returns 0 if the load has users.
    #[must_use]
    pub fn due(&self, share: Share, until_ns: u64) -> u64 {
        self.schedule.due_of_shard(share.index, share.of, until_ns)
    }

    /// Admits a user, unless `cap` users are active. The caller must call [`CompiledLoad::leave`]
    /// after an admission.
    #[must_use]
    pub fn try_admit(&self, cap: Option<u32>) -> bool {
        let Some(cap) = cap else {
            self.active.fetch_add(1, Ordering::Relaxed);
            return true;
        };
        self.active
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |n| {
                (n < u64::from(cap)).then_some(n + 1)
            })
            .is_ok()
    }

    /// Reports that an admitted user has ended.
    pub fn leave(&self) {
        self.active.fetch_sub(1, Ordering::Relaxed);
    }

    /// Returns a process's share of the user limits, for each phase.
    #[must_use]
    pub fn caps(&self, share: Share) -> Vec<Option<u32>> {
        let own = |cap: u32| share.of_first(u64::from(cap)) as u32;
        match &self.load {
            Load::Open { phases, .. } => phases
                .iter()
                .map(|phase| phase.max_users.map(own))
                .collect(),
            _ => Vec::new(),
        }
    }
}
