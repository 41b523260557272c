//! What all clients of a worker share: labels, ledger, who is to get whose messages. No client's state.

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::PoisonError,
};

use codec::Origin;
use engine::{net::connect::Connector, run::Given, worker::Worker};
use measure::{
    LabelId, Sample,
    accumulator::Event,
    label::Group,
    sample::{Ended, Intended},
};
use mqtt::{Qos, Stamp, Version, sequence::Arrival, sequence::Sequence, topic};
use plan::{
    Schedule, Share,
    beside::Publications,
    mqtt::{Arrival as ArrivalOf, CONNECT, DELIVERY, Mqtt, PUBLISH, SUBSCRIBE},
    work::DEFAULT,
};

use crate::{
    PerClient, Settings, Sums,
    client::Client,
    counts::{Counts, add},
    made,
};

/// The labels of what is asked and answered, and of what stands aside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OurLabels {
    pub connect: LabelId,
    pub subscribe: LabelId,
    pub delivery: LabelId,
    /// By quality of service.
    publish: [LabelId; 3],
    /// What an arrival is counted as, if it is one of the load.
    arrival: Option<LabelId>,
}

impl OurLabels {
    fn of(worker: &Worker, arrivals: ArrivalOf) -> OurLabels {
        let label = |name| worker.label(Group::Mqtt, "", name);
        OurLabels {
            connect: label(CONNECT),
            subscribe: label(SUBSCRIBE),
            publish: PUBLISH.map(label),
            delivery: worker.label(Group::Custom, "", DELIVERY),
            arrival: (arrivals != ArrivalOf::Elsewhere)
                .then(|| worker.label(Group::Iteration, "", DEFAULT)),
        }
    }

    pub fn publish(&self, qos: Qos) -> LabelId {
        self.publish[usize::from(qos.level())]
    }
}

pub(crate) struct Shared {
    pub worker: Rc<Worker>,
    pub work: std::sync::Arc<Mqtt>,
    pub version: Version,
    pub schedule: Schedule,
    pub connector: Connector,
    pub origin: Origin,
    pub labels: OurLabels,
    pub counts: Counts,
    pub clients: Vec<Rc<Client>>,
    pub flat_out: bool,
    /// When each group publishes, where that is not the load's business.
    pub own: Vec<Option<Publications>>,
    pub run: u32,
    /// Clients that have not ended.
    pub alive: Cell<u64>,
    per_client: Option<PerClient>,
    /// The end of the load.
    pub until_ns: u64,
    /// Nothing is published any more.
    pub is_over: Cell<bool>,
    pub last_delivery: Cell<u64>,
    /// By receiver and publisher; receivers of a shared subscription are one.
    sequences: RefCell<HashMap<(u32, u32), Sequence>>,
    /// The number of a shared subscription's receivers together.
    shares: HashMap<String, u32>,
    /// Filters of all clients of the run that get messages, each with its receiver.
    receivers: Vec<(u32, String)>,
}

/// Receivers from this number on are shared subscriptions.
const SHARES: u32 = 1 << 31;

impl Shared {
    pub fn new(settings: Settings, given: Given, worker: &Rc<Worker>) -> Result<Shared, String> {
        let Settings {
            work,
            flat_out,
            own,
            seed,
            run,
            clients: per_client,
        } = settings;
        let share = worker.share();
        let made = made::clients(&work, seed, |number| share.has(number))?;
        let client = given.client;
        let connector = Connector::new(
            worker.clock.clone(),
            &client.http,
            client.tls,
            client.sources,
        );
        let mut shares = HashMap::new();
        let mut receivers = Vec::new();
        for (global, filter) in made::filters_of_all(&work, seed) {
            let (group, plain) = topic::shared(&filter);
            let receiver = match group {
                None => global,
                Some(_) => {
                    let next = SHARES + shares.len() as u32;
                    *shares.entry(filter.clone()).or_insert(next)
                }
            };
            let known = (receiver, plain.to_owned());
            if group.is_none() || !receivers.contains(&known) {
                receivers.push(known);
            }
        }
        Ok(Shared {
            labels: OurLabels::of(worker, work.arrivals),
            version: made::version(&work),
            origin: Origin {
                tls: work.tls,
                host: work.host.clone(),
                port: work.port,
            },
            until_ns: given.schedule.end_ns(),
            connector,
            counts: Counts::default(),
            clients: made
                .into_iter()
                .map(|made| Rc::new(Client::new(made)))
                .collect(),
            flat_out,
            own: own
                .iter()
                .map(|load| {
                    let (ready_ns, end_ns) = (work.ready_ns(), given.schedule.end_ns());
                    Some(Publications::of(load.as_ref()?, seed, ready_ns, end_ns))
                })
                .collect(),
            schedule: given.schedule,
            run,
            alive: Cell::new(0),
            per_client,
            is_over: Cell::new(false),
            last_delivery: Cell::new(0),
            sequences: RefCell::default(),
            shares,
            receivers,
            worker: Rc::clone(worker),
            work,
        })
    }

