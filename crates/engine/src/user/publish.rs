//! Publications of a user: stamps messages before they are sent, and notes what became of them.

use measure::sample::RequestOutcome;
use plan::listen::{INTENDED, MESSAGE, SENDER};
use serde_json::Value;

use super::{User, operation::Operation};
use crate::publications::{MessageStamp, PublicationFate};
use worker::client::Exchange;

impl User<'_> {
    /// Sets the variables that identify the message of an operation. `None` if the step does not
    /// publish, or if there are no listeners.
    pub(super) fn stamp(&mut self, publishes: bool, operation: Operation) -> Option<MessageStamp> {
        if !publishes {
            return None;
        }
        let stamp = self
            .publishers
            .map(|publishers| self.publisher.stamp(publishers));
        let sender = stamp.map_or(0, |stamp| stamp.sender);
        let message = stamp.map_or(0, |stamp| stamp.message);
        self.vars
            .set(INTENDED, Value::from(operation.intended.ns()));
        self.vars.set(SENDER, Value::from(sender));
        self.vars.set(MESSAGE, Value::from(message));
        stamp
    }

    /// Notes what became of a stamped message. `fate` is `None` if nothing was sent.
    pub(super) fn note_publication(
        &self,
        stamp: Option<MessageStamp>,
        operation: Operation,
        fate: Option<PublicationFate>,
    ) {
        if let (Some(stamp), Some(fate)) = (stamp, fate) {
            self.publisher
                .add_publication(stamp, operation.started_ns, fate);
        }
    }
}

/// Returns what became of the message in a request. `None` if nothing was sent.
pub(super) fn fate_of_request(
    exchange: &Exchange,
    ended: RequestOutcome,
) -> Option<PublicationFate> {
    exchange.moments.first_write?;
    Some(match ended {
        RequestOutcome::Unanswered(_) => PublicationFate::Unknown,
        _ if exchange.answer.status >= 400 => PublicationFate::Refused,
        _ => PublicationFate::Sent,
    })
}
