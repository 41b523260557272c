//! What a client says: messages that are due, encoded as far as socket and session have room, and the moment at which the socket has
//! taken them. What is due, and what is answered, is decided elsewhere.

use std::task::{Context, Poll};

use engine::net::fault::socket_fault;
use measure::{
    Fault,
    sample::{Ended, Intended},
};
use mqtt::{Qos, Reason, Stage, Stamp, connect, packet::put_ack, session::Again};

use super::{Client, Phase, Sent, State, finish};
use crate::{counts::add, shared::Shared};

/// So many bytes are written at once.
const AT_ONCE: usize = 48 << 10;

impl Client {
    /// Encodes what there is room for and hands it to the socket.
    pub(super) fn write(&self, shared: &Shared, cx: &mut Context<'_>) -> Result<(), Fault> {
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
            let polled = line.write(cx);
            let now = shared.worker.clock.now();
            match polled {
                Poll::Ready(Ok(())) => {
                    if let Some(since) = line.blocked_since.take() {
                        add(&shared.counts.blocked_ns, now.saturating_sub(since));
                    }
                }
                Poll::Pending => {
                    line.blocked_since.get_or_insert(now);
                    self.written(state, shared, now);
                    return Ok(());
                }
                Poll::Ready(Err(error)) => return Err(socket_fault(&error)),
            }
            self.written(state, shared, now);
            if shared.flat_out {
                // Answers, and others, are due too.
                cx.waker().wake_by_ref();
                return Ok(());
            }
        }
    }

    fn encode(&self, state: &mut State, shared: &Shared, now: u64) {
        let (Some(line), Some(outgoing)) = (&mut state.line, &self.made.outgoing) else {
            return;
        };
        if state.phase != Phase::Up {
            return;
        }
        let mut payload = None;
        while let Some((id, again)) = state.session.again() {
            match again {
                Again::Message(sent) => {
                    let payload = payload.get_or_insert_with(|| outgoing.payload.clone());
                    stamp(payload, self, shared, &sent);
                    outgoing.template.put(line.out(), id, true, payload);
                    line.mark(id, sent);
                }
                Again::Release => {
                    put_ack(
                        line.out(),
                        shared.version,
                        Stage::Released,
                        id,
                        Reason::SUCCESS,
                    );
                }
            }
        }
        let is_open = !shared.is_over.get() && now < shared.until_ns;
        while line.waiting() < AT_ONCE {
            let is_due = match state.queue.front() {
                Some(sent) => *sent,
                None if shared.flat_out && is_open => {
                    let sent = Sent {
                        label: shared.labels.publish(outgoing.qos),
                        sequence: state.next_sequence,
                        intended: Intended::after_previous(now, 0),
                        started: now,
                        first_write: 0,
                        bytes: 0,
                    };
                    if outgoing.qos > Qos::AtMostOnce && !state.session.has_room() {
                        break;
                    }
                    state.next_sequence += 1;
                    add(&shared.counts.due, 1);
                    shared.worker.issue(now, sent.label, sent.intended);
                    state.queue.push_back(sent);
                    sent
                }
                None => break,
            };
            let mut sent = is_due;
            let payload = payload.get_or_insert_with(|| outgoing.payload.clone());
            stamp(payload, self, shared, &sent);
            sent.bytes = outgoing.template.packet_bytes(payload.len()) as u32;
            let mut id = 0;
            if outgoing.qos > Qos::AtMostOnce {
                match state.session.publish(outgoing.qos, sent) {
                    Some(given) => id = given,
                    None => break,
                }
            }
            state.queue.pop_front();
            outgoing.template.put(line.out(), id, false, payload);
            line.mark(id, sent);
        }
        // A sign of life behind everything: of QoS 0 it is the only one that the server has read it.
        let is_last = shared.is_over.get() && state.queue.is_empty();
        if is_last && outgoing.qos == Qos::AtMostOnce && state.ping.is_none() {
            let all = state.written + line.unwritten();
            if state.confirmed < all {
                state.ping = Some(all);
                connect::put_ping(line.out());
            }
        }
    }

    /// What the socket has taken is sent.
    fn written(&self, state: &mut State, shared: &Shared, now: u64) {
        let Some(line) = &mut state.line else { return };
        while let Some((id, sent)) = line.next_written() {
            if id > 0 {
                // What is sent again was sent already, unless its first connection was lost before.
                let what = state
                    .session
                    .what_mut(id)
                    .filter(|sent| sent.first_write == 0);
                if let Some(what) = what {
                    what.first_write = now;
                    state.written += 1;
                    add(&shared.counts.sent, 1);
                }
                continue;
            }
            state.written += 1;
            add(&shared.counts.sent, 1);
            let sent = Sent {
                first_write: now,
                ..sent
            };
            finish(shared, &sent, now, Ended::Ok, String::new);
        }
    }
}

/// Makes a payload the one of this message.
fn stamp(payload: &mut Vec<u8>, client: &Client, shared: &Shared, sent: &Sent) {
    let outgoing = client.made.outgoing.as_ref();
    if let Some(groups) = outgoing.and_then(|outgoing| outgoing.groups) {
        let who = u64::from(client.made.global);
        return groups.write(payload, who, groups.of(sent.sequence));
    }
    let is_stamped = client.made.outgoing.as_ref().is_some_and(|o| o.is_stamped);
    if let Some(place) = payload.first_chunk_mut().filter(|_| is_stamped) {
        *place = Stamp {
            run: shared.run,
            publisher: client.made.global,
            sequence: sent.sequence,
            intended_ns: sent.intended.ns(),
        }
        .bytes();
    }
}
