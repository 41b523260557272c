//! MQTT driver: runs a worker's share of the clients, which connect, subscribe, and publish by the
//! schedule. The crate `mqtt` implements the packets.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod client_config;
pub mod counts;
mod outbox;
mod pace;
mod shared;
mod start;
mod start_publishing;

use std::{
    collections::BTreeMap,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex},
};

use engine::{
    driver::Driver,
    run::{DriverContext, DriverMaker},
};
use plan::{Load, mqtt::Mqtt};
use worker::{
    Worker,
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
};

use shared::DriverState;
use start::Together;

/// The settings that all workers share.
#[derive(Debug, Clone)]
pub struct DriverConfig {
    /// What the clients do.
    pub work: Arc<Mqtt>,
    /// Whether publishers send as soon as the session allows it, as in a closed model.
    pub flat_out: bool,
    /// Load of each group that has its own load. Empty if the plan's load applies to all groups.
    pub own: Vec<Option<Load>>,
    /// Seed for templates.
    pub seed: u64,
    /// Run identifier for message headers.
    pub run: u32,
    /// Maximum total number of messages of publishers without a pace.
    pub limit: Option<u64>,
    /// Receives results by client at the end, if set.
    pub clients: Option<PerClient>,
}

/// Results by client number.
pub type PerClient = Arc<Mutex<BTreeMap<u32, Sums>>>;

/// Results of a client's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// Number of messages due.
    pub due: u64,
    /// Number of messages that were completely written.
    pub sent: u64,
    /// Number of confirmed messages.
    pub confirmed: u64,
}

/// Returns the function that creates a driver for each worker.
#[must_use]
pub fn maker(settings: DriverConfig) -> DriverMaker {
    let together = Arc::new(Together::default());
    Arc::new(move |context| {
        Box::new(MqttDriver {
            settings: settings.clone(),
            together: Arc::clone(&together),
            context,
        })
    })
}

struct MqttDriver {
    settings: DriverConfig,
    together: Arc<Together>,
    context: DriverContext,
}

/// Time after the load within which messages must be confirmed.
const GRACE_NS: u64 = 1_000_000_000;
const ALONE_NS: u64 = 2_500_000_000;
const PROGRESS_NS: u64 = 250_000_000;

impl Driver for MqttDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let shared = match DriverState::new(self.settings, self.together, self.context, &worker)
            {
                Ok(shared) => Rc::new(shared),
                Err(line) => return worker.remark(line),
            };
            for client in &shared.clients {
                shared::client::start(&shared, client);
            }
            start_publishing::publishing(&shared).await;
            let paces = pace::all(&shared).into_iter();
            let paces: Vec<_> = paces
                .map(|pace| tokio::task::spawn_local(pace.run(Rc::clone(&shared))))
                .collect();
            load(&shared).await;
            for pace in paces {
                let _ = pace.await;
            }
            drain(&shared).await;
            shared.close();
            end(&shared).await;
            shared.report(worker.clock.now());
        })
    }
}

async fn load(shared: &DriverState) {
    let worker = &shared.worker;
    let never = Limit::default();
    loop {
        let now = worker.clock.now();
        shared.tell_progress(now);
        let until = shared.until_ns.get();
        if worker.apply_stop(now) > Urgency::None || now >= until || shared.is_limit_reached() {
            break;
        }
        let _ = worker.sleep_until(until.min(now + TICK_NS), &never).await;
    }
}

async fn drain(shared: &DriverState) {
    let worker = &shared.worker;
    let never = Limit::default();
    let begun = worker.clock.now();
    shared.stop_publishing();
    let most = begun.saturating_add(worker.common.drain_ns.unwrap_or(u64::MAX));
    let mut is_judged = false;
    let mut judge = |shared: &DriverState| {
        if !std::mem::replace(&mut is_judged, true) {
            shared.counts.unconfirmed.set(shared.backlog());
            shared.counts.in_time.set(shared.read());
        }
    };
    loop {
        let now = worker.clock.now();
        shared.tell_progress(now);
        let has_answers = shared.backlog() == 0 && !shared.waits_for_answers();
        if has_answers || now >= begun + GRACE_NS {
            judge(shared);
        }
        // All clients were refused, and no outstanding response can change that.
        let is_alone = shared.counts.connected.get() == 0
            && !shared.waits_for_answers()
            && now >= begun + ALONE_NS;
        let has_all = is_alone || has_answers && shared.has_all();
        if has_all || now >= most || worker.apply_stop(now) == Urgency::Abort {
            break;
        }
        let _ = worker.sleep_until(now + TICK_NS / 2, &never).await;
    }
    judge(shared);
}

async fn end(shared: &DriverState) {
    let worker = &shared.worker;
    let never = Limit::default();
    let most = worker.clock.now() + GRACE_NS / 4;
    while shared.alive.get() > 0 {
        let now = worker.clock.now();
        if now >= most || worker.apply_stop(now) == Urgency::Abort {
            worker.abort();
        }
        let _ = worker.sleep_until(now + TICK_NS / 10, &never).await;
    }
}
