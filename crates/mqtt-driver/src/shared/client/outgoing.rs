//! Encodes due messages, as far as the socket and the session allow, and records when they are
//! written.

use std::task::{Context, Poll};

use measure::{
    Fault,
    sample::{Intended, RequestOutcome},
};
use mqtt::{AckKind, Reason, Stamp, connect, packet::put_ack};
use worker::net::fault::socket_fault;

use super::{Client, ClientState, Phase, finish};
use crate::{
    counts::add,
    outbox::{NextWrite, SentMessage},
    shared::DriverState,
};

const AT_ONCE: usize = 48 << 10;

impl Client {
    pub(super) fn write(&self, shared: &DriverState, cx: &mut Context<'_>) -> Result<(), Fault> {
        loop {
            let mut state = self.state.borrow_mut();
            let state = &mut *state;
            if state.line.is_none() {
                return Ok(());
            }
            let now = shared.worker.clock.now();
            self.encode(state, shared, now);
            let Some(line) = &mut state.line else {
                return Ok(());
            };
            if line.is_empty() {
                return Ok(());
            }
            let polled = line.write(cx, shared.flat_out);
            let now = shared.worker.clock.now();
            self.written(state, shared, now);
            let Some(line) = &mut state.line else {
                return Ok(());
            };
            match polled {
                Poll::Ready(Ok(())) => {
                    if let Some(since) = line.blocked_since.take() {
                        add(&shared.counts.blocked_ns, now.saturating_sub(since));
                    }
                }
                Poll::Pending => {
                    line.blocked_since.get_or_insert(now);
                    return Ok(());
                }
                Poll::Ready(Err(error)) => return Err(socket_fault(&error)),
            }
            if shared.flat_out {
                cx.waker().wake_by_ref();
                return Ok(());
            }
        }
    }

    fn encode(&self, state: &mut ClientState, shared: &DriverState, now: u64) {
        let (Some(line), Some(outgoing)) = (&mut state.line, &self.config.outgoing) else {
            return;
        };
        if state.phase != Phase::Up {
            return;
        }
        let outbox = &mut state.outbox;
        let mut payload = None;
        let is_open = shared.flat_out
            && !shared.is_over.get()
            && now >= shared.open_ns.get()
            && now < shared.until_ns.get();
        let limit = shared.limit_of(self);
        while line.waiting() < AT_ONCE {
            let is_wanted = is_open && state.next_sequence < limit;
            if is_wanted && outbox.is_idle() && outbox.has_room() {
                let (label, intended) = (
                    shared.labels.publish(outgoing.qos),
                    Intended::after_previous(now, 0),
                );
                outbox.due(SentMessage::new(label, state.next_sequence, intended, now));
                state.next_sequence += 1;
                shared.worker.issue(now, label, intended);
            }
            match outbox.next() {
                Some(NextWrite::Message { id, is_again, sent }) => {
                    let payload = payload.get_or_insert_with(|| outgoing.payload.clone());
                    stamp(payload, self, shared, &sent);
                    let before = line.end();
                    outgoing.template.put(line.out(), id, is_again, payload);
                    let at = line.end();
                    outbox.encoded(id, is_again, sent, (at - before) as u32, at);
                }
                Some(NextWrite::Release(id)) => {
                    let (stage, reason) = (AckKind::Released, Reason::SUCCESS);
                    put_ack(line.out(), shared.version, stage, id, reason);
                }
                None => break,
            }
        }
        // For QoS 0, only an answered PINGREQ shows that the server has read earlier messages.
        // Several PINGREQs may be in flight.
        if outbox.wants_to_ask(now, shared.is_over.get()) {
            outbox.ask(now);
            connect::put_ping(line.out());
        }
    }

    fn written(&self, state: &mut ClientState, shared: &DriverState, now: u64) {
        let Some(line) = &mut state.line else { return };
        let taken = line.taken();
        while let Some(sent) = state.outbox.next_written(taken, now) {
            finish(shared, &sent, now, RequestOutcome::Ok, String::new);
        }
    }
}

fn stamp(payload: &mut Vec<u8>, client: &Client, shared: &DriverState, sent: &SentMessage) {
    let outgoing = client.config.outgoing.as_ref();
    if let Some(groups) = outgoing.and_then(|outgoing| outgoing.groups) {
        let publisher_number = u64::from(client.config.global);
        return groups.write(payload, publisher_number, groups.group(sent.sequence));
    }
    let is_stamped = client
        .config
        .outgoing
        .as_ref()
        .is_some_and(|o| o.is_stamped);
    if let Some(place) = payload.first_chunk_mut().filter(|_| is_stamped) {
        *place = Stamp {
            run: shared.run,
            publisher: client.config.global,
            sequence: sent.sequence,
            intended_ns: sent.intended.ns(),
        }
        .bytes();
    }
}
