//! A listener: opens its connection, receives messages until it ends, and closes it.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use codec::events::find_integers;
use measure::{sample::Intended, sequence::Arrival};

use super::{
    Listeners, add,
    ledger::{Deliveries, DeliveryCounts, Membership, PublicationIndex},
};
use crate::user::{self, IterationStart, UserIo};
use worker::{
    client::websocket::{Claim, Message, WebSocket},
    deadlines::Limit,
};

const NORMAL_CLOSURE: u16 = 1000;
/// Maximum number of messages per publisher. A higher number can only be an invention of the
/// server.
const MAX_MESSAGES: u64 = 1 << 32;

/// State of a listener that outlives its connection.
#[derive(Debug, Default)]
pub(super) struct Member {
    /// Limit that ends all waits of the listener.
    pub limit: Rc<Limit>,
    deliveries: RefCell<Deliveries>,
    membership: Cell<Option<Membership>>,
}

impl Member {
    pub fn expected(&self, publications: &PublicationIndex) -> u64 {
        publications.expected(self.membership.get())
    }

    pub fn count(&self, publications: &PublicationIndex) -> DeliveryCounts {
        let deliveries = self.deliveries.borrow();
        deliveries.count(publications, self.membership.get())
    }

    fn receive(&self, listeners: &Listeners, message: Message<'_>, now_ns: u64) -> Claim {
        let counts = &listeners.counts;
        let [Some(sent_ns), Some(sender), Some(number)] =
            find_integers(&listeners.paths, message.bytes())
        else {
            add(&counts.unstamped, 1);
            return Claim::Unclaimed;
        };
        let publisher = listeners.publications.publisher(sender);
        let is_possible = number < MAX_MESSAGES && sent_ns <= now_ns;
        let Some(publisher) = publisher.filter(|_| is_possible) else {
            add(&counts.foreign, 1);
            return Claim::Unclaimed;
        };
        let receipt = self.deliveries.borrow_mut().receive(publisher, number);
        match receipt.arrival {
            Arrival::New => add(&counts.skipped, receipt.skipped),
            Arrival::Late => add(&counts.late, 1),
            Arrival::Again => {
                add(&counts.again, 1);
                return Claim::Awaited;
            }
        }
        add(&counts.received, 1);
        let intended = Intended::after_previous(sent_ns, 0);
        let ns = now_ns.saturating_sub(sent_ns);
        let mut recorder = listeners.env.worker.recorder.borrow_mut();
        recorder.record_untotaled(now_ns, listeners.push, intended, ns);
        Claim::Awaited
    }
}

/// Runs a listener. `start` contains its number and its intended connect time.
pub(super) async fn run(listeners: Rc<Listeners>, member: Rc<Member>, start: (u32, u64)) {
    let worker = &listeners.env.worker;
    let place = worker.watch(&member.limit);
    // Box the future, because it is large and is needed only while connecting.
    let opened = Box::pin(open(&listeners, &member, start)).await;
    if let Some(socket) = opened {
        let socket = listen(&listeners, &member, socket).await;
        let closing = Rc::new(Limit::default());
        let place = worker.watch(&closing);
        socket.close(NORMAL_CLOSURE, &closing).await;
        worker.unwatch(place);
    }
    worker.unwatch(place);
    listeners.alive.set(listeners.alive.get() - 1);
}

async fn open(
    listeners: &Listeners,
    member: &Member,
    (number, intended_ns): (u32, u64),
) -> Option<WebSocket> {
    let io = UserIo::with_limit(Rc::clone(&member.limit));
    let start = IterationStart {
        number: u64::from(number),
        intended: Intended::scheduled(intended_ns),
        scenario: 0,
        seed: listeners.env.program.seed,
        counts_arrival: true,
    };
    user::open_listener(&listeners.env, &io, start).await
}

/// Receives messages until the connection or the listener ends. Returns the connection.
async fn listen(listeners: &Listeners, member: &Member, mut socket: WebSocket) -> WebSocket {
    let worker = &listeners.env.worker;
    add(&listeners.counts.opened, 1);
    let mut membership = Membership {
        from_ns: worker.clock.now(),
        until_ns: u64::MAX,
    };
    member.membership.set(Some(membership));
    {
        let mut on_message = |message: Message<'_>, now| member.receive(listeners, message, now);
        let mut receiving = std::pin::pin!(socket.receive(&member.limit, &mut on_message));
        let _ = std::future::poll_fn(|cx| {
            let polled = receiving.as_mut().poll(cx);
            worker.run_due(worker.clock.now());
            polled
        })
        .await;
    }
    if socket.ended().is_some() {
        membership.until_ns = worker.clock.now();
        member.membership.set(Some(membership));
        add(&listeners.counts.left, 1);
    }
    socket
}
