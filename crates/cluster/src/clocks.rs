//! How far another machine's monotonic clock is from this one's, by asking it what time it is: of many questions, the one that was answered
//! soonest says most. Who asks is somebody else's business.

/// So far two clocks may come apart between two questions: 50 millionths of ten seconds.
const DRIFT_NS: u64 = 500_000;

/// One question and its answer, all in nanoseconds: asked and answered by this clock, came and went by the other's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// When it was asked.
    pub asked_ns: u64,
    /// When the question came there.
    pub came_ns: u64,
    /// When the answer went.
    pub went_ns: u64,
    /// When it was here.
    pub answered_ns: u64,
}

/// What is known of another clock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offset {
    /// The other clock less this one, in nanoseconds.
    pub ns: i64,
    /// It is not off from that by more: half of what the question and its answer took on their way.
    pub error_ns: u64,
}

impl Exchange {
    /// What this exchange says.
    #[must_use]
    pub fn offset(&self) -> Offset {
        let there = i128::from(self.came_ns) - i128::from(self.asked_ns);
        let back = i128::from(self.went_ns) - i128::from(self.answered_ns);
        let travelled = (self.answered_ns.saturating_sub(self.asked_ns))
            .saturating_sub(self.went_ns.saturating_sub(self.came_ns));
        Offset {
            ns: i64::try_from((there + back) / 2).unwrap_or(0),
            error_ns: travelled.div_ceil(2),
        }
    }
}

impl Offset {
    /// A moment of this clock, by the other.
    #[must_use]
    pub fn there(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ns)
    }

    /// What is known behind a later exchange: that one, unless what was known is much better, which then is a little less so.
    #[must_use]
    pub fn renewing(self, known: Option<Offset>) -> Offset {
        match known {
            Some(known) if known.error_ns.saturating_add(DRIFT_NS) * 2 < self.error_ns => Offset {
                error_ns: known.error_ns.saturating_add(DRIFT_NS),
                ..known
            },
            _ => self,
        }
    }

    /// How far two of the same clock are from being true together, in nanoseconds; none where they can be. A clock that was set or stood
    /// still between the two is such a one.
    #[must_use]
    pub fn contradicts(self, other: Offset) -> Option<u64> {
        let may_be = self.error_ns.saturating_add(other.error_ns);
        let astray = self.ns.abs_diff(other.ns).saturating_sub(may_be);
        (astray > DRIFT_NS).then_some(astray)
    }

    /// The better of two.
    #[must_use]
    pub fn or(self, other: Option<Offset>) -> Offset {
        other
            .filter(|known| known.error_ns <= self.error_ns)
            .unwrap_or(self)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_truth_lies_within_what_is_said(
            truth in -4_000_000_000_000i64..4_000_000_000_000,
            ways in prop::collection::vec((0..5_000_000u64, 0..5_000_000u64, 0..1_000_000u64), 1..64),
        ) {
            let mut best: Option<Offset> = None;
            let mut now = 10_000_000_000_000u64;
            for (there, back, held) in ways {
                let came_ns = (now + there).saturating_add_signed(truth);
                let exchange = Exchange {
                    asked_ns: now,
                    came_ns,
                    went_ns: came_ns + held,
                    answered_ns: now + there + held + back,
                };
                now = exchange.answered_ns;
                let offset = exchange.offset();
                prop_assert!(offset.ns.abs_diff(truth) <= offset.error_ns + 1);
                prop_assert_eq!(best.and_then(|best| offset.contradicts(best)), None);
                best = Some(offset.or(best));
            }
            let best = best.unwrap();
            prop_assert!(best.ns.abs_diff(truth) <= best.error_ns + 1);
            prop_assert_eq!(best.there(1_000), 1_000u64.saturating_add_signed(best.ns));
        }
    }
    #[test]
    fn a_clock_that_was_set_contradicts_itself() {
        let at = |ns: i64| Offset {
            ns,
            error_ns: 100_000,
        };
        assert_eq!(at(5_000_000).contradicts(at(0)), Some(4_800_000));
        assert_eq!(at(-5_000_000).contradicts(at(0)), Some(4_800_000));
        // As far as two good clocks come apart.
        assert_eq!(at(600_000).contradicts(at(0)), None);
        assert_eq!(
            at(i64::MIN).contradicts(at(i64::MAX)),
            Some(u64::MAX - 200_000)
        );
    }
}
