//! Steps that wait for acknowledgements and events of a Socket.IO session, and check the arguments.

use codec::{
    Response,
    content::Unpacking,
    socketio::{Packet, PacketKind},
};
use measure::{Fault, accumulator::Event, outcome::SocketIoFault};
use plan::socketio::{ArgumentMatch, EventExpectation};
use query::value;
use serde_json::Value;
use worker::client::{
    socketio::{Session, SessionError},
    websocket::Claim,
};

use super::{
    User, capture::Inspection, messages::Messages, operation::Operation, socketio::StepFault,
};
use crate::program::{ExpectedMessage, SessionStep};

/// Artillery's names for errors.
const NOT_VALID: &str = "data is not valid";
const FAILED_MATCH: &str = "Failed match";

impl User<'_> {
    pub(super) async fn await_ack(
        &mut self,
        step: &SessionStep,
        (namespace, id): (&str, u64),
        session: &mut Session,
        messages: &mut Messages,
    ) -> Result<(), StepFault> {
        let mut arguments = None;
        let mut receive = |packet: &Packet<'_>, _: u64| {
            let is_ack = matches!(packet.kind, PacketKind::Ack | PacketKind::BinaryAck);
            if !is_ack || packet.id != Some(id) || packet.namespace != namespace {
                return Claim::Unclaimed;
            }
            arguments = Some(packet.json.to_owned());
            Claim::Last
        };
        let read = session.receive(Some(namespace), &self.io.limit, &mut receive);
        let at_ns = read.await?;
        messages.first_read_ns = Some(at_ns);
        messages.done_ns = at_ns;
        let json = arguments.unwrap_or_default();
        let fits = step.spec.argument_match();
        let is_collected = matches!(fits, ArgumentMatch::Collected { .. });
        let values = list(&json).ok_or(SessionError::from(SocketIoFault::BadPacket))?;
        if let ArgumentMatch::Collected {
            expected: Some(_), ..
        } = fits
            && !self.fits(fits, &values)
        {
            return Err(StepFault::Unexpected("arguments", NOT_VALID));
        }
        match &step.expected {
            Some(expected) => self.judge_arguments(expected, &json, is_collected, messages),
            None => Ok(()),
        }
    }

    pub(super) async fn await_event(
        &mut self,
        step: &SessionStep,
        expect: &EventExpectation,
        session: &mut Session,
        messages: &mut Messages,
        operation: Operation,
    ) -> Result<(), StepFault> {
        let Some(expected) = &step.expected else {
            return Ok(());
        };
        let namespace = self.namespace(&expect.namespace);
        let mut awaited = AwaitedEvents {
            event: self.text(&expect.event),
            namespace: &namespace,
            expect,
            expected,
            left: expected.count,
            collected: Vec::new(),
            last_ns: 0,
            failed_capture: false,
            messages,
        };
        let limit = &self.io.limit;
        let mut receive = |packet: &Packet<'_>, now_ns: u64| awaited.receive(self, packet, now_ns);
        let read = session.receive(Some(&namespace), limit, &mut receive).await;
        let AwaitedEvents {
            collected,
            last_ns,
            failed_capture,
            ..
        } = awaited;
        if let ArgumentMatch::Collected {
            expected: wanted, ..
        } = &expect.fits
        {
            let is_late = matches!(&read, Err(error) if error.fault == Fault::ResponseTimeout);
            messages.done_ns = match read {
                // Events that arrived before the time limit are checked then.
                Err(_) if is_late && !collected.is_empty() => self.worker.clock.now(),
                other => other?,
            };
            let ns = messages.done_ns.saturating_sub(operation.started_ns);
            self.report(Event::EventsReceived { ns });
            if is_late && wanted.is_some() {
                return Err(StepFault::Unexpected("arguments", NOT_VALID));
            }
            let json = Value::Array(collected).to_string();
            return self.judge_arguments(expected, &json, true, messages);
        }
        read?;
        messages.done_ns = last_ns;
        if failed_capture {
            return Err(StepFault::CaptureFailed);
        }
        Ok(())
    }

    /// Checks a list of arguments, and extracts captures. By Artillery's rule, a failed capture
    /// counts as a failed match.
    fn judge_arguments(
        &mut self,
        expected: &ExpectedMessage,
        json: &str,
        is_collected: bool,
        messages: &mut Messages,
    ) -> Result<(), StepFault> {
        if expected.content.is_empty() {
            return Ok(());
        }
        let answer = answer(json);
        let left = self.worker.memory.left();
        let mut inspection = Inspection::new(&answer, left, Unpacking::Strict);
        let failed = self.failed_check(&expected.content, &mut inspection);
        let captured = match failed {
            Some(_) => Ok(()),
            None => self.capture(&expected.content, &mut inspection),
        };
        if failed.is_some() || captured.is_err() {
            messages.keep(json.as_bytes());
        }
        match (failed, captured) {
            (Some(failure), _) => Err(StepFault::Failed(failure)),
            (None, Err(_)) if is_collected => Err(StepFault::Unexpected("match", FAILED_MATCH)),
            (None, Err(_)) => Err(StepFault::CaptureFailed),
            (None, Ok(())) => Ok(()),
        }
    }

    /// Returns whether the collected arguments are as expected.
    fn fits(&mut self, fits: &ArgumentMatch, collected: &[Value]) -> bool {
        let ArgumentMatch::Collected {
            expected: Some(expected),
            is_joined,
        } = fits
        else {
            return false;
        };
        let expected = expected.eval(&self.vars, &mut self.rng);
        match (expected, collected.last()) {
            (Some(Value::Array(list)), _) => list == collected,
            (Some(Value::String(text)), _) if *is_joined => {
                let joined = collected.iter().map(|it| value::text(Some(it)));
                joined.collect::<String>().contains(&text)
            }
            (Some(Value::String(text)), Some(Value::String(last))) => last.contains(&text),
            (Some(wanted), Some(last)) => wanted == *last,
            _ => false,
        }
    }
}

