//! Deliveries of messages: published messages, and how many of them each receiver got. MQTT
//! subscribers and WebSocket listeners share these figures.

use std::collections::BTreeMap;

use record::Run;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Published messages, and their deliveries to receivers of one kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DeliveryRow {
    /// Kind of receivers: `listeners` (of WebSocket connections) or `mqtt` (subscribers).
    pub receivers: String,
    /// Number of receivers in the plan. `None` for MQTT, where each subscription counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<u64>,
    /// Number of accepted connections. For MQTT, this includes publishers and reconnects.
    pub connected: u64,
    /// Receivers whose connection ended before the run did.
    pub left: u64,
    /// Messages that were sent.
    pub published: u64,
    pub refused: u64,
    /// Published messages without a response, so that it is unknown whether they arrived.
    pub unknown: u64,
    /// Expected deliveries: all messages that were not refused, to each receiver that was
    /// connected. `None` if some clients did not report.
    pub expected: Option<u64>,
    /// Expected deliveries that arrived.
    pub received: u64,
    /// Expected deliveries that did not arrive. `None` if `expected` is unknown.
    pub lost: Option<LostRange>,
    pub duplicates: u64,
    pub out_of_order: u64,
    /// Deliveries to receivers that were not connected when the message was published. `None` for
    /// MQTT, whose brokers may store messages.
    #[serde(default)]
    pub not_due: Option<u64>,
    /// Deliveries that arrived unexpectedly: the message was refused, or it was published before
    /// the receiver was ready.
    pub received_not_due: u64,
    /// Receivers that missed at least one message.
    pub receivers_with_losses: u64,
    /// Received messages from another run.
    pub foreign: u64,
    /// Received messages without a stamp.
    pub unstamped: u64,
}

/// The number of lost deliveries. It is a range if the fate of some messages is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LostRange {
    pub least: u64,
    pub most: u64,
}

impl DeliveryRow {
    /// Computes the figures from counts by name, as stored in `found.json`.
    #[must_use]
    pub fn from_counts(receivers: &str, counts: &BTreeMap<String, u64>) -> DeliveryRow {
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        let expected = counts.get("expected").copied();
        let received = of("received");
        DeliveryRow {
            receivers: receivers.to_owned(),
            planned: counts.get("listeners").copied(),
            connected: of("connected"),
            left: of("left"),
            published: of("due").saturating_sub(of("unsent")),
            refused: of("turned_down"),
            unknown: of("unknown"),
            expected,
            received,
            lost: expected.map(|expected| {
                let most = expected.saturating_sub(received);
                let least = most.saturating_sub(of("expected_of_unknown"));
                LostRange { least, most }
            }),
            duplicates: of("again"),
            out_of_order: of("late"),
            not_due: counts.get("absent").copied(),
            received_not_due: of("not_due"),
            receivers_with_losses: of("listeners_with_losses"),
            foreign: of("foreign"),
            unstamped: of("unstamped"),
        }
    }
}

/// Returns a row for each kind of receiver that has counts.
pub(super) fn rows(run: &Run) -> Vec<DeliveryRow> {
    let counts = |receivers: &str| -> Option<BTreeMap<String, u64>> {
        let members = run.found.as_ref()?.get(receivers)?.as_object()?.iter();
        let known = members.filter_map(|(name, n)| Some((name.clone(), n.as_u64()?)));
        Some(known.collect())
    };
    let row = |receivers: &str| {
        let counts = counts(receivers)?;
        let of = |name: &str| counts.get(name).copied().unwrap_or(0);
        let names = ["listeners", "expected"];
        let has_receivers =
            names.iter().any(|name| counts.contains_key(*name)) || of("received") > 0;
        has_receivers.then(|| DeliveryRow::from_counts(receivers, &counts))
    };
    ["listeners", "mqtt"].into_iter().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_a_range_if_messages_are_unknown_and_unknown_without_expected() {
        let counts = |counts: &[(&str, u64)]| -> DeliveryRow {
            let counts = counts.iter().map(|(name, n)| ((*name).to_owned(), *n));
            DeliveryRow::from_counts("mqtt", &counts.collect())
        };
        let row = counts(&[
            ("expected", 10),
            ("received", 7),
            ("expected_of_unknown", 2),
        ]);
        assert_eq!(row.lost, Some(LostRange { least: 1, most: 3 }));
        let row = counts(&[("received", 7), ("again", 2), ("late", 1)]);
        assert_eq!((row.expected, row.lost), (None, None));
        assert_eq!((row.duplicates, row.out_of_order), (2, 1));
    }
}
