//! The driver of listeners: opens WebSocket connections at a rate, and counts the received messages
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

/// Time between two progress reports of a worker to the stop rules, in nanoseconds.
const PROGRESS_NS: u64 = 250_000_000;
/// Maximum time that an aborted run waits for the lists of publications, in nanoseconds.
const LATE_LISTS_NS: u64 = 500_000_000;
/// Maximum time for closing the connections, in nanoseconds.
const CLOSE_NS: u64 = 1_500_000_000;

/// Runs a worker's share of the listeners.
pub(crate) struct ListenDriver {
    pub program: Program,
    pub settings: HttpClientConfig,
    /// Publications of the scenarios. Without them, no listeners run.
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
    /// Paths in a message to its intended time, its sender and its number.
    paths: [JsonPath; 3],
    push: LabelId,
    publications: Arc<Publications>,
    members: RefCell<Vec<Rc<Member>>>,
    /// Number of running listener tasks.
    alive: Cell<u64>,
    /// Whether no more listeners may connect.
    is_ending: Cell<bool>,
    counts: ReceiptCounts,
    reported: Cell<([u64; 5], u64)>,
}

/// Live counts of a worker's listeners.
#[derive(Debug, Default)]
struct ReceiptCounts {
    opened: Cell<u64>,
    /// Connections that the client did not end.
    left: Cell<u64>,
    received: Cell<u64>,
    again: Cell<u64>,
    late: Cell<u64>,
    skipped: Cell<u64>,
    /// Messages without a complete stamp.
    unstamped: Cell<u64>,
    /// Messages from another run.
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

    /// Waits a limited time for publishers that must end immediately.
    async fn wait_for_late_publishers(&self) {
        let until_ns = self.env.worker.clock.now().saturating_add(LATE_LISTS_NS);
        while !self.publications.are_complete() && self.env.worker.clock.now() < until_ns {
            self.tick().await;
        }
    }

    /// Waits until all expected deliveries have arrived, but no longer than the plan's grace time.
    async fn wait_for_deliveries(&self) {
        let worker = &self.env.worker;
        let until_ns = worker.clock.now().saturating_add(self.listen.grace_ns);
        let publications = PublicationIndex::new(self.publications.sorted());
        let mut known = None;
        while worker.clock.now() < until_ns {
            let state = (self.counts.received.get(), self.counts.left.get());
            let has_changed = known.replace(state) != Some(state);
            // The exact comparison takes time in which the worker cannot read.
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

    /// Returns the number of deliveries that this worker's listeners should receive.
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
            // With many publications, a comparison takes milliseconds. Let other tasks run, for
            // example the task that updates the worker's heartbeat.
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
        // Missing messages may still arrive, but only increases can be reported.
        let count = |outcome| self.publications.count(outcome);
        let not_due = self.publications.not_due();
        let not_due = not_due.saturating_mul(counts.opened.get());
        let missing = counts.skipped.get().saturating_sub(counts.late.get());
        // The publications are those of all workers, so only the first worker reports them.
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

    /// Reports the final counts. The first worker adds the counts of the publications.
    async fn report(&self) {
        if !self.publications.are_complete() {
            // Without the lists of the publishers, no comparison is possible.
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
        // Listeners that never started missed all messages.
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
