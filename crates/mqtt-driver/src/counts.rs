//! Counts of a worker's clients. They are reported by name at the end, and the counts of all
//! workers are added up.

use std::cell::Cell;

macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counts of a worker.
        #[derive(Debug, Default)]
        #[expect(missing_docs, reason = "the names of most counts say it")]
        pub struct Counts { $($(#[doc = $doc])* pub $name: Cell<u64>,)* }

        impl Counts {
            /// Every count, with its name.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counts! {
    connected,
    /// Accepted connections of a client after its first one.
    reconnected,
    refused,
    /// Connections that failed in another way, or that the server closed.
    broken,
    /// Messages that a group's own pace planned. The ledger of the load does not include them.
    planned,
    due,
    sent,
    resent,
    /// Messages that the server has certainly read: those that it acknowledged (QoS 2: PUBREC), and
    /// those of QoS 0 that were followed by an answered PINGREQ.
    confirmed,
    turned_down,
    /// Messages that were neither confirmed nor lost 1 s after the load.
    unconfirmed,
    /// Messages that were confirmed without error within 1 s after the load.
    in_time,
    /// QoS 2 messages whose session was lost between PUBREC and PUBCOMP.
    incomplete,
    /// Messages of a group with its own pace that were skipped, because subscriptions were not
    /// answered yet.
    held,
    /// How long publishing was delayed until subscriptions were answered, in nanoseconds.
    start_delay_ns,
    unanswered_subscriptions,
    unknown,
    /// Messages that were due and never sent.
    unsent,
    /// Time in which sockets accepted no bytes, in nanoseconds, summed over connections.
    blocked_ns,
    /// Deliveries to be expected from messages that were sent and not refused.
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

/// Counts that are reported during the run, as increases, for stop rules.
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
