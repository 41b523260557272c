//! State that all clients of a worker share: labels, ledger, expected receivers.

pub(crate) mod client;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::PoisonError,
};

use codec::Origin;
use engine::run::DriverContext;
use measure::{
    LabelId, Sample,
    accumulator::Event,
    label::LabelGroup,
    sample::{Intended, RequestOutcome},
    sequence::{Arrival, Sequence},
};
use mqtt::{Qos, Stamp, Version, topic};
use plan::{
    Schedule, Share,
    background::Publications,
    mqtt::{Arrival as ArrivalOf, CONNECT, DELIVERY, Mqtt, PUBLISH, SUBSCRIBE},
    work::DEFAULT,
};
use worker::{Worker, net::connect::Connector};

use client::Client;

use crate::{
    DriverConfig, PROGRESS_NS, PerClient, Sums,
    client_config::{self, ReceiverFilter},
    counts::{Counts, PROGRESS, add},
    outbox::MessageLedger,
    start::{Deliveries, Together},
};

#[derive(Debug, Clone, Copy)]
pub(crate) struct OurLabels {
    pub connect: LabelId,
    pub subscribe: LabelId,
    pub delivery: LabelId,
    publish: [LabelId; 3],
    arrival: Option<LabelId>,
}

impl OurLabels {
    fn new(worker: &Worker, arrivals: ArrivalOf) -> OurLabels {
        let label = |name| worker.label(LabelGroup::Mqtt, "", name);
        OurLabels {
            connect: label(CONNECT),
            subscribe: label(SUBSCRIBE),
            publish: PUBLISH.map(label),
            delivery: worker.label(LabelGroup::Custom, "", DELIVERY),
            arrival: (arrivals != ArrivalOf::Elsewhere)
                .then(|| worker.label(LabelGroup::Iteration, "", DEFAULT)),
        }
    }

    pub fn publish(&self, qos: Qos) -> LabelId {
        self.publish[usize::from(qos.level())]
    }
}

pub(crate) struct DriverState {
    pub worker: Rc<Worker>,
    pub work: std::sync::Arc<Mqtt>,
    pub version: Version,
    pub schedule: Schedule,
    pub connector: Connector,
    pub origins: Vec<Origin>,
    pub labels: OurLabels,
    pub counts: Counts,
    pub clients: Vec<Rc<Client>>,
    pub flat_out: bool,
    pub own: Vec<Option<Publications>>,
    pub run: u32,
    pub alive: Cell<u64>,
    per_client: Option<PerClient>,
    pub until_ns: Cell<u64>,
    pub together: std::sync::Arc<Together>,
    pub shift_ns: Cell<u64>,
    /// Time from which clients may publish. `u64::MAX` until it is known.
    pub open_ns: Cell<u64>,
    limit: Option<u64>,
    reported: Cell<([u64; PROGRESS.len()], u64)>,
    pub is_over: Cell<bool>,
    /// Sequences by receiver and publisher. All members of a shared subscription count as one
    /// receiver.
    sequences: RefCell<HashMap<(u32, u32), Sequence>>,
    shares: HashMap<String, u32>,
    receivers: Vec<ReceiverFilter>,
}

const PATIENCE_NS: u64 = 10_000_000_000;
const SHARES: u32 = 1 << 31;

fn receivers_of(work: &Mqtt, seed: u64) -> (HashMap<String, u32>, Vec<ReceiverFilter>) {
    let mut shares = HashMap::new();
    let mut receivers = Vec::new();
    for ReceiverFilter { receiver, filter } in client_config::filters_of_all(work, seed) {
        let (group, plain) = topic::shared(&filter);
        let receiver = match group {
            None => receiver,
            Some(_) => {
                let next = SHARES + shares.len() as u32;
                *shares.entry(filter.clone()).or_insert(next)
            }
        };
        let known = ReceiverFilter {
            receiver,
            filter: plain.to_owned(),
        };
        if group.is_none() || !receivers.contains(&known) {
            receivers.push(known);
        }
    }
    (shares, receivers)
}

