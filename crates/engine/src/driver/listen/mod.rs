//! The driver of listeners: opens WebSocket connections at a rate, and counts what they receive
//! until the load has ended.
//!
//! An idle listener is a task that waits for its connection to become readable. It has no buffer.

mod ledger;
mod member;

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    rc::Rc,
    sync::Arc,
};

use codec::events::JsonPath;
use measure::{LabelId, accumulator::Event};
use plan::Listen;

use super::Driver;
use crate::{
    program::Program,
    publications::{
        PublicationOutcome::{Refused, Sent, Unknown},
        Publications,
    },
    user::Env,
};
use ledger::{DeliveryCounts, PublicationIndex};
use member::Member;
use worker::{
    Worker,
    client::{Client, HttpClientConfig},
    deadlines::{Limit, TICK_NS},
    stop::Urgency,
};

/// How often a worker reports its progress to stop rules.
const PROGRESS_NS: u64 = 250_000_000;
/// How long a run that ends immediately waits for the lists of what was published.
const LATE_LISTS_NS: u64 = 500_000_000;
/// How long the connections may take to close.
const CLOSE_NS: u64 = 1_500_000_000;

/// Runs this worker's share of the listeners.
pub(crate) struct ListenDriver {
    pub program: Program,
    pub settings: HttpClientConfig,
    /// What the scenarios publish. Nothing listens without it.
    pub publications: Option<Arc<Publications>>,
}

impl Driver for ListenDriver {
    fn run(self: Box<Self>, worker: Rc<Worker>) -> Pin<Box<dyn Future<Output = ()>>> {
        Box::pin(async move {
            let (Some(compiled), Some(publications)) = (&self.program.listen, self.publications)
            else {
                return;
            };
            let listen = compiled.spec.clone();
            let (paths, push) = (compiled.paths.clone(), compiled.push);
            let env = Env {
                client: Rc::new(Client::new(&worker, self.settings)),
                worker: Rc::clone(&worker),
                program: self.program,
                hook: None,
                script: None,
                publishers: None,
            };
            let listeners = Rc::new(Listeners {
                env,
                listen,
                paths,
                push,
                publications,
                members: RefCell::default(),
                alive: Cell::new(0),
                is_ending: Cell::new(false),
                counts: ReceiptCounts::default(),
                reported: Cell::default(),
            });
            let connecting = tokio::task::spawn_local(connect(Rc::clone(&listeners)));
            listeners.wait_for_publishers().await;
            listeners.is_ending.set(true);
            connecting.abort();
            listeners.wait_for_deliveries().await;
            listeners.close().await;
            listeners.wait_for_late_publishers().await;
            listeners.report().await;
        })
    }
}

/// The listeners of one worker.
struct Listeners {
    env: Env,
    listen: Listen,
    /// Paths of a message to its intended time, its sender and its number.
    paths: [JsonPath; 3],
    push: LabelId,
    publications: Arc<Publications>,
    members: RefCell<Vec<Rc<Member>>>,
    /// Number of tasks that have not ended.
    alive: Cell<u64>,
    /// Whether no more listeners connect.
    is_ending: Cell<bool>,
    counts: ReceiptCounts,
    reported: Cell<([u64; 5], u64)>,
}

/// Counts of a worker's listeners, while they receive.
#[derive(Debug, Default)]
struct ReceiptCounts {
    opened: Cell<u64>,
    /// Connections that did not end by this side.
    left: Cell<u64>,
    received: Cell<u64>,
    again: Cell<u64>,
    late: Cell<u64>,
    skipped: Cell<u64>,
    /// Messages without a complete stamp.
    unstamped: Cell<u64>,
    /// Messages of another run.
    foreign: Cell<u64>,
}

fn add(count: &Cell<u64>, n: u64) {
    count.set(count.get().saturating_add(n));
}

/// Starts each listener at its time.
async fn connect(listeners: Rc<Listeners>) {
    let worker = &listeners.env.worker;
    let share = worker.share();
    for number in (0..listeners.listen.clients).filter(|n| share.has(u64::from(*n))) {
        let intended_ns = listeners.listen.connect_ns(number);
        let is_cut = worker.clock.now() < intended_ns
            && worker
                .sleep_until(intended_ns, &worker.arrivals_end)
                .await
                .is_err();
        if is_cut || worker.arrivals_end.is_aborted() {
            return;
        }
        let member = Rc::new(Member::default());
        listeners.members.borrow_mut().push(Rc::clone(&member));
        add(&listeners.alive, 1);
        tokio::task::spawn_local(member::run(
            Rc::clone(&listeners),
            member,
            (number, intended_ns),
        ));
        tokio::task::coop::consume_budget().await;
    }
}

impl Listeners {
    async fn tick(&self) -> Urgency {
        let worker = &self.env.worker;
        let now = worker.clock.now();
        self.report_progress(now);
        let _ = worker.sleep_until(now + TICK_NS, &Limit::default()).await;
        worker.apply_stop(worker.clock.now())
    }

    async fn wait_for_publishers(&self) {
        while !self.publications.are_complete() {
            if self.tick().await == Urgency::Abort {
                return;
            }
        }
    }

