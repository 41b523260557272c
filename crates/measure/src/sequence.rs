//! Counts the messages that one receiver gets from one publisher: received, missing, repeated and
//! late.
//!
//! The counts are exact for any delay, as long as the number of gaps stays below a limit.
//! [`Sequence::is_exact`] reports whether it did.

use std::collections::VecDeque;

/// Maximum number of gaps. Beyond this number, the oldest gap is dropped, and a message that fills
/// it later counts as repeated.
const MAX_GAPS: usize = 4096;

/// The class of a received message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// The message's number is higher than all earlier numbers.
    New,
    /// The message is new, but arrived after a message that was sent later.
    Late,
    /// The message was received before.
    Again,
}

/// The messages that one receiver got from one publisher. Takes little memory while they arrive in
/// order, because a run may have many receivers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Sequence {
    next: u64,
    received: u64,
    /// `None` until a message arrives out of order.
    irregular: Option<Box<Irregular>>,
}

/// Gaps and counts that are needed once a message arrived out of order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Irregular {
    /// Missing numbers below `next`, as ascending half-open ranges.
    gaps: VecDeque<(u64, u64)>,
    late: u64,
    again: u64,
    given_up: u64,
}

impl Sequence {
    /// Creates a counter that expects `first` as the first number.
    #[must_use]
    pub fn from(first: u64) -> Sequence {
        Sequence {
            next: first,
            ..Sequence::default()
        }
    }

    /// Counts a message with the number `sequence`, and classifies it.
    #[inline]
    pub fn came(&mut self, sequence: u64) -> Arrival {
        if sequence == self.next {
            self.next = self.next.saturating_add(1);
            self.received += 1;
            return Arrival::New;
        }
        self.out_of_turn(sequence)
    }

    #[cold]
    fn out_of_turn(&mut self, sequence: u64) -> Arrival {
        let irregular = self.irregular.get_or_insert_default();
        let gaps = &mut irregular.gaps;
        if sequence > self.next {
            if gaps.len() == MAX_GAPS
                && let Some((from, to)) = gaps.pop_front()
            {
                irregular.given_up += to - from;
            }
            gaps.push_back((self.next, sequence));
            self.next = sequence.saturating_add(1);
            self.received += 1;
            return Arrival::New;
        }
        let at = gaps.partition_point(|(_, to)| *to <= sequence);
        let Some((from, to)) = gaps.get(at).copied().filter(|gap| gap.0 <= sequence) else {
            irregular.again += 1;
            return Arrival::Again;
        };
        match (from == sequence, to == sequence + 1) {
            (true, true) => {
                gaps.remove(at);
            }
            (true, false) => gaps[at].0 = sequence + 1,
            (false, true) => gaps[at].1 = sequence,
            (false, false) => {
                gaps[at].1 = sequence;
                gaps.insert(at + 1, (sequence + 1, to));
            }
        }
        self.received += 1;
        irregular.late += 1;
        Arrival::Late
    }

    /// Returns the number of distinct messages received.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Returns the number of late messages: those that arrived after a message that was sent later.
    #[must_use]
    pub fn late(&self) -> u64 {
        self.irregular.as_ref().map_or(0, |of| of.late)
    }

    /// Returns the number of repeated messages.
    #[must_use]
    pub fn again(&self) -> u64 {
        self.irregular.as_ref().map_or(0, |of| of.again)
    }

    /// Returns the highest received number plus one.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns whether the message with this number was received.
    #[must_use]
    pub fn contains(&self, sequence: u64) -> bool {
        let Some(Irregular { gaps, .. }) = self.irregular.as_deref() else {
            return sequence < self.next;
        };
        let at = gaps.partition_point(|(_, to)| *to <= sequence);
        sequence < self.next && gaps.get(at).is_none_or(|(from, _)| sequence < *from)
    }

    /// Returns the number of missing messages, if `sent` messages were sent.
    #[must_use]
    pub fn missing(&self, sent: u64) -> u64 {
        let within: u64 = self.gaps().map(|(from, to)| to - from).sum();
        let given_up = self.irregular.as_ref().map_or(0, |of| of.given_up);
        within + given_up + sent.saturating_sub(self.next)
    }

    /// Returns the missing numbers below the highest received number, as half-open ranges.
    pub fn gaps(&self) -> impl Iterator<Item = (u64, u64)> {
        let gaps = self.irregular.as_ref().map(|of| of.gaps.iter().copied());
        gaps.into_iter().flatten()
    }

    /// Returns whether the counts are exact. If there were too many gaps, late messages may have
    /// counted as repeated.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.irregular.as_ref().is_none_or(|of| of.given_up == 0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn losses_are_identified_by_number() {
        let mut sequence = Sequence::default();
        let came: Vec<_> = [0, 1, 4, 3, 3, 9].map(|n| sequence.came(n)).into();
        use Arrival::{Again, Late, New};
        assert_eq!(came, [New, New, New, Late, Again, New]);
        assert_eq!(sequence.gaps().collect::<Vec<_>>(), [(2, 3), (5, 9)]);
        assert_eq!(sequence.missing(12), 1 + 4 + 2);
        assert_eq!(Sequence::from(5).missing(7), 2);
    }

    #[test]
    fn too_many_gaps_are_reported() {
        let mut sequence = Sequence::default();
        for n in 0..=MAX_GAPS as u64 {
            sequence.came(2 * n + 1);
        }
        assert!(!sequence.is_exact());
        assert_eq!(
            sequence.missing(2 * MAX_GAPS as u64 + 2),
            MAX_GAPS as u64 + 1
        );
        assert_eq!(sequence.came(0), Arrival::Again);
        assert_eq!(sequence.came(2), Arrival::Late);
    }

    proptest! {
        #[test]
        fn counts_match_a_set(came in prop::collection::vec(0..200u64, 0..400)) {
            let (mut sequence, mut seen) = (Sequence::default(), HashSet::new());
            let (mut late, mut again, mut highest) = (0, 0, None);
            for n in came {
                let is_new = seen.insert(n);
                let expected = match (is_new, highest.is_some_and(|h| n < h)) {
                    (false, _) => { again += 1; Arrival::Again }
                    (true, true) => { late += 1; Arrival::Late }
                    (true, false) => Arrival::New,
                };
                prop_assert_eq!(sequence.came(n), expected);
                highest = highest.max(Some(n));
            }
            prop_assert_eq!((sequence.late(), sequence.again()), (late, again));
            prop_assert_eq!(sequence.received(), seen.len() as u64);
            prop_assert_eq!(sequence.missing(200), 200 - seen.len() as u64);
            for n in 0..=200 {
                prop_assert_eq!(sequence.contains(n), seen.contains(&n));
            }
        }
    }
}
