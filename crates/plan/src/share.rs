//! Arithmetic that divides arrivals and users into shares. The caller assigns the shares.

use serde::{Deserialize, Serialize};

/// One of `of` equal shares of the whole numbers: every `of`-th number, starting with `index`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Share {
    /// Index of the share, from 0.
    pub index: u64,
    /// Number of shares.
    pub of: u64,
}

impl Default for Share {
    fn default() -> Share {
        Share::WHOLE
    }
}

impl Share {
    /// The share that contains all numbers.
    pub const WHOLE: Share = Share { index: 0, of: 1 };

    /// Divides this share into `of` equal parts, and returns the part with this index. Other shares
    /// may be divided differently.
    #[must_use]
    pub fn part(self, index: u64, of: u64) -> Share {
        Share {
            index: self.index + self.of * index,
            of: self.of * of,
        }
    }

    /// Returns the number of the share as shown in messages, from 1.
    #[must_use]
    pub fn number(self) -> u64 {
        self.index + 1
    }

    /// Returns whether the share contains a number.
    #[must_use]
    pub fn has(self, number: u64) -> bool {
        number % self.of == self.index
    }

    /// Returns whether the two shares overlap.
    #[must_use]
    pub fn meets(self, other: Share) -> bool {
        // Shares overlap if their indexes are equal modulo the greatest common divisor of their
        // steps.
        let (mut common, mut rest) = (self.of, other.of);
        while rest > 0 {
            (common, rest) = (rest, common % rest);
        }
        common == 0 || self.index % common == other.index % common
    }

    /// Returns how many of the numbers from 0 to `count - 1` are in the share.
    #[must_use]
    pub fn of_first(self, count: u64) -> u64 {
        (count + self.of - 1).saturating_sub(self.index) / self.of
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_in_exactly_one_share() {
        let mut shares = Vec::new();
        for (process, workers) in [(0, 1), (1, 2), (2, 5)] {
            let own = Share {
                index: process,
                of: 3,
            };
            shares.extend((0..workers).map(|worker| own.part(worker, workers)));
        }
        for number in 0..1000 {
            assert_eq!(shares.iter().filter(|share| share.has(number)).count(), 1);
        }
        for (i, share) in shares.iter().enumerate() {
            assert!(shares.iter().skip(i + 1).all(|other| !share.meets(*other)));
        }
        for count in [0, 1, 7, 1000] {
            let dealt: u64 = shares.iter().map(|share| share.of_first(count)).sum();
            assert_eq!(dealt, count);
        }
    }

    #[test]
    fn shares_overlap_if_a_number_is_in_both() {
        let all: Vec<Share> = (1..9)
            .flat_map(|of| (0..of).map(move |index| Share { index, of }))
            .collect();
        for one in &all {
            for other in &all {
                let is_met = (0..72).any(|number| one.has(number) && other.has(number));
                assert_eq!(one.meets(*other), is_met, "{one:?} {other:?}");
            }
        }
    }
}
