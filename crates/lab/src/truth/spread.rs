//! A histogram whose buckets are at most 1.6 % wide. Shares no code with the engine's histogram,
//! because the lab verifies it.

const FINE: u32 = 6;
const CLASSES: usize = ((64 - FINE as usize) + 1) << FINE;

pub(super) struct Spread {
    counts: Box<[u64]>,
    total: u64,
    max: u64,
}

impl Spread {
    pub(super) fn new() -> Self {
        Self {
            counts: vec![0; CLASSES].into(),
            total: 0,
            max: 0,
        }
    }

    pub(super) fn add(&mut self, ns: u64) {
        if let Some(count) = self.counts.get_mut(class(ns)) {
            *count += 1;
        }
        self.total += 1;
        self.max = self.max.max(ns);
    }

    pub(super) fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    pub(super) fn per_mille(&self, share: u64) -> Option<u64> {
        let rank = (u128::from(self.total) * u128::from(share)).div_ceil(1000);
        let mut seen = 0;
        let at = self.counts.iter().position(|&count| {
            seen += u128::from(count);
            seen >= rank && seen > 0
        })?;
        Some(highest(at).min(self.max))
    }
}

/// Returns the bucket of a duration. Each power of two is divided into the same number of buckets.
fn class(ns: u64) -> usize {
    let shift = (u64::BITS - (ns >> FINE).leading_zeros()).saturating_sub(1);
    ((shift as usize) << FINE) + (ns >> shift) as usize
}

fn highest(class: usize) -> u64 {
    let power = (class >> FINE).saturating_sub(1);
    let base = (class - (power << FINE)) as u64;
    (base << power) | ((1 << power) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn percentiles_match_known_values() {
        let mut spread = Spread::new();
        assert_eq!((spread.per_mille(500), spread.max()), (None, None));
        for ns in 1..=1000 {
            spread.add(ns * 1000);
        }
        for (share, ns) in [(500, 500_000), (990, 990_000), (1000, 1_000_000)] {
            let read = spread.per_mille(share).unwrap();
            assert!(read >= ns && read <= ns + ns / 60, "{share}: {read}");
        }
        assert_eq!(spread.max(), Some(1_000_000));
    }

    proptest! {
        #[test]
        fn values_are_inside_their_class(ns in any::<u64>(), shift in 0..64) {
            let ns = ns >> shift;
            let at = class(ns);
            prop_assert!(at < CLASSES);
            prop_assert!(highest(at) >= ns && highest(at) - ns <= ns >> FINE);
            prop_assert!(at == 0 || highest(at - 1) < ns);
        }
    }
}
