//! Writes the messages of one connection, with its delays and faults.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use codec::websocket::{
    Close, Compressor, FrameError, Negotiated, Role, write_binary, write_close, write_ping,
    write_pong, write_text,
};
use tokio::io::AsyncWriteExt;
use tokio::net::tcp::OwnedWriteHalf;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::ChatState;
use super::behaviour::{Behaviour, DeliveryFault};
use super::ledger::Delivery;
use crate::clock;

pub(super) enum Outgoing {
    Message(Message),
    /// A text sent without delays or faults.
    Acknowledgement(String),
    Pong(Vec<u8>),
    /// The close frame, which is written last. `None` stands for a frame without a code.
    Close(Option<u16>),
}

/// A message on its way to a receiver.
#[derive(Clone)]
pub(super) struct Message {
    pub(super) payload: Arc<MessagePayload>,
    /// Number of the connection that sent the message, and the number of the message there.
    pub(super) sender: u64,
    pub(super) number: u64,
    pub(super) arrival_ns: u64,
    /// Number of the message in its room.
    pub(super) sequence: Option<u64>,
}

pub(super) enum MessagePayload {
    Text(String),
    Binary(Vec<u8>),
}

impl MessagePayload {
    pub(super) fn len(&self) -> usize {
        match self {
            MessagePayload::Text(text) => text.len(),
            MessagePayload::Binary(bytes) => bytes.len(),
        }
    }
}

struct QueuedMessage {
    message: Message,
    due_ns: u64,
    fault: Option<DeliveryFault>,
}

pub(super) struct Outbox {
    state: Arc<ChatState>,
    connection: u64,
    path: Arc<str>,
    behaviour: Behaviour,
    deflate: Option<Negotiated>,
    /// Compressor of a connection with context takeover.
    compressor: Option<Compressor>,
    /// Number of messages addressed to this connection.
    numbered: u64,
    delayed: VecDeque<QueuedMessage>,
    /// Messages that are sent after the next one.
    held: Vec<QueuedMessage>,
    bytes: Vec<u8>,
    pings: u64,
    is_closing: bool,
}

impl Outbox {
    pub(super) fn new(
        state: Arc<ChatState>,
        connection: u64,
        path: Arc<str>,
        behaviour: Behaviour,
        deflate: Option<Negotiated>,
    ) -> Self {
        Self {
            state,
            connection,
            path,
            behaviour,
            deflate,
            compressor: None,
            numbered: 0,
            delayed: VecDeque::new(),
            held: Vec::new(),
            bytes: Vec::new(),
            pings: 0,
            is_closing: false,
        }
    }

    /// Writes until the close frame has been written or all senders are gone.
    pub(super) async fn run(
        mut self,
        mut socket: OwnedWriteHalf,
        mut receiver: UnboundedReceiver<Outgoing>,
    ) -> io::Result<()> {
        let mut pings = self.behaviour.ping.map(|every| {
            let mut pings = interval(every);
            pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
            pings.reset();
            pings
        });
        loop {
            while !self.is_closing
                && let Ok(outgoing) = receiver.try_recv()
            {
                self.add(outgoing)?;
            }
            if !self.is_closing {
                self.send_due()?;
            }
            if !self.bytes.is_empty() {
                socket.write_all(&self.bytes).await?;
                self.bytes = Vec::new();
            }
            if self.is_closing {
                return socket.shutdown().await;
            }
            let due_ns = self.delayed.front().map(|queued| queued.due_ns);
            tokio::select! {
                outgoing = receiver.recv() => match outgoing {
                    Some(outgoing) => self.add(outgoing)?,
                    None => return Ok(()),
                },
                () = self.state.timer.until(due_ns.unwrap_or(0)), if due_ns.is_some() => {}
                () = tick(&mut pings) => self.ping()?,
            }
        }
    }

