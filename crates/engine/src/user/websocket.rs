//! WebSocket steps: open connections, send and await messages, and record each step as an
//! operation.

use std::{
    cell::{Cell, RefCell},
    pin::Pin,
    task::{Context, Poll},
};

use measure::{
    Failure, Fault, Status,
    accumulator::Event,
    outcome::WebSocketFault,
    sample::{Intended, RequestOutcome},
};
use plan::{
    rng::Rng,
    websocket::{WebSocketAction, WebSocketConnect, WebSocketDeflate},
};
use query::value;
use serde_json::Value;

use super::{
    IterationAbort, User, capture::Inspection, messages::Messages, ongoing::Ongoing,
    request::opening_call,
};
use crate::program::{ExpectedMessage, MessageStep, SEQUENCE};
use codec::{Response, content::Unpacking, websocket::Offer};
use worker::{
    OutputLine,
    client::{
        Built,
        socketio::Session,
        websocket::{Claim, Message, UpgradeRequest, WebSocket},
    },
    step_trace::StepTrace,
};

/// The open WebSocket connections of an iteration, by name. A step takes out the connection that it
/// uses.
#[derive(Debug)]
pub(super) struct OpenSockets {
    open: RefCell<Vec<(String, WebSocket)>>,
    /// Socket.IO session. `None` while a step uses it.
    pub(super) session: RefCell<Option<Box<Session>>>,
    /// Whether to read the connections that no step uses.
    pub(super) is_reading: Cell<bool>,
}

impl Default for OpenSockets {
    fn default() -> Self {
        OpenSockets {
            open: RefCell::default(),
            session: RefCell::default(),
            is_reading: Cell::new(true),
        }
    }
}

impl OpenSockets {
    /// Polls the user's steps, and reads the connections that no step uses.
    pub(super) fn poll_steps<F: Future>(
        &self,
        steps: Pin<&mut F>,
        cx: &mut Context<'_>,
    ) -> Poll<F::Output> {
        // Messages that arrived during a pause do not belong to the next step.
        self.read_idle(cx);
        let polled = steps.poll(cx);
        if polled.is_pending() {
            // A step may have just returned its connection, which nothing is watching yet.
            self.read_idle(cx);
        }
        polled
    }

    fn read_idle(&self, cx: &mut Context<'_>) {
        if self.is_reading.get() {
            for (_, socket) in self.open.borrow_mut().iter_mut() {
                socket.read_idle(cx);
            }
            if let Some(session) = &mut *self.session.borrow_mut() {
                session.read_idle(cx);
            }
        }
    }

    /// Closes all connections.
    pub(super) fn close_all(&self) {
        for (_, socket) in self.open.take() {
            socket.close_in_background();
        }
        if let Some(session) = self.session.take() {
            session.close_in_background();
        }
    }

    pub(super) fn take(&self, name: &str) -> Option<WebSocket> {
        let mut open = self.open.borrow_mut();
        let at = open.iter().position(|(known, _)| known == name)?;
        Some(open.swap_remove(at).1)
    }

    /// Adds a connection, and closes an earlier connection with the same name.
    fn put(&self, name: &str, socket: WebSocket) {
        if let Some(earlier) = self.take(name) {
            earlier.close_in_background();
        }
        let mut open = self.open.borrow_mut();
        if open.capacity() == 0 {
            // Most users have one connection.
            open.reserve_exact(1);
        }
        open.push((name.to_owned(), socket));
    }
}

