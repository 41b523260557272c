//! Deliveries to one listener, and their comparison with the publications.

use std::ops::Range;

use measure::sequence::{Arrival, Sequence};

use crate::publications::{Publication, PublicationOutcome};

/// The messages that a listener received, by publisher.
#[derive(Debug, Default)]
pub(super) struct Deliveries {
    sequences: Vec<Sequence>,
    /// Number of distinct messages.
    received: u64,
}

/// A received message, and the number of missing messages that precede it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Receipt {
    pub arrival: Arrival,
    /// Number of lower-numbered messages that the listener has not received, and that now count as
    /// missing.
    pub skipped: u64,
}

/// The period in which a listener was connected, in nanoseconds of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Membership {
    /// When the connection became ready.
    pub from_ns: u64,
    /// When the connection ended. `u64::MAX` if the client closed it after the load.
    pub until_ns: u64,
}

/// All publications of a run, prepared for comparison with many listeners.
#[derive(Debug)]
pub(super) struct PublicationIndex {
    /// Publications, ordered by time.
    all: Vec<Publication>,
    /// Number of publications before each index that the server did not refuse, followed by their
    /// total.
    published: Vec<u64>,
    /// Number of messages of each publisher. `None` unless all messages were sent and are numbered
    /// from 0 without gaps.
    complete: Option<Vec<u64>>,
}

impl PublicationIndex {
    /// Prepares publications, which must be ordered by time.
    pub fn new(all: Vec<Publication>) -> PublicationIndex {
        let mut published = vec![0];
        let mut counts: Vec<u64> = Vec::new();
        let mut ends: Vec<u64> = Vec::new();
        for one in &all {
            let is_published = one.outcome != PublicationOutcome::Refused;
            let before = published.last().copied().unwrap_or(0);
            published.push(before + u64::from(is_published));
            let publisher = one.publisher as usize;
            if publisher >= counts.len() {
                counts.resize(publisher + 1, 0);
                ends.resize(publisher + 1, 0);
            }
            counts[publisher] += 1;
            ends[publisher] = ends[publisher].max(one.message.saturating_add(1));
        }
        let is_complete = all
            .iter()
            .all(|one| one.outcome == PublicationOutcome::Sent);
        PublicationIndex {
            complete: (is_complete && counts == ends).then_some(counts),
            all,
            published,
        }
    }

    /// Returns all publications, ordered by time.
    pub fn all(&self) -> &[Publication] {
        &self.all
    }

    /// Returns the number of publications that the server did not refuse.
    pub fn published(&self) -> u64 {
        self.published.last().copied().unwrap_or(0)
    }

    /// Returns the index range of the publications during a membership.
    fn during(&self, membership: Option<Membership>) -> Range<usize> {
        membership.map_or(0..0, |member| {
            let before = |ns: u64| self.all.partition_point(|one| one.at_ns < ns);
            before(member.from_ns)..before(member.until_ns)
        })
    }

    /// Returns the number of deliveries that a listener should receive.
    pub fn expected(&self, membership: Option<Membership>) -> u64 {
        let Range { start, end } = self.during(membership);
        self.published[end.max(start)] - self.published[start]
    }
}

/// Number of deliveries that listeners should have received, and their results.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct DeliveryCounts {
    /// Deliveries of messages that were published while the listener was connected, except for
    /// messages that the server refused.
    pub expected: u64,
    /// Expected deliveries that arrived.
    pub received: u64,
    /// Expected deliveries that did not arrive, of messages whose publication got no response.
    pub missing_of_unknown: u64,
    /// Messages that arrived unexpectedly: the server had refused them, or the listener was not
    /// connected yet.
    pub not_due: u64,
    /// Messages that were published while the listener was not connected.
    pub absent: u64,
    /// 1 if the listener missed a message.
    pub listeners_with_losses: u64,
}

impl DeliveryCounts {
    pub fn add(&mut self, other: &DeliveryCounts) {
        self.expected += other.expected;
        self.received += other.received;
        self.missing_of_unknown += other.missing_of_unknown;
        self.not_due += other.not_due;
        self.absent += other.absent;
        self.listeners_with_losses += other.listeners_with_losses;
    }
}

