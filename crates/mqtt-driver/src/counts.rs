//! Counts of a worker's clients. Workers report them by name at the end, and the counts of all
//! workers are added up.

use std::cell::Cell;

macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// The counts of one worker.
        #[derive(Debug, Default)]
        #[expect(missing_docs, reason = "most names are self-explanatory")]
        pub struct Counts { $($(#[doc = $doc])* pub $name: Cell<u64>,)* }

        impl Counts {
            /// Returns all counts with their names.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counts! {
    connected,
    /// Accepted connections, except for the first connection of each client.
    reconnected,
    refused,
    /// Connections that failed for other reasons, or that the server closed.
    broken,
    /// Messages that a group's own pace planned. The ledger of the load does not include them.
    planned,
    due,
    sent,
    resent,
    /// Messages that the server has certainly read: acknowledged messages (for QoS 2, by PUBREC),
    /// and QoS 0 messages followed by an answered PINGREQ.
    confirmed,
    turned_down,
    /// Messages neither confirmed nor lost 1 s after the load.
    unconfirmed,
    /// Messages confirmed without error within 1 s after the load.
    in_time,
    /// QoS 2 messages whose session was lost between PUBREC and PUBCOMP.
    incomplete,
    /// Messages of a group with its own pace that were skipped because subscriptions had not been
    /// answered yet.
    held,
    /// Delay of publishing until all subscriptions were answered, in nanoseconds.
    start_delay_ns,
    unanswered_subscriptions,
    unknown,
    /// Messages that were due but never sent.
    unsent,
    /// Total time in which sockets accepted no bytes, in nanoseconds. Times of different
    /// connections add up.
    blocked_ns,
    /// Expected deliveries of messages that were sent and not refused.
    expected,
    expected_of_unknown,
    received,
    again,
    late,
    skipped,
    filled,
    foreign,
    filters_refused,
    stray,
}

/// Counts that workers report during the run for stop rules, as increases since the last report.
pub const PROGRESS: [&str; 6] = [
    "so_far_due",
    "so_far_unknown",
    "so_far_unsent",
    "so_far_received",
    "so_far_missing",
    "so_far_again",
];

pub(crate) fn add(count: &Cell<u64>, n: u64) {
    count.set(count.get() + n);
}