impl User<'_> {
    /// Opens a connection. Fails if the server refuses.
    pub(super) async fn connect(
        &mut self,
        connect: &WebSocketConnect,
        request: &Built,
        drawn_from: Rng,
        ongoing: &mut Ongoing<'_>,
    ) -> Result<(), IterationAbort> {
        let step = ongoing.step;
        let random = self.random_bytes();
        let offered = connect.subprotocols.iter();
        let subprotocols: Vec<String> = offered
            .map(|name| name.to_text(&self.vars, &mut self.rng))
            .collect();
        let upgrade = UpgradeRequest {
            random,
            subprotocols: &subprotocols,
            deflate: match connect.deflate {
                WebSocketDeflate::Off => Offer::Off,
                WebSocketDeflate::EachMessage => Offer::NoContext,
                WebSocketDeflate::Full => Offer::Full,
            },
            is_recorded: true,
        };
        let call = opening_call(step, request);
        let client = self.client;
        let (called, change) = (ongoing.called.as_deref(), ongoing.change.as_deref());
        let (mut agent, mut teller) = self.caller(step, called, change, drawn_from);
        let exchange = &mut ongoing.exchange;
        let sent = client.upgrade(&mut agent, &call, upgrade, &mut teller, exchange);
        match sent.await {
            Ok(Some(socket)) => {
                self.io.sockets.put(&connect.connection, socket);
                Ok(())
            }
            Ok(None) => Err(IterationAbort::Refused(exchange.answer.status, step.index)),
            Err(fault) => Err(IterationAbort::Fault(fault, Some(step.index))),
        }
    }

    /// Runs a step on a connection. Each future is boxed, because it would enlarge every user, and
    /// most WebSocket users only listen.
    pub(super) async fn websocket(&mut self, index: usize) -> Result<(), IterationAbort> {
        let step = &self.program.messages[index];
        match step.spec.action {
            WebSocketAction::Listen(ns) => Box::pin(self.listen(ns)).await,
            WebSocketAction::Close(code) => Box::pin(self.close(step, code)).await,
            WebSocketAction::Send { .. } | WebSocketAction::Expect(_) => {
                Box::pin(self.messages(step)).await
            }
        }
    }

    async fn messages(&mut self, step: &MessageStep) -> Result<(), IterationAbort> {
        let Some(label) = step.label else {
            return Ok(());
        };
        let operation = self.begin(label)?;
        let limit_ns = step
            .expected
            .as_ref()
            .and_then(|expected| expected.within_ns);
        self.limit(operation, limit_ns);
        let stamp = self.stamp(step.publishes, operation);
        let mut messages = Messages::default();
        let result = match self.io.sockets.take(&step.spec.connection) {
            None => Err(Fault::WebSocket(WebSocketFault::NotConnected)),
            Some(mut socket) => {
                let received_before = socket.bytes_received();
                let result = self.exchange_messages(step, &mut socket, &mut messages);
                let result = result.await;
                messages.bytes_in = socket.bytes_received() - received_before;
                let code = socket.ended().and_then(|end| end.code);
                messages.status = code.map(Status::WebSocket);
                messages.close_reason = socket.close_reason().to_owned();
                self.io.sockets.put(&step.spec.connection, socket);
                result
            }
        };
        if result.is_err() || messages.done_ns == 0 {
            messages.done_ns = self.worker.clock.now();
        }
        self.end(operation, messages.done_ns);
        let (ended, result) = match result {
            Ok(ExpectResult::Expected) => (RequestOutcome::Ok, Ok(())),
            Ok(ExpectResult::CaptureFailed) => (
                RequestOutcome::Failed(Failure::Capture),
                Err(IterationAbort::Capture(None)),
            ),
            Err(fault) => (
                RequestOutcome::Unanswered(fault),
                Err(IterationAbort::WebSocket(fault)),
            ),
        };
        let verb = step.spec.verb().unwrap_or_default();
        self.record_messages((verb, &step.spec.label), operation, &messages, ended);
        if let Some(stamp) = stamp {
            self.note_publication(stamp, operation, messages.outcome(ended));
        }
        self.worker.run_due(messages.done_ns);
        result
    }

    /// Sends the step's message, and waits for the expected messages.
    async fn exchange_messages(
        &mut self,
        step: &MessageStep,
        socket: &mut WebSocket,
        messages: &mut Messages,
    ) -> Result<ExpectResult, Fault> {
        let io = self.io;
        if step.uses_sequence {
            if step.payload.is_some() {
                socket.next_sequence();
            }
            self.vars.set(SEQUENCE, Value::from(socket.sequence()));
        }
        if let Some(payload) = &step.payload {
            let value = payload.eval(&self.vars, &mut self.rng);
            let text = match &value {
                Some(Value::Array(_) | Value::Object(_)) => {
                    value.as_ref().map_or_else(String::new, Value::to_string)
                }
                other => value::text(other.as_ref()),
            };
            let now = self.worker.clock.now();
            let event = Event::MessageSent;
            self.worker.recorder.borrow_mut().frontend(now, &event);
            // If the connection has ended and the message cannot be sent, the time until then
            // counts as service time.
            messages.first_write_ns = Some(now).filter(|_| socket.ended().is_none());
            let sent = socket.send(&text, &io.limit).await?;
            messages.first_write_ns = Some(sent.first_write_ns);
            messages.done_ns = sent.done_ns;
            messages.bytes_out = sent.bytes;
            if self.worker.common.walks {
                messages.sent = Some(text);
            }
        } else {
            // The step waits for the server from its start.
            messages.first_write_ns = Some(self.worker.clock.now());
        }
        let Some(expected) = &step.expected else {
            return Ok(ExpectResult::Expected);
        };
        let mut waiting = AwaitedMessages {
            left: expected.count,
            expected,
            failed_capture: false,
            messages,
        };
        let limit = &io.limit;
        let mut receive = |message: Message<'_>, now_ns| waiting.receive(self, message, now_ns);
        let done_ns = socket.receive(limit, &mut receive).await?;
        let failed_capture = waiting.failed_capture;
        messages.done_ns = done_ns;
        Ok(if failed_capture {
            ExpectResult::CaptureFailed
        } else {
            ExpectResult::Expected
        })
    }

    /// Reads and counts messages for a period, in nanoseconds.
    pub(super) async fn listen(&mut self, ns: u64) -> Result<(), IterationAbort> {
        let now = self.worker.clock.now();
        self.due = Intended::after_previous(now, ns);
        if self.worker.common.walks {
            self.worker.emit(OutputLine::Step(StepTrace::Thinks(ns)));
        }
        let slept = self.worker.sleep_until(self.due.ns(), &self.io.limit).await;
        self.paused_ns += match slept {
            Ok(()) => ns,
            Err(_) => self.worker.clock.now().saturating_sub(now).min(ns),
        };
        slept.map_err(|_| IterationAbort::Fault(Fault::Unfinished, None))
    }

    async fn close(&mut self, step: &MessageStep, code: u16) -> Result<(), IterationAbort> {
        let Some(socket) = self.io.sockets.take(&step.spec.connection) else {
            return Ok(());
        };
        let is_closed = socket.close(code, &self.io.limit).await;
        let now = self.worker.clock.now();
        self.due = Intended::after_previous(now, 0);
        if is_closed {
            Ok(())
        } else {
            Err(IterationAbort::Fault(Fault::Unfinished, None))
        }
    }
}

