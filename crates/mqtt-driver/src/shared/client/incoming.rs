//! Handles incoming packets.

use std::task::{Context, Poll};

use measure::{
    Failure, Fault, LabelId,
    sample::{Intended, RequestOutcome},
};
use mqtt::{
    AckKind, Connack, Event, NextPacket, Packet, Reason,
    packet::{self, put_ack},
    subscribe::Answered,
};
use worker::net::fault::socket_fault;

use super::{Client, ClientState, Phase, finish, put_subscribe};
use crate::{counts::add, outbox::SentMessage, shared::DriverState};

const MAX_PACKET: usize = 64 << 20;
const READS: usize = 16;

impl Client {
    pub(super) fn read(&self, shared: &DriverState, cx: &mut Context<'_>) -> Result<(), Fault> {
        for _ in 0..READS {
            let mut state = self.state.borrow_mut();
            let Some(line) = &mut state.line else {
                return Ok(());
            };
            let mut buffer = shared.worker.buffer.borrow_mut();
            let came = match line.stream.poll_read(cx, &mut buffer) {
                Poll::Pending => return Ok(()),
                Poll::Ready(Err(error)) => return Err(socket_fault(&error)),
                Poll::Ready(Ok(0)) => return Err(Fault::ClosedEarly),
                Poll::Ready(Ok(came)) => came,
            };
            let now = shared.worker.clock.now();
            let is_greeting = state.phase == Phase::Greeting;
            shared.received_bytes(self.label_of_reads(shared, is_greeting), now, came);
            let Some(line) = &mut state.line else {
                return Ok(());
            };
            if line.partial.is_empty() {
                let used = self.packets(&mut state, shared, &buffer[..came], now)?;
                if let Some(line) = &mut state.line {
                    line.partial.extend_from_slice(&buffer[used..came]);
                }
            } else {
                let mut held = std::mem::take(&mut line.partial);
                held.extend_from_slice(&buffer[..came]);
                let used = self.packets(&mut state, shared, &held, now)?;
                held.drain(..used);
                if let Some(line) = &mut state.line {
                    line.partial = held;
                }
            }
        }
        cx.waker().wake_by_ref();
        Ok(())
    }

    fn label_of_reads(&self, shared: &DriverState, is_greeting: bool) -> LabelId {
        match &self.config.outgoing {
            _ if is_greeting => shared.labels.connect,
            Some(outgoing) if self.config.filters.is_empty() => shared.labels.publish(outgoing.qos),
            _ if !self.config.filters.is_empty() => shared.labels.subscribe,
            _ => shared.labels.connect,
        }
    }

    fn packets(
        &self,
        state: &mut ClientState,
        shared: &DriverState,
        bytes: &[u8],
        now: u64,
    ) -> Result<usize, Fault> {
        let mut at = 0;
        loop {
            match packet::next(shared.version, &bytes[at..], MAX_PACKET) {
                Ok(NextPacket::Packet(packet, used)) => {
                    self.packet(state, shared, &packet, now)?;
                    at += used;
                }
                Ok(NextPacket::Partial(_)) => return Ok(at),
                Err(cause) => {
                    shared
                        .worker
                        .remark(format!("the server sent invalid MQTT: {cause}"));
                    return Err(Fault::Other);
                }
            }
        }
    }

    fn packet(
        &self,
        state: &mut ClientState,
        shared: &DriverState,
        packet: &Packet<'_>,
        now: u64,
    ) -> Result<(), Fault> {
        match packet {
            Packet::Connack(connack) => return self.connack(state, shared, connack, now),
            Packet::Publish(message) => {
                if message.topic.is_empty() {
                    shared
                        .worker
                        .remark("the server used a topic alias that was not allowed".into());
                    return Err(Fault::Other);
                }
                let was = state.outbox.delivered(message);
                if let (Some(stage), Some(id), Some(line)) =
                    (was.answer, message.identifier, &mut state.line)
                {
                    put_ack(line.out(), shared.version, stage, id, Reason::SUCCESS);
                }
                if was.is_new {
                    shared.delivered(shared.receiver(self), message.payload, now);
                }
            }
            Packet::Ack(ack) => {
                let event = state.outbox.acknowledged(ack, now);
                let Some(line) = &mut state.line else {
                    return Ok(());
                };
                let version = shared.version;
                match event {
                    Event::Done(sent, reason) => acknowledged(shared, &sent, reason, now),
                    Event::Complete(sent) => acknowledged(shared, &sent, Reason::SUCCESS, now),
                    Event::Release(_) => {
                        let id = ack.identifier;
                        put_ack(line.out(), version, AckKind::Released, id, Reason::SUCCESS);
                    }
                    Event::Forget(reason) => {
                        put_ack(
                            line.out(),
                            version,
                            AckKind::Complete,
                            ack.identifier,
                            reason,
                        );
                    }
                    Event::Unknown => {
                        add(&shared.counts.stray, 1);
                        if ack.stage == AckKind::Received {
                            let (id, cause) = (ack.identifier, Reason::NOT_FOUND);
                            put_ack(line.out(), version, AckKind::Released, id, cause);
                        }
                    }
                }
            }
            Packet::Suback(answered) => self.subscribed(state, shared, answered, now),
            Packet::Unsuback(answered) => {
                state.outbox.answered(answered.identifier);
            }
            Packet::Pingresp => state.outbox.pong(),
            Packet::Disconnect(disconnect) => {
                shared.worker.remark(format!(
                    "the server disconnected a client: {}",
                    disconnect.reason
                ));
                return Err(Fault::ClosedEarly);
            }
            Packet::Auth(_) => {
                shared
                    .worker
                    .remark("the server requested enhanced authentication (AUTH), which is not supported yet".into());
                return Err(Fault::Other);
            }
        }
        Ok(())
    }

