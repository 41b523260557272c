//! What a worker's clients have counted, told to the front door's accumulator by name at the end of the run. Sums: those of all workers
//! add up.

use std::cell::Cell;

macro_rules! counts {
    ($($(#[doc = $doc:literal])* $name:ident,)*) => {
        /// What was counted.
        #[derive(Debug, Default)]
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
    /// Connections that the server accepted.
    connected,
    /// Those of them that were not a client's first.
    reconnected,
    /// Connections that the server refused by name.
    refused,
    /// Connections that failed otherwise, or ended by themselves.
    broken,
    /// Messages that a pace of one's own plans; those that the load plans stand in its own ledger.
    planned,
    /// Messages that were due.
    due,
    /// Messages whose every byte the socket has taken.
    sent,
    /// How often messages were sent anew, beyond their first time.
    resent,
    /// Messages that the server has certainly read: acknowledged (of QoS 2: received), or of QoS 0 with an answered PINGREQ behind them.
    confirmed,
    /// Messages that the server has acknowledged with a refusal.
    turned_down,
    /// Messages that the server had neither confirmed nor lost 1 s after the end of the load.
    unconfirmed,
    /// Messages that the server had certainly read, and not refused, 1 s after the end of the load.
    in_time,
    /// Confirmed messages of QoS 2 whose session was lost between PUBREC and PUBCOMP.
    incomplete,
    /// Messages that a pace of its own left out because subscriptions had no answer yet.
    held,
    /// Nanoseconds by which publishing started late, because subscriptions had no answer yet.
    start_delay_ns,
    /// Subscriptions that had no answer when publishing started without them.
    unanswered_subscriptions,
    /// Messages of which nobody knows what became: in flight when a session was lost, or at the end.
    unknown,
    /// Messages that were due and never sent.
    unsent,
    /// Nanoseconds for which sockets took no more bytes, summed over connections.
    blocked_ns,
    /// Deliveries that follow from what was sent and not refused.
    expected,
    /// Those of them that follow from messages of which it is unknown whether the server has read them.
    expected_of_unknown,
    /// Deliveries, each counted once.
    received,
    /// Deliveries of what had been delivered before.
    again,
    /// Deliveries behind one that was sent later.
    late,
    /// Sequence numbers that were skipped when a later one was delivered.
    skipped,
    /// Deliveries of numbers that had been skipped.
    filled,
    /// Messages without a stamp of this run.
    foreign,
    /// Filters that the server refused.
    filters_refused,
    /// Acknowledgements of nothing that was under way.
    stray,
}

/// What is reported while the run lasts, for stop rules: each as the increase since the last report.
pub const PROGRESS: [&str; 6] = [
    "so_far_due",
    "so_far_unknown",
    "so_far_unsent",
    "so_far_received",
    "so_far_missing",
    "so_far_again",
];

/// Adds to a count.
pub(crate) fn add(count: &Cell<u64>, n: u64) {
    count.set(count.get() + n);
}
