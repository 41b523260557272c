//! Steps in a Socket.IO session: open it, emit and await events, and record each step as an
//! operation.

use codec::socketio::{Packet, PacketKind};
use measure::{
    Failure, Fault, Status,
    accumulator::Event,
    outcome::SocketIoFault,
    sample::{Intended, RequestOutcome},
};
use plan::{
    rng::Rng,
    socketio::{Emit, EmitAwaits, EventExpectation, SocketIoAction, SocketIoConnect},
    template::Template,
};
use serde_json::Value;
use worker::client::{
    Agent, Built, Exchange,
    socketio::{Session, SessionError, SessionRequest, Transports},
};

use super::{
    IterationAbort, User, messages::Messages, ongoing::Ongoing, operation::Operation,
    request::opening_call,
};
use crate::program::SessionStep;

/// Why a step in a session failed.
pub(super) enum StepFault {
    Session(SessionError),
    /// A condition of an acknowledgement is not met.
    Failed(Failure),
    /// The collected arguments are not as expected. Contains the names of the check and the error.
    Unexpected(&'static str, &'static str),
    CaptureFailed,
}

impl From<SessionError> for StepFault {
    fn from(error: SessionError) -> StepFault {
        StepFault::Session(error)
    }
}

impl StepFault {
    fn outcome(&self) -> RequestOutcome {
        match self {
            StepFault::Session(error) => RequestOutcome::Unanswered(error.fault),
            StepFault::Failed(failure) => RequestOutcome::Failed(*failure),
            StepFault::Unexpected(kind, _) => RequestOutcome::Failed(Failure::Check(kind)),
            StepFault::CaptureFailed => RequestOutcome::Failed(Failure::Capture),
        }
    }

    fn into_abort(self) -> IterationAbort {
        match self {
            StepFault::Session(SessionError {
                message: Some(message),
                fault,
                ..
            }) => IterationAbort::Named(message, fault),
            StepFault::Session(error) => IterationAbort::WebSocket(error.fault),
            StepFault::Failed(failure) => IterationAbort::Failed(failure),
            StepFault::Unexpected(kind, name) => IterationAbort::Unexpected(kind, name.to_owned()),
            StepFault::CaptureFailed => IterationAbort::Capture(None),
        }
    }
}