/// The result of waiting for messages.
enum ExpectResult {
    Expected,
    CaptureFailed,
}

struct AwaitedMessages<'m> {
    expected: &'m ExpectedMessage,
    left: u32,
    failed_capture: bool,
    messages: &'m mut Messages,
}

impl AwaitedMessages<'_> {
    fn receive(&mut self, user: &mut User<'_>, message: Message<'_>, now_ns: u64) -> Claim {
        let content = &self.expected.content;
        if !content.is_empty() {
            let answer = Response {
                body: message.bytes().to_vec(),
                body_bytes: message.bytes().len() as u64,
                ..Response::default()
            };
            let left = user.worker.memory.left();
            let mut inspection = Inspection::new(&answer, left, Unpacking::Strict);
            // Random values in conditions must not depend on the number of messages.
            let drawn_from = user.rng.clone();
            if user.failed_check(content, &mut inspection).is_some() {
                user.rng = drawn_from;
                self.messages.keep(message.bytes());
                return Claim::Unclaimed;
            }
            if self.left == 1 {
                self.failed_capture = user.capture(content, &mut inspection).is_err();
            }
        }
        let event = Event::MessageReceived;
        user.worker.recorder.borrow_mut().frontend(now_ns, &event);
        if user.worker.common.walks || self.failed_capture {
            self.messages.keep(message.bytes());
        }
        self.messages.first_read_ns.get_or_insert(now_ns);
        self.left -= 1;
        match self.left {
            0 => Claim::Last,
            _ => Claim::Awaited,
        }
    }
}