    /// Whether a connection is an arrival of the load.
    pub fn counts_connections(&self) -> bool {
        self.work.arrivals == ArrivalOf::Connection
    }

    /// Whether the arrivals of the load are other work's.
    pub fn is_beside(&self) -> bool {
        self.work.arrivals == ArrivalOf::Elsewhere
    }

    /// The receiver that a client's subscriptions make it, if they are shared.
    pub fn receiver(&self, client: &Client) -> u32 {
        let mut shares = client.made.filters.iter();
        let share = shares.find_map(|(filter, _)| self.shares.get(filter));
        share.copied().unwrap_or(client.made.global)
    }

    /// A message was delivered.
    pub fn delivered(&self, receiver: u32, payload: &[u8], now: u64) {
        self.last_delivery.set(now);
        let stamp = Stamp::of(payload).filter(|stamp| stamp.run == self.run);
        let Some(stamp) = stamp else {
            add(&self.counts.foreign, 1);
            return;
        };
        let mut sequences = self.sequences.borrow_mut();
        let sequence = sequences.entry((receiver, stamp.publisher)).or_default();
        match sequence.came(stamp.sequence) {
            Arrival::New => add(&self.counts.received, 1),
            Arrival::Late => {
                add(&self.counts.received, 1);
                // Who shares a subscription gets each what falls to it: their order together is nobody's.
                if receiver < SHARES {
                    add(&self.counts.late, 1);
                }
            }
            Arrival::Again => {
                add(&self.counts.again, 1);
                return;
            }
        }
        let intended = Intended::after_previous(stamp.intended_ns, 0);
        let ns = now.saturating_sub(stamp.intended_ns);
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.aside(now, self.labels.delivery, intended, ns);
    }

    /// Puts something that was asked and answered into the ledger.
    pub fn record(&self, sample: &Sample, detail: impl FnOnce() -> String) {
        self.worker.record(sample, detail);
    }

    /// What would be an arrival of the load, if it is this work's, is over.
    pub fn arrived(&self, now: u64, intended: Intended, ended: Ended) {
        if let Some(arrival) = self.labels.arrival {
            let mut recorder = self.worker.recorder.borrow_mut();
            recorder.iteration(now, arrival, intended, ended);
        }
    }

    /// How many messages were due and are not confirmed.
    pub fn behind(&self) -> u64 {
        self.clients.iter().map(|c| c.ledger().open()).sum()
    }

    /// Whether every delivery that follows from what this worker sent has come: of a run of one worker. What others send may still come.
    pub fn has_all(&self) -> bool {
        self.worker.share() == Share::WHOLE && self.counts.received.get() >= self.expected()
    }

    /// How many deliveries follow from what was sent.
    fn expected(&self) -> u64 {
        let publishers = self.clients.iter().filter_map(|client| {
            let outgoing = client.made.outgoing.as_ref()?;
            outgoing.is_stamped.then_some((client, &outgoing.topic))
        });
        publishers
            .map(|(client, topic)| client.ledger().sent * self.copies(topic))
            .sum()
    }

    /// How many receivers get what is published to a topic.
    fn copies(&self, topic: &str) -> u64 {
        let mut receivers: Vec<u32> = self
            .receivers
            .iter()
            .filter(|(_, filter)| topic::matches(filter, topic))
            .map(|(receiver, _)| *receiver)
            .collect();
        receivers.sort_unstable();
        receivers.dedup();
        receivers.len() as u64
    }

    /// The load is over: publishers ask for a last sign of life, behind everything that they have sent.
    pub fn stop_publishing(&self) {
        self.is_over.set(true);
        for client in &self.clients {
            client.last_ping(self);
        }
    }

    /// Every client says goodbye.
    pub fn close(&self) {
        for client in &self.clients {
            client.close(self);
        }
    }

    /// Tells the front door's accumulator what was counted.
    pub fn tell(&self, now: u64) {
        let counts = &self.counts;
        for client in &self.clients {
            let ledger = client.ledger();
            for (count, n) in [
                (&counts.due, ledger.due),
                (&counts.sent, ledger.sent),
                (&counts.resent, ledger.resent),
                (&counts.confirmed, ledger.confirmed),
                (&counts.turned_down, ledger.turned_down),
                (&counts.unknown, ledger.unknown),
                (&counts.unsent, ledger.unsent),
            ] {
                add(count, n);
            }
        }
        counts.expected.set(self.expected());
        if let Some(per_client) = &self.per_client {
            let mut all = per_client.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(self.clients.iter().map(|client| {
                let ledger = client.ledger();
                let sums = Sums {
                    due: ledger.due,
                    sent: ledger.sent,
                    confirmed: ledger.confirmed,
                };
                (client.made.global, sums)
            }));
        }
        let mut recorder = self.worker.recorder.borrow_mut();
        for (name, value) in counts.all() {
            recorder.door(now, &Event::Told { name, value });
        }
    }
}