impl DriverState {
    pub fn new(
        settings: DriverConfig,
        together: std::sync::Arc<Together>,
        context: DriverContext,
        worker: &Rc<Worker>,
    ) -> Result<DriverState, String> {
        let DriverConfig {
            work,
            flat_out,
            own,
            seed,
            run,
            limit,
            clients: per_client,
        } = settings;
        let share = worker.share();
        let config = client_config::clients(&work, seed, |number| share.has(number))?;
        let subscribing = config.iter().filter(|config| !config.filters.is_empty());
        together.register(worker.position().workers as u64, subscribing.count() as u64);
        let client = context.client;
        let connector = Connector::new(
            worker.clock.clone(),
            &client.http,
            client.tls,
            client.sources,
        );
        let (shares, receivers) = receivers_of(&work, seed);
        Ok(DriverState {
            labels: OurLabels::new(worker, work.arrivals),
            version: client_config::version(&work),
            origins: work
                .hosts()
                .map(|host| Origin {
                    tls: work.tls,
                    host: host.to_owned(),
                    port: work.port,
                })
                .collect(),
            until_ns: Cell::new(context.schedule.end_ns()),
            together,
            shift_ns: Cell::new(0),
            open_ns: Cell::new(u64::MAX),
            limit,
            reported: Cell::default(),
            connector,
            counts: Counts::default(),
            clients: config
                .into_iter()
                .map(|config| Rc::new(Client::new(config)))
                .collect(),
            flat_out,
            own: own
                .iter()
                .map(|load| {
                    let (ready_ns, end_ns) = (work.ready_ns(), context.schedule.end_ns());
                    Some(Publications::new(load.as_ref()?, seed, ready_ns, end_ns))
                })
                .collect(),
            schedule: context.schedule,
            run,
            alive: Cell::new(0),
            per_client,
            is_over: Cell::new(false),
            sequences: RefCell::default(),
            shares,
            receivers,
            worker: Rc::clone(worker),
            work,
        })
    }

    pub fn patience_ns(&self) -> u64 {
        self.worker.common.drain_ns.unwrap_or(PATIENCE_NS)
    }

    pub fn origin(&self, client: &Client) -> &Origin {
        &self.origins[client.config.global as usize % self.origins.len()]
    }

    pub fn start_publishing(&self, open_ns: u64, delay_ns: u64) {
        // Publishers without a pace wait only for subscriptions.
        self.open_ns.set(if self.flat_out { 0 } else { open_ns });
        // Background work does not wait for the delay.
        if !self.is_background() {
            self.shift_ns.set(delay_ns);
            self.until_ns
                .set(self.until_ns.get().saturating_add(delay_ns));
        }
        if self.flat_out {
            for client in &self.clients {
                client.flush(self);
            }
        }
    }

    pub fn filter_refused(&self, client: &Client, filter: &str) {
        let (group, plain) = topic::shared(filter);
        if group.is_none() {
            let receiver = client.config.global;
            self.together.refuse(ReceiverFilter {
                receiver,
                filter: plain.to_owned(),
            });
        }
    }

    pub fn received_bytes(&self, label: LabelId, now: u64, bytes: usize) {
        let mut recorder = self.worker.recorder.borrow_mut();
        recorder.received(now, label, bytes as u64);
    }

    pub fn counts_connections(&self) -> bool {
        self.work.arrivals == ArrivalOf::Connection
    }

    pub fn is_background(&self) -> bool {
        self.work.arrivals == ArrivalOf::Elsewhere
    }

    pub fn receiver(&self, client: &Client) -> u32 {
        let mut shares = client.config.filters.iter();
        let share = shares.find_map(|(filter, _)| self.shares.get(filter));
        share.copied().unwrap_or(client.config.global)
    }