    /// Waits for publishers that must end immediately, for a limited time.
    async fn wait_for_late_publishers(&self) {
        let until_ns = self.env.worker.clock.now().saturating_add(LATE_LISTS_NS);
        while !self.publications.are_complete() && self.env.worker.clock.now() < until_ns {
            self.tick().await;
        }
    }

    /// Waits until every delivery that is due has arrived, at most for the plan's grace time.
    async fn wait_for_deliveries(&self) {
        let worker = &self.env.worker;
        let until_ns = worker.clock.now().saturating_add(self.listen.grace_ns);
        let publications = PublicationIndex::new(self.publications.sorted());
        let mut known = None;
        while worker.clock.now() < until_ns {
            let state = (self.counts.received.get(), self.counts.left.get());
            let has_changed = known.replace(state) != Some(state);
            // The exact comparison takes time in which the worker does not read.
            if has_changed && state.0 >= self.expected(&publications) {
                let counts = self.deliveries(&publications).await;
                if counts.received == counts.expected {
                    return;
                }
            }
            if self.tick().await == Urgency::Abort {
                return;
            }
        }
    }

    /// Number of deliveries that are due to this worker's listeners.
    fn expected(&self, publications: &PublicationIndex) -> u64 {
        let members = self.members.borrow();
        let expected = members.iter().map(|member| member.expected(publications));
        expected.sum()
    }

    async fn deliveries(&self, publications: &PublicationIndex) -> DeliveryCounts {
        let mut all = DeliveryCounts::default();
        let members = self.members.borrow().clone();
        for member in members {
            all.add(&member.count(publications));
            // With many publications, a comparison takes milliseconds. Other tasks, such as the one
            // that updates the worker's heartbeat, must run too.
            tokio::task::yield_now().await;
        }
        all
    }

    /// Closes all connections.
    async fn close(&self) {
        let worker = &self.env.worker;
        for member in self.members.borrow().iter() {
            member.limit.abort();
        }
        let until_ns = worker.clock.now() + CLOSE_NS;
        while self.alive.get() > 0 {
            let urgency = self.tick().await;
            if urgency == Urgency::Abort || worker.clock.now() >= until_ns {
                worker.abort();
                return;
            }
        }
    }

    fn report_progress(&self, now: u64) {
        let (before, at_ns) = self.reported.get();
        if now < at_ns + PROGRESS_NS {
            return;
        }
        let counts = &self.counts;
        // Missing messages may still arrive, but only increases are reported.
        let count = |outcome| self.publications.count(outcome);
        let not_due = self.publications.not_due();
        let not_due = not_due.saturating_mul(counts.opened.get());
        let missing = counts.skipped.get().saturating_sub(counts.late.get());
        // The publications are those of all workers, so only the first one reports them.
        let published = |n: u64| if self.env.worker.index == 0 { n } else { 0 };
        let all = [
            counts.received.get(),
            missing.saturating_sub(not_due).max(before[1]),
            counts.again.get(),
            published(count(Sent) + count(Unknown) + count(Refused)),
            published(count(Unknown)),
        ];
        let names = [
            "so_far_received",
            "so_far_missing",
            "so_far_again",
            "so_far_due",
            "so_far_unknown",
        ];
        let mut recorder = self.env.worker.recorder.borrow_mut();
        for ((name, value), before) in names.into_iter().zip(all).zip(before) {
            let value = value - before;
            recorder.frontend(now, &Event::Custom { name, value });
        }
        self.reported.set((all, now));
    }

    /// Reports the final counts. The first worker adds those of the publications.
    async fn report(&self) {
        if !self.publications.are_complete() {
            // The lists of the publishers are missing, so nothing can be compared.
            return;
        }
        let worker = &self.env.worker;
        let publications = PublicationIndex::new(self.publications.sorted());
        let deliveries = self.deliveries(&publications).await;
        let counts = &self.counts;
        let share = worker.share();
        let mut all = vec![
            ("listeners", share.of_first(u64::from(self.listen.clients))),
            ("connected", counts.opened.get()),
            ("left", counts.left.get()),
            ("expected", deliveries.expected),
            ("expected_of_unknown", deliveries.missing_of_unknown),
            ("received", deliveries.received),
            ("again", counts.again.get()),
            ("late", counts.late.get()),
            ("not_due", deliveries.not_due),
            ("listeners_with_losses", deliveries.listeners_with_losses),
            ("unstamped", counts.unstamped.get()),
            ("foreign", counts.foreign.get()),
        ];
        let clients = share.of_first(u64::from(self.listen.clients));
        let started = self.members.borrow().len() as u64;
        let outcome = |outcome| {
            let all = publications.all().iter();
            all.filter(|one| one.outcome == outcome).count() as u64
        };
        let published = outcome(Sent) + outcome(Unknown);
        // Listeners that never started missed everything.
        let absent = deliveries.absent + (clients - started.min(clients)) * published;
        all.push(("absent", absent));
        if worker.index == 0 {
            all.push(("due", published + outcome(Refused)));
            all.push(("unknown", outcome(Unknown)));
            all.push(("turned_down", outcome(Refused)));
        }
        let now = worker.clock.now();
        let mut recorder = worker.recorder.borrow_mut();
        for (name, value) in all {
            recorder.frontend(now, &Event::Custom { name, value });
        }
    }
}
