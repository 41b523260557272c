//! DO it, with MQTT: a worker's share of clients connects, subscribes and publishes when the schedule says so, and counts what came of
//! it. What a packet means is `mqtt`'s, how figures are told a front door's.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod client;
mod client_config;
pub mod counts;
mod outbox;
mod pace;
mod shared;
mod start;

use std::{
    collections::BTreeMap,
    pin::Pin,
    rc::Rc,
    sync::{Arc, Mutex},
};

use engine::{
    Urgency,
    deadlines::{Limit, TICK_NS},
    driver::Driver,
    run::{DriverContext, DriverMaker},
    worker::Worker,
};
use plan::{Load, mqtt::Mqtt};

use shared::DriverState;
use start::Together;

/// What the drivers of all workers have in common.
#[derive(Debug, Clone)]
pub struct DriverConfig {
    /// What is to be done.
    pub work: Arc<Mqtt>,
    /// Publishers wait for nothing but room: the load is closed.
    pub flat_out: bool,
    /// When each group publishes, where that is not the load's business; empty: it is.
    pub own: Vec<Option<Load>>,
    /// The seed of what templates draw.
    pub seed: u64,
    /// What stamps call the run.
    pub run: u32,
    /// Publishers without a pace stop after this many messages, all together.
    pub limit: Option<u64>,
    /// Where what became of each client's messages is told at the end, if somebody wants to know.
    pub clients: Option<PerClient>,
}

/// What became of each client's messages, by its number.
pub type PerClient = Arc<Mutex<BTreeMap<u32, Sums>>>;

/// What became of a client's messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sums {
    /// So many were due.
    pub due: u64,
    /// Of so many the socket has taken every byte.
    pub sent: u64,
    /// So many the server has certainly read.
    pub confirmed: u64,
}

/// Makes the driver of each worker.
#[must_use]
pub fn maker(settings: DriverConfig) -> DriverMaker {
    let together = Arc::new(Together::default());
    Arc::new(move |given| {
        Box::new(MqttDriver {
            settings: settings.clone(),
            together: Arc::clone(&together),
            given,
        })
    })
}

struct MqttDriver {
    settings: DriverConfig,
    together: Arc<Together>,
    given: DriverContext,
}

/// What has not been answered by then, behind the end of the load, was not sustained.
const GRACE_NS: u64 = 1_000_000_000;
/// Clients that were all turned away have this long to be let in after all.
const ALONE_NS: u64 = 2_500_000_000;
/// From one report of what was counted so far to the next.
const PROGRESS_NS: u64 = 250_000_000;

impl Driver for MqttDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let shared = match DriverState::new(self.settings, self.together, self.given, &worker) {
                Ok(shared) => Rc::new(shared),
                Err(line) => return worker.remark(line),
            };
            for client in &shared.clients {
                client::start(&shared, client);
            }
            start::publishing(&shared).await;
            let paces = pace::all(&shared).into_iter();
            let paces: Vec<_> = paces
                .map(|pace| tokio::task::spawn_local(pace.run(Rc::clone(&shared))))
                .collect();
            load(&shared).await;
            for pace in paces {
                // It ends by itself at the end of the load.
                let _ = pace.await;
            }
            drain(&shared).await;
            shared.close();
            end(&shared).await;
            shared.report(worker.clock.now());
        })
    }
}

/// Waits for the end of the load.
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

/// Waits for answers and deliveries that are still to come, as long as the run allows.
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
        // Nobody is let in, and nobody waits for an answer that could change that.
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

/// Waits until every client has hung up.
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