/// A step that waits for events.
struct AwaitedEvents<'m> {
    event: String,
    namespace: &'m str,
    expect: &'m EventExpectation,
    expected: &'m ExpectedMessage,
    left: u32,
    /// Arguments of all events so far, which Artillery's rule needs.
    collected: Vec<Value>,
    last_ns: u64,
    failed_capture: bool,
    messages: &'m mut Messages,
}

impl AwaitedEvents<'_> {
    fn receive(&mut self, user: &mut User<'_>, packet: &Packet<'_>, now_ns: u64) -> Claim {
        let is_event = matches!(packet.kind, PacketKind::Event | PacketKind::BinaryEvent);
        if !is_event || packet.namespace != self.namespace {
            return Claim::Unclaimed;
        }
        let Some(mut values) = list(packet.json) else {
            return Claim::Unclaimed;
        };
        let is_named = values.first().and_then(Value::as_str) == Some(&self.event);
        if !is_named {
            self.messages.keep(packet.json.as_bytes());
            return Claim::Unclaimed;
        }
        values.remove(0);
        if let ArgumentMatch::Collected { .. } = self.expect.fits {
            self.collected.append(&mut values);
            self.messages.first_read_ns.get_or_insert(now_ns);
            self.messages.keep(packet.json.as_bytes());
            return match user.fits(&self.expect.fits, &self.collected) {
                true => Claim::Last,
                false => Claim::Awaited,
            };
        }
        self.receive_one(user, &Value::Array(values).to_string(), now_ns)
    }

    /// Checks a single event. An event that does not meet the conditions is skipped.
    fn receive_one(&mut self, user: &mut User<'_>, json: &str, now_ns: u64) -> Claim {
        let content = &self.expected.content;
        if !content.is_empty() {
            let answer = answer(json);
            let left = user.worker.memory.left();
            let mut inspection = Inspection::new(&answer, left, Unpacking::Strict);
            // Random values in conditions must not depend on the number of events.
            let drawn_from = user.rng.clone();
            if user.failed_check(content, &mut inspection).is_some() {
                user.rng = drawn_from;
                self.messages.keep(json.as_bytes());
                return Claim::Unclaimed;
            }
            if self.left == 1 {
                self.failed_capture = user.capture(content, &mut inspection).is_err();
            }
        }
        if user.worker.common.walks || self.failed_capture {
            self.messages.keep(json.as_bytes());
        }
        self.messages.first_read_ns.get_or_insert(now_ns);
        self.last_ns = now_ns;
        self.left -= 1;
        match self.left {
            0 => Claim::Last,
            _ => Claim::Awaited,
        }
    }
}

/// Returns the arguments as a response body, so that conditions can be applied.
fn answer(json: &str) -> Response {
    Response {
        body: json.as_bytes().to_vec(),
        body_bytes: json.len() as u64,
        ..Response::default()
    }
}

fn list(json: &str) -> Option<Vec<Value>> {
    serde_json::from_str(json).ok()
}