impl User<'_> {
    /// Opens the user's session. Fails if the server refuses.
    pub(super) async fn connect_session(
        &mut self,
        connect: &SocketIoConnect,
        request: &Built,
        drawn_from: Rng,
        ongoing: &mut Ongoing<'_>,
    ) -> Result<(), IterationAbort> {
        let step = ongoing.step;
        let random = self.random_bytes();
        let namespace = self.namespace(&connect.namespace);
        let auth = self.json(connect.auth.as_ref());
        let wanted = SessionRequest {
            transports: match connect.is_websocket {
                true => Transports::WebSocket,
                false => Transports::Polling,
            },
            namespace: &namespace,
            auth: &auth,
            random,
        };
        let call = opening_call(step, request);
        let client = self.client;
        let (called, change) = (ongoing.called.as_deref(), ongoing.change.as_deref());
        let (mut agent, mut teller) = self.caller(step, called, change, drawn_from);
        let exchange = &mut ongoing.exchange;
        let opened = client.open_session(&mut agent, &call, wanted, &mut teller, exchange);
        match opened.await {
            Ok(Some(session)) => {
                self.put_session(Box::new(session));
                Ok(())
            }
            Ok(None) => Err(IterationAbort::Refused(exchange.answer.status, step.index)),
            Err(SessionError {
                message: Some(message),
                fault,
                ..
            }) => {
                ongoing.unexpected = Some(self.hidden(message.clone()));
                Err(IterationAbort::NamedInStep(message, fault, step.index))
            }
            Err(error) => Err(IterationAbort::Fault(error.fault, Some(step.index))),
        }
    }

    /// Runs a step in the session. Each future is boxed, because it would enlarge every user.
    pub(super) async fn socketio(&mut self, index: usize) -> Result<(), IterationAbort> {
        let step = &self.program.session_steps[index];
        match &step.spec.action {
            SocketIoAction::Listen(ns) => Box::pin(self.listen(*ns)).await,
            SocketIoAction::Close => Box::pin(self.close_session()).await,
            SocketIoAction::Upgrade => Box::pin(self.upgrade_session(step)).await,
            SocketIoAction::Join { namespace, auth } => {
                let namespace = self.namespace(namespace);
                if self.has_joined(&namespace) {
                    return Ok(());
                }
                let auth = self.json(auth.as_ref());
                Box::pin(self.in_session(step, SessionAction::Join(&namespace, &auth))).await
            }
            SocketIoAction::Emit(emit) => {
                Box::pin(self.in_session(step, SessionAction::Emit(emit))).await
            }
            SocketIoAction::Expect(expect) => {
                Box::pin(self.in_session(step, SessionAction::Expect(expect))).await
            }
        }
    }

    /// Runs a timed step.
    async fn in_session(
        &mut self,
        step: &SessionStep,
        action: SessionAction<'_>,
    ) -> Result<(), IterationAbort> {
        let Some(label) = step.label else {
            return Ok(());
        };
        let operation = self.begin(label)?;
        let limit_ns = step.expected.as_ref().and_then(|it| it.within_ns);
        self.limit(operation, limit_ns);
        let mut messages = Messages::default();
        let session = self.io.sockets.session.take();
        let result = match session {
            None => Err(SessionError::from(SocketIoFault::NotConnected).into()),
            Some(mut session) => {
                let received_before = session.bytes_received();
                let result = match action {
                    SessionAction::Join(namespace, auth) => {
                        messages.first_write_ns = Some(operation.started_ns);
                        let joined = session.join(namespace, auth, &self.io.limit).await;
                        joined.map_err(StepFault::from).map(|at_ns| {
                            messages.done_ns = at_ns;
                        })
                    }
                    SessionAction::Emit(emit) => {
                        let emitted = self.emit(step, emit, &mut session, &mut messages, operation);
                        emitted.await
                    }
                    SessionAction::Expect(expect) => {
                        // The step waits for the server from its start.
                        messages.first_write_ns = Some(operation.started_ns);
                        let awaited =
                            self.await_event(step, expect, &mut session, &mut messages, operation);
                        awaited.await
                    }
                };
                messages.bytes_in = session.bytes_received() - received_before;
                self.put_session(session);
                result
            }
        };
        self.finish_step(step, operation, messages, result)
    }

    fn finish_step(
        &mut self,
        step: &SessionStep,
        operation: Operation,
        mut messages: Messages,
        result: Result<(), StepFault>,
    ) -> Result<(), IterationAbort> {
        if matches!(result, Err(StepFault::Session(_))) || messages.done_ns == 0 {
            messages.done_ns = self.worker.clock.now();
        }
        self.end(operation, messages.done_ns);
        let ended = result
            .as_ref()
            .map_or_else(StepFault::outcome, |()| RequestOutcome::Ok);
        if let Err(StepFault::Session(error)) = &result {
            messages.status = error.status.map(Status::Http);
            messages.close_reason = error.message.clone().unwrap_or_default();
        }
        let verb = step.spec.verb().unwrap_or_default();
        self.record_messages((verb, &step.spec.label), operation, &messages, ended);
        self.worker.run_due(messages.done_ns);
        result.map_err(StepFault::into_abort)
    }

    async fn emit(
        &mut self,
        step: &SessionStep,
        emit: &Emit,
        session: &mut Session,
        messages: &mut Messages,
        operation: Operation,
    ) -> Result<(), StepFault> {
        let namespace = self.namespace(&emit.namespace);
        let json = self.arguments(emit);
        let id = matches!(emit.awaits, EmitAwaits::Ack(_)).then(|| session.next_id());
        let packet = Packet {
            id,
            ..Packet::new(PacketKind::Event, &namespace, &json)
        };
        self.report(Event::Emit);
        // If the session has ended and the event cannot be sent, the time until then counts as
        // service time.
        messages.first_write_ns = Some(self.worker.clock.now()).filter(|_| !session.has_ended());
        let io = self.io;
        let sent = session.emit(packet, &io.limit).await?;
        messages.first_write_ns = Some(sent.first_write_ns);
        messages.done_ns = sent.done_ns;
        messages.bytes_out = sent.bytes;
        if self.worker.common.walks {
            messages.sent = Some(packet.json.to_owned());
        }
        match (&emit.awaits, id) {
            (EmitAwaits::Event(expect), _) => {
                self.await_event(step, expect, session, messages, operation)
                    .await?;
            }
            (EmitAwaits::Ack(_), Some(id)) => {
                self.await_ack(step, (&namespace, id), session, messages)
                    .await?;
            }
            _ => {}
        }
        let ns = messages.done_ns.saturating_sub(operation.started_ns);
        self.report(Event::EmitCompleted { ns });
        Ok(())
    }

    async fn upgrade_session(&mut self, step: &SessionStep) -> Result<(), IterationAbort> {
        let Some(label) = step.label else {
            return Ok(());
        };
        let Some(mut session) = self.io.sockets.session.take() else {
            return Ok(());
        };
        if !session.can_upgrade() {
            self.put_session(session);
            return Ok(());
        }
        let operation = match self.begin(label) {
            Ok(operation) => operation,
            Err(abort) => {
                self.put_session(session);
                return Err(abort);
            }
        };
        self.limit(operation, None);
        let timeouts = &self.program.http.timeouts;
        let mut exchange = Exchange::begun(
            operation.intended,
            operation.started_ns,
            timeouts,
            &self.worker.memory,
        );
        let random = self.random_bytes();
        let mut agent = Agent {
            pool: &self.io.pool,
            limit: &self.io.limit,
            jar: &mut self.jar,
        };
        let upgraded = session.upgrade(self.client, &mut agent, label, random, &mut exchange);
        let upgraded = upgraded.await;
        self.put_session(session);
        let moments = exchange.moments;
        let mut messages = Messages {
            first_write_ns: moments.first_write,
            first_read_ns: moments.first_read,
            bytes_out: moments.bytes_out,
            bytes_in: moments.bytes_in,
            ..Messages::default()
        };
        let result = upgraded.map_err(StepFault::from).map(|done_ns| {
            messages.done_ns = done_ns;
        });
        // As in other clients, a session that cannot be upgraded continues with polling.
        match self.finish_step(step, operation, messages, result) {
            Err(IterationAbort::WebSocket(Fault::Unfinished)) => {
                Err(IterationAbort::Fault(Fault::Unfinished, None))
            }
            _ => Ok(()),
        }
    }

    async fn close_session(&mut self) -> Result<(), IterationAbort> {
        let Some(session) = self.io.sockets.session.take() else {
            return Ok(());
        };
        let is_closed = session.close(&self.io.limit).await;
        let now = self.worker.clock.now();
        self.due = Intended::after_previous(now, 0);
        if is_closed {
            Ok(())
        } else {
            Err(IterationAbort::Fault(Fault::Unfinished, None))
        }
    }

    fn has_joined(&self, namespace: &str) -> bool {
        let session = self.io.sockets.session.borrow();
        session.as_ref().is_some_and(|it| it.has_joined(namespace))
    }

    fn put_session(&self, session: Box<Session>) {
        let earlier = self.io.sockets.session.replace(Some(session));
        if let Some(earlier) = earlier {
            earlier.close_in_background();
        }
    }

    pub(super) fn report(&self, event: Event<'_>) {
        let now = self.worker.clock.now();
        self.worker.recorder.borrow_mut().frontend(now, &event);
    }

    pub(super) fn text(&mut self, template: &Template) -> String {
        template.to_text(&self.vars, &mut self.rng)
    }

    pub(super) fn namespace(&mut self, template: &Template) -> String {
        let name = self.text(template);
        match name.starts_with('/') {
            true => name,
            false => format!("/{name}"),
        }
    }

    /// Returns the value as JSON. Empty if there is no value.
    fn json(&mut self, template: Option<&Template>) -> String {
        let value = template.and_then(|it| it.eval(&self.vars, &mut self.rng));
        value.map_or_else(String::new, |value| value.to_string())
    }

    fn arguments(&mut self, emit: &Emit) -> String {
        let mut list = vec![Value::String(self.text(&emit.event))];
        for argument in &emit.arguments {
            let value = argument.eval(&self.vars, &mut self.rng);
            list.push(value.unwrap_or(Value::Null));
        }
        Value::Array(list).to_string()
    }
}

/// What a timed step does.
#[derive(Clone, Copy)]
enum SessionAction<'a> {
    Join(&'a str, &'a str),
    Emit(&'a Emit),
    Expect(&'a EventExpectation),
}