    fn connack(
        &self,
        state: &mut ClientState,
        shared: &DriverState,
        connack: &Connack<'_>,
        now: u64,
    ) -> Result<(), Fault> {
        let Some(greeting) = state.greeting.take() else {
            return Err(Fault::Other);
        };
        let reason = connack.reason;
        if reason.is_refusal() {
            let ended = turned_down(reason);
            let text = reason.text(shared.version);
            finish(shared, &greeting, now, ended, || text.clone());
            self.settle(state, shared);
            if let Some(intended) = state.arrival.take() {
                shared.arrived(now, intended, ended);
            }
            add(&shared.counts.refused, 1);
            shared
                .worker
                .remark(format!("the server refused a connection: {text}"));
            return Err(Fault::ClosedEarly);
        }
        finish(shared, &greeting, now, RequestOutcome::Ok, String::new);
        add(&shared.counts.connected, 1);
        if state.was_up {
            add(&shared.counts.reconnected, 1);
        }
        let is_first = !std::mem::replace(&mut state.was_up, true);
        // After requesting a clean session, ignore an old one.
        let session_present = connack.session_present && !self.config.clean;
        if connack.session_present && self.config.clean {
            let line =
                "the server reports that it kept a session, although a new one was requested";
            shared.worker.remark(line.into());
        }
        let terms = connack.terms();
        let inflight = self.config.outgoing.as_ref().map_or(1, |out| out.inflight);
        let lost = state
            .outbox
            .connected(session_present, inflight.min(terms.receive_maximum));
        for sent in lost {
            finish(
                shared,
                &sent,
                now,
                RequestOutcome::Unanswered(Fault::Reset),
                String::new,
            );
        }
        self.keep_alive(shared);
        // A first connection always subscribes, because the subscriptions of an earlier run are
        // unknown.
        if self.config.filters.is_empty() || (session_present && !is_first) {
            self.is_up(state, shared, now);
            return Ok(());
        }
        let intended = Intended::after_previous(now, 0);
        let mut sent = SentMessage::new(shared.labels.subscribe, 0, intended, now);
        sent.first_write = now;
        shared.worker.issue(now, sent.label, sent.intended);
        if let (Some(id), Some(line)) = (state.outbox.request(sent), &mut state.line) {
            put_subscribe(self, shared, line.out(), id);
        }
        (state.phase, state.subscribing) = (Phase::Subscribing, Some(sent));
        self.limit_answer(shared, now);
        Ok(())
    }

    fn subscribed(
        &self,
        state: &mut ClientState,
        shared: &DriverState,
        answered: &Answered<'_>,
        now: u64,
    ) {
        let Some(sent) = state.outbox.answered(answered.identifier) else {
            return add(&shared.counts.stray, 1);
        };
        state.subscribing = None;
        self.keep_alive(shared);
        let filters = self.config.filters.iter();
        let refused = answered.reasons().zip(filters);
        let refused = refused.filter(|(reason, _)| reason.is_refusal());
        let mut ended = (RequestOutcome::Ok, Reason::SUCCESS);
        for (reason, (filter, _)) in refused {
            shared.filter_refused(self, filter);
            add(&shared.counts.filters_refused, 1);
            ended = (turned_down(reason), reason);
        }
        let (how, reason) = ended;
        if reason.is_refusal() {
            shared
                .worker
                .remark(format!("the server refused a subscription: {reason}"));
        }
        finish(shared, &sent, now, how, || reason.to_string());
        self.is_up(state, shared, now);
    }

    fn is_up(&self, state: &mut ClientState, shared: &DriverState, now: u64) {
        state.phase = Phase::Up;
        self.settle(state, shared);
        if let Some(intended) = state.arrival.take() {
            shared.arrived(now, intended, RequestOutcome::Ok);
        }
    }
}

fn acknowledged(shared: &DriverState, sent: &SentMessage, reason: Reason, now: u64) {
    if !reason.is_refusal() {
        return finish(shared, sent, now, RequestOutcome::Ok, String::new);
    }
    finish(shared, sent, now, turned_down(reason), || {
        reason.to_string()
    });
}

fn turned_down(reason: Reason) -> RequestOutcome {
    let name = reason.name().unwrap_or("unknown reason");
    RequestOutcome::Failed(Failure::Refusal(name))
}
