//! Counts of a worker's clients, reported by name at the end. Counts of workers add up.

use std::cell::Cell;

macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// Counts of a worker.
        #[derive(Debug, Default)]
        #[expect(missing_docs, reason = "the names of most counts say it")]
        pub struct Counts { $($(#[doc = $doc])* pub $name: Cell<u64>,)* }

        impl Counts {
            /// Every count with its name.
            #[must_use]
            pub fn all(&self) -> Vec<(&'static str, u64)> {
                vec![$((stringify!($name), self.$name.get()),)*]
            }
        }
    };
}

counts! {
    connected,
    /// Accepted connections after a client's first.
    reconnected,
    refused,
    /// Connections that failed otherwise or were closed by the server.
    broken,
    /// Messages planned by a group's own pace, which the load's ledger does not include.
    planned,
    due,
    sent,
    resent,
    /// Messages that the server has certainly read: acknowledged (QoS 2: PUBREC), or QoS 0 followed
    /// by an answered PINGREQ.
    confirmed,
    turned_down,
    /// Messages neither confirmed nor lost 1 s after the load.
    unconfirmed,
    /// Messages confirmed without error within 1 s after the load.
    in_time,
    /// QoS 2 messages whose session was lost between PUBREC and PUBCOMP.
    incomplete,
    /// Messages of an own pace skipped before subscriptions were answered.
    held,
    /// Delay of publishing until subscriptions were answered, in nanoseconds.
    start_delay_ns,
    unanswered_subscriptions,
    unknown,
    /// Messages due and never sent.
    unsent,
    /// Time that sockets accepted nothing, in nanoseconds, summed over connections.
    blocked_ns,
    /// Deliveries expected from sent messages that were not refused.
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

/// Counts reported during the run, as increases, for stop rules.
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