impl Deliveries {
    /// Counts a received message. The caller limits the number of publishers.
    #[inline]
    pub fn receive(&mut self, publisher: u32, message: u64) -> Receipt {
        let publisher = publisher as usize;
        if publisher >= self.sequences.len() {
            self.sequences.resize_with(publisher + 1, Sequence::default);
        }
        let sequence = &mut self.sequences[publisher];
        // Messages that a listener missed before its first message may not have been expected.
        let next = match sequence.received() {
            0 => message,
            _ => sequence.next(),
        };
        let arrival = sequence.came(message);
        self.received += u64::from(arrival != Arrival::Again);
        Receipt {
            arrival,
            skipped: message.saturating_sub(next),
        }
    }

    /// Returns whether the listener received exactly `counts` messages of each publisher.
    fn has_exactly(&self, counts: &[u64]) -> bool {
        let complete = |publisher: usize| {
            let next = self.sequences.get(publisher).map_or(0, Sequence::next);
            next == counts.get(publisher).copied().unwrap_or(0)
        };
        let has_gaps = |one: &Sequence| one.gaps().next().is_some() || !one.is_exact();
        !self.sequences.iter().any(has_gaps)
            && (0..self.sequences.len().max(counts.len())).all(complete)
    }

    fn contains(&self, publication: &Publication) -> bool {
        let sequence = self.sequences.get(publication.publisher as usize);
        sequence.is_some_and(|sequence| sequence.contains(publication.message))
    }

    /// Returns the number of messages that [`Deliveries::contains`] wrongly reports as received,
    /// because there were too many gaps to store all of them. The result may be too high, but never
    /// too low.
    fn counted_in_excess(&self, due: &[Publication]) -> u64 {
        let inexact = self.sequences.iter().enumerate();
        let inexact = inexact.filter(|(_, sequence)| !sequence.is_exact());
        let excess = inexact.map(|(publisher, sequence)| {
            let of_publisher = due.iter().filter(|one| {
                one.publisher as usize == publisher
                    && one.outcome != PublicationOutcome::Refused
                    && sequence.contains(one.message)
            });
            (of_publisher.count() as u64).saturating_sub(sequence.received())
        });
        excess.sum()
    }