    pub fn delivered(&self, receiver: u32, payload: &[u8], now: u64) {
        let stamp = Stamp::from_payload(payload).filter(|stamp| stamp.run == self.run);
        let Some(stamp) = stamp else {
            add(&self.counts.foreign, 1);
            return;
        };
        let mut sequences = self.sequences.borrow_mut();
        let sequence = sequences.entry((receiver, stamp.publisher)).or_default();
        let next = sequence.next();
        match sequence.came(stamp.sequence) {
            Arrival::New => {
                add(&self.counts.received, 1);
                add(&self.counts.skipped, stamp.sequence.saturating_sub(next));
            }
            Arrival::Late => {
                add(&self.counts.received, 1);
                add(&self.counts.filled, 1);
                // Members of a shared subscription may receive messages in any order.
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
        recorder.record_untotaled(now, self.labels.delivery, intended, ns);
    }

    pub fn record(&self, sample: &Sample, detail: impl FnOnce() -> String) {
        self.worker.record(sample, detail);
    }

    pub fn arrived(&self, now: u64, intended: Intended, ended: RequestOutcome) {
        if let Some(arrival) = self.labels.arrival {
            let mut recorder = self.worker.recorder.borrow_mut();
            recorder.iteration(now, arrival, intended, ended);
        }
    }

    pub fn backlog(&self) -> u64 {
        self.clients.iter().map(|c| c.ledger().open()).sum()
    }

    pub fn read(&self) -> u64 {
        let ledgers = self.clients.iter().map(|client| client.ledger());
        ledgers.map(|of| of.confirmed - of.turned_down).sum()
    }

    pub fn waits_for_answers(&self) -> bool {
        self.clients.iter().any(|client| client.waits_for_answer())
    }

    /// Returns whether all expected deliveries have arrived. A part of a run with subscriptions
    /// cannot know this and returns `false`.
    pub fn has_all(&self) -> bool {
        let own = Deliveries {
            expected: self.expected(|ledger| ledger.sent - ledger.turned_down),
            received: self.counts.received.get(),
        };
        let share = self.worker.share();
        let all = self.together.deliveries(share.index, own);
        let is_whole = share == Share::WHOLE || self.together.is_all_of(share.of);
        let subscribes = self
            .work
            .groups
            .iter()
            .any(|group| !group.subscribe.is_empty());
        all.received >= all.expected && (is_whole || !subscribes)
    }

    fn expected(&self, messages: impl Fn(&MessageLedger) -> u64) -> u64 {
        let publishers = self.clients.iter().filter_map(|client| {
            let outgoing = client.config.outgoing.as_ref()?;
            outgoing.is_stamped.then_some((client, &outgoing.topic))
        });
        publishers
            .map(|(client, topic)| messages(&client.ledger()) * self.copies(topic))
            .sum()
    }

    pub fn limit_of(&self, client: &Client) -> u64 {
        let Some(limit) = self.limit else {
            return u64::MAX;
        };
        let all = self.work.publishers().max(1);
        let before = self.work.clients().saturating_sub(all);
        let place = u64::from(client.config.global).saturating_sub(before);
        limit / all + u64::from(place < limit % all)
    }

    pub fn is_limit_reached(&self) -> bool {
        self.limit.is_some()
            && self.clients.iter().all(|client| {
                let is_publisher = client.config.outgoing.is_some();
                !is_publisher || client.ledger().due >= self.limit_of(client)
            })
    }

    fn copies(&self, topic: &str) -> u64 {
        let mut receivers: Vec<u32> = self
            .receivers
            .iter()
            .filter(|receiver| topic::matches(&receiver.filter, topic))
            .filter(|receiver| !self.together.is_refused(receiver))
            .map(|receiver| receiver.receiver)
            .collect();
        receivers.sort_unstable();
        receivers.dedup();
        receivers.len() as u64
    }

    pub fn stop_publishing(&self) {
        self.is_over.set(true);
        for client in &self.clients {
            client.last_ping(self);
        }
    }

    pub fn close(&self) {
        for client in &self.clients {
            client.close(self);
        }
    }

    pub fn tell_progress(&self, now: u64) {
        let (before, at) = self.reported.get();
        if now < at + PROGRESS_NS {
            return;
        }
        let counts = &self.counts;
        let of = |value: fn(&MessageLedger) -> u64| -> u64 {
            self.clients.iter().map(|c| value(&c.ledger())).sum()
        };
        let all = [
            of(|ledger| ledger.due),
            of(|ledger| ledger.unknown),
            of(|ledger| ledger.unsent),
            counts.received.get(),
            // Report only increases, because skipped sequence numbers may still arrive.
            counts
                .skipped
                .get()
                .saturating_sub(counts.filled.get())
                .max(before[4]),
            counts.again.get(),
        ];
        let mut recorder = self.worker.recorder.borrow_mut();
        for ((name, value), before) in PROGRESS.into_iter().zip(all).zip(before) {
            let value = value - before;
            recorder.frontend(now, &Event::Custom { name, value });
        }
        self.reported.set((all, now));
    }

    pub fn report(&self, now: u64) {
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
                (&counts.incomplete, ledger.incomplete),
            ] {
                add(count, n);
            }
        }
        let sent = |ledger: &MessageLedger| ledger.sent - ledger.turned_down;
        counts.expected.set(self.expected(sent));
        let unknown = self.expected(|ledger| ledger.unknown);
        counts.expected_of_unknown.set(unknown);
        if let Some(per_client) = &self.per_client {
            let mut all = per_client.lock().unwrap_or_else(PoisonError::into_inner);
            all.extend(self.clients.iter().map(|client| {
                let ledger = client.ledger();
                let sums = Sums {
                    due: ledger.due,
                    sent: ledger.sent,
                    confirmed: ledger.confirmed,
                };
                (client.config.global, sums)
            }));
        }
        let mut recorder = self.worker.recorder.borrow_mut();
        for (name, value) in counts.all() {
            recorder.frontend(now, &Event::Custom { name, value });
        }
    }
}
