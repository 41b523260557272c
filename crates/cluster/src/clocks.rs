//! Estimates the offset of another machine's monotonic clock from the exchange with the shortest
//! round trip.

/// Maximum drift between two exchanges: 50 ppm over ten seconds.
const DRIFT_NS: u64 = 500_000;

/// The timestamps of an exchange. `asked` and `answered` are from this clock, `came` and `went`
/// from the other clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClockExchange {
    pub asked_ns: u64,
    pub came_ns: u64,
    pub went_ns: u64,
    pub answered_ns: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Offset {
    pub ns: i64,
    /// Maximum error, which is half the round trip.
    pub error_ns: u64,
}

impl ClockExchange {
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
    #[must_use]
    pub fn there(&self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.ns)
    }

    /// Returns the newer offset, unless the known offset is still much more accurate after its
    /// drift.
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

    /// Returns how much two offsets contradict each other, for example because a clock was set.
    /// `None` if they agree.
    #[must_use]
    pub fn contradicts(self, other: Offset) -> Option<u64> {
        let may_be = self.error_ns.saturating_add(other.error_ns);
        let astray = self.ns.abs_diff(other.ns).saturating_sub(may_be);
        (astray > DRIFT_NS).then_some(astray)
    }

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
            round_trips in prop::collection::vec((0..5_000_000u64, 0..5_000_000u64, 0..1_000_000u64), 1..64),
        ) {
            let mut best: Option<Offset> = None;
            let mut now = 10_000_000_000_000u64;
            for (there, back, held) in round_trips {
                let came_ns = (now + there).saturating_add_signed(truth);
                let exchange = ClockExchange {
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
        assert_eq!(at(600_000).contradicts(at(0)), None);
        assert_eq!(
            at(i64::MIN).contradicts(at(i64::MAX)),
            Some(u64::MAX - 200_000)
        );
    }
}