    /// Compares the messages that a listener received with all publications. `membership` is `None`
    /// if the listener was never connected.
    pub fn count(
        &self,
        publications: &PublicationIndex,
        membership: Option<Membership>,
    ) -> DeliveryCounts {
        let during = publications.during(membership);
        let is_whole = during == (0..publications.all.len());
        if let Some(counts) = &publications.complete
            && is_whole
            && self.has_exactly(counts)
        {
            return DeliveryCounts {
                expected: publications.published(),
                received: publications.published(),
                ..DeliveryCounts::default()
            };
        }
        let due = publications.all.get(during).unwrap_or_default();
        let is_published = |one: &&Publication| one.outcome != PublicationOutcome::Refused;
        let mut counts = DeliveryCounts::default();
        for publication in due.iter().filter(is_published) {
            let is_received = self.contains(publication);
            counts.expected += 1;
            counts.received += u64::from(is_received);
            let is_unknown = publication.outcome == PublicationOutcome::Unknown;
            counts.missing_of_unknown += u64::from(is_unknown && !is_received);
        }
        counts.received -= self.counted_in_excess(due);
        counts.absent = publications.published() - counts.expected;
        counts.not_due = self.received.saturating_sub(counts.received);
        let lost = counts.expected - counts.received - counts.missing_of_unknown;
        counts.listeners_with_losses = u64::from(lost > 0);
        counts
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    fn publication(publisher: u32, message: u64, at_ns: u64) -> Publication {
        Publication {
            publisher,
            message,
            at_ns,
            outcome: PublicationOutcome::Sent,
        }
    }

    const ALWAYS: Membership = Membership {
        from_ns: 0,
        until_ns: u64::MAX,
    };

    #[test]
    fn deliveries_are_due_while_the_listener_is_connected() {
        let all: Vec<Publication> = (0..10).map(|n| publication(0, n, 10 * n)).collect();
        let mut deliveries = Deliveries::default();
        for message in [2, 3, 5, 5] {
            deliveries.receive(0, message);
        }
        let membership = Membership {
            from_ns: 30,
            until_ns: 70,
        };
        let counts = deliveries.count(&PublicationIndex::new(all.clone()), Some(membership));
        assert_eq!(
            counts,
            DeliveryCounts {
                expected: 4,
                received: 2,
                missing_of_unknown: 0,
                not_due: 1,
                absent: 6,
                listeners_with_losses: 1,
            }
        );
        let never = Deliveries::default().count(&PublicationIndex::new(all), None);
        assert_eq!((never.expected, never.absent), (0, 10));
    }

    #[test]
    fn refused_messages_are_not_due_and_unknown_ones_may_be_missing() {
        let mut all: Vec<Publication> = (0..4).map(|n| publication(0, n, n)).collect();
        all[1].outcome = PublicationOutcome::Refused;
        all[2].outcome = PublicationOutcome::Unknown;
        all[3].outcome = PublicationOutcome::Unknown;
        let mut deliveries = Deliveries::default();
        for message in [0, 1, 3] {
            deliveries.receive(0, message);
        }
        let counts = deliveries.count(&PublicationIndex::new(all), Some(ALWAYS));
        assert_eq!((counts.expected, counts.received), (3, 2));
        assert_eq!((counts.missing_of_unknown, counts.not_due), (1, 1));
        assert_eq!(counts.listeners_with_losses, 0);
    }

    #[test]
    fn losses_are_counted_beyond_the_gaps_that_are_remembered() {
        let all: Vec<Publication> = (0..40_000).map(|n| publication(0, n, n)).collect();
        let mut deliveries = Deliveries::default();
        for message in (0..40_000).step_by(2) {
            deliveries.receive(0, message);
        }
        let counts = deliveries.count(&PublicationIndex::new(all), Some(ALWAYS));
        assert_eq!((counts.expected, counts.received), (40_000, 20_000));
        assert_eq!(counts.not_due, 0);
    }

    #[test]
    fn order_is_judged_per_publisher() {
        let mut deliveries = Deliveries::default();
        let arrivals = [(0, 0), (1, 1), (0, 1), (1, 0)];
        let arrivals = arrivals.map(|(publisher, n)| deliveries.receive(publisher, n));
        use Arrival::{Late, New};
        assert_eq!(arrivals.map(|one| one.arrival), [New, New, New, Late]);
        assert_eq!(arrivals.map(|one| one.skipped), [0, 0, 0, 0]);
        assert_eq!(deliveries.receive(0, 4).skipped, 2);
    }

    #[test]
    fn complete_deliveries_are_counted_without_a_search() {
        let all: Vec<Publication> = (0..6)
            .map(|n| publication((n % 2) as u32, n / 2, n))
            .collect();
        let index = PublicationIndex::new(all);
        assert_eq!(index.complete, Some(vec![3, 3]));
        let mut deliveries = Deliveries::default();
        for n in [1, 0, 2, 3, 3, 4] {
            deliveries.receive(n % 2, u64::from(n / 2));
        }
        let count = |deliveries: &Deliveries| {
            let counts = deliveries.count(&index, Some(ALWAYS));
            (counts.expected, counts.received, counts.not_due)
        };
        assert_eq!(count(&deliveries), (6, 5, 0));
        deliveries.receive(1, 2);
        assert!(deliveries.has_exactly(&[3, 3]));
        assert_eq!(count(&deliveries), (6, 6, 0));
        deliveries.receive(1, 3);
        assert_eq!(
            count(&deliveries),
            (6, 6, 1),
            "a message that was not published"
        );
    }

    proptest! {
        #[test]
        fn counts_match_sets(
            received in prop::collection::vec((0..3u32, 0..40u64), 0..150),
            from_ns in 0..130u64,
            length_ns in 0..130u64,
        ) {
            let all: Vec<Publication> = (0..120)
                .map(|at| publication((at % 3) as u32, at / 3, at))
                .collect();
            let mut deliveries = Deliveries::default();
            for (publisher, message) in &received {
                deliveries.receive(*publisher, *message);
            }
            let seen: HashSet<(u32, u64)> = received.into_iter().collect();
            let until_ns = from_ns + length_ns;
            let due: Vec<&Publication> = all
                .iter()
                .filter(|one| (from_ns..until_ns).contains(&one.at_ns))
                .collect();
            let had = due.iter().filter(|one| seen.contains(&(one.publisher, one.message)));
            let had = had.count() as u64;
            let (due, had) = (due.len() as u64, had);
            let index = PublicationIndex::new(all);
            let membership = Some(Membership { from_ns, until_ns });
            let counts = deliveries.count(&index, membership);
            prop_assert_eq!((counts.expected, index.expected(membership)), (due, due));
            prop_assert_eq!(counts.received, had);
            prop_assert_eq!(counts.not_due, seen.len() as u64 - had);
            prop_assert_eq!(counts.expected + counts.absent, 120);
        }
    }
}
