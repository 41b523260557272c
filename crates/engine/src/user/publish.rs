//! Publications of a user: stamps messages before they are sent, and records the results.

use measure::sample::RequestOutcome;
use plan::listen::{INTENDED, MESSAGE, SENDER};
use serde_json::Value;

use super::{User, operation::Operation};
use crate::publications::{MessageStamp, PublicationOutcome};
use worker::client::Exchange;

impl User<'_> {
    /// Sets the variables that identify the message of an operation. Returns `None` if the step
    /// does not publish, or without listeners.
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

    /// Records the result of publishing a stamped message. `outcome` is `None` if nothing was sent.
    pub(super) fn note_publication(
        &self,
        stamp: MessageStamp,
        operation: Operation,
        outcome: Option<PublicationOutcome>,
    ) {
        if let Some(outcome) = outcome {
            self.publisher
                .add_publication(stamp, operation.started_ns, outcome);
        }
    }
}

/// Returns the result of publishing the message in a request. `None` if nothing was sent.
pub(super) fn outcome_of_request(
    exchange: &Exchange,
    ended: RequestOutcome,
) -> Option<PublicationOutcome> {
    exchange.moments.first_write?;
    Some(match ended {
        RequestOutcome::Unanswered(_) => PublicationOutcome::Unknown,
        _ if exchange.answer.status >= 400 => PublicationOutcome::Refused,
        _ => PublicationOutcome::Sent,
    })
}