    fn add(&mut self, outgoing: Outgoing) -> io::Result<()> {
        match outgoing {
            Outgoing::Message(message) => {
                let number = self.numbered;
                self.numbered += 1;
                self.delayed.push_back(QueuedMessage {
                    due_ns: message.arrival_ns + self.behaviour.delay_ns,
                    fault: self
                        .behaviour
                        .fault(self.state.seed, self.connection, number),
                    message,
                });
                Ok(())
            }
            Outgoing::Acknowledgement(text) => {
                self.send_due()?;
                self.write(&MessagePayload::Text(text))
            }
            Outgoing::Pong(payload) => {
                self.send_due()?;
                write_pong(&mut self.bytes, None, &payload).map_err(broken)
            }
            Outgoing::Close(code) => {
                self.send_due()?;
                self.is_closing = true;
                let close = code.map(|code| Close { code, reason: "" });
                write_close(&mut self.bytes, None, close).map_err(broken)
            }
        }
    }

    fn ping(&mut self) -> io::Result<()> {
        self.pings += 1;
        self.state.ledger.totals().pings_sent += 1;
        write_ping(&mut self.bytes, None, &self.pings.to_be_bytes()).map_err(broken)
    }

    fn send_due(&mut self) -> io::Result<()> {
        if self.delayed.is_empty() {
            return Ok(());
        }
        let now = clock::monotonic_ns();
        while self.delayed.front().is_some_and(|next| next.due_ns <= now)
            && let Some(queued) = self.delayed.pop_front()
        {
            match queued.fault {
                Some(DeliveryFault::Dropped) => self.record(&queued, None, Delivery::Dropped),
                Some(DeliveryFault::Reordered) => self.held.push(queued),
                Some(DeliveryFault::Duplicated) => {
                    self.send(&queued, Delivery::Duplicated)?;
                    self.write(&queued.message.payload)?;
                    self.send_held()?;
                }
                None => {
                    self.send(&queued, Delivery::Sent)?;
                    self.send_held()?;
                }
            }
        }
        Ok(())
    }

    fn send_held(&mut self) -> io::Result<()> {
        for queued in std::mem::take(&mut self.held) {
            self.send(&queued, Delivery::Reordered)?;
        }
        Ok(())
    }

    fn send(&mut self, queued: &QueuedMessage, delivery: Delivery) -> io::Result<()> {
        self.record(queued, Some(clock::monotonic_ns()), delivery);
        self.write(&queued.message.payload)
    }

    fn record(&self, queued: &QueuedMessage, sent_ns: Option<u64>, delivery: Delivery) {
        let ledger = &self.state.ledger;
        ledger.delivered(
            self.connection,
            &queued.message,
            queued.due_ns,
            sent_ns,
            delivery,
        );
    }

    fn write(&mut self, payload: &MessagePayload) -> io::Result<()> {
        self.state.ledger.wrote(&self.path, payload.len());
        let out = &mut self.bytes;
        let compressor = match (self.compressor.take(), self.deflate) {
            (None, Some(negotiated)) => Compressor::new(Role::Server, negotiated),
            (compressor, _) => compressor,
        };
        let Some(mut compressor) = compressor else {
            match payload {
                MessagePayload::Text(text) => write_text(out, None, text),
                MessagePayload::Binary(bytes) => write_binary(out, None, bytes),
            }
            return Ok(());
        };
        let written = match payload {
            MessagePayload::Text(text) => compressor.write_text(out, None, text),
            MessagePayload::Binary(bytes) => compressor.write_binary(out, None, bytes),
        };
        self.compressor = Some(compressor).filter(Compressor::takes_over);
        written.map_err(broken)
    }
}

impl Drop for Outbox {
    fn drop(&mut self) {
        for queued in self.delayed.iter().chain(&self.held) {
            self.record(queued, None, Delivery::Unsent);
        }
    }
}

/// Waits for the next ping, or forever if there are no pings.
async fn tick(pings: &mut Option<Interval>) {
    match pings {
        Some(pings) => {
            pings.tick().await;
        }
        None => std::future::pending().await,
    }
}

fn broken(error: FrameError) -> io::Error {
    io::Error::other(error.name())
}
