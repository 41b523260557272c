//! A compact encoding of a histogram: pairs of varints (distance from the last filled bucket,
//! count), and the exact figures.
//!
//! [`Packed::from_histogram`] is lossless. [`Packed::coarse`] merges neighbouring buckets to limit
//! the size.

use crate::{
    Histogram,
    histogram::{Cell, cell_of},
    varint::{pull, push},
};

/// A packed histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Packed {
    cells: Box<[u8]>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Packed {
    /// Packs a histogram without loss.
    #[must_use]
    pub fn from_histogram<C: Cell>(histogram: &Histogram<C>) -> Packed {
        Packed::coarse(histogram, 0)
    }

    /// Packs a histogram at a lower resolution. Groups of 2^`halvings` buckets are merged, and
    /// their values count in the middle bucket. Count, sum, minimum and maximum stay exact.
    ///
    /// A value moves by at most half the merged width: 0.2 % for 2 halvings, 0.8 % for 4.
    #[must_use]
    pub fn coarse<C: Cell>(histogram: &Histogram<C>, halvings: u32) -> Packed {
        let mut cells = Vec::new();
        let mut next = 0;
        let mut push_cell = |index: usize, n: u64| {
            push(&mut cells, (index - next) as u64);
            push(&mut cells, n);
            next = index + 1;
        };
        let middle = |group: usize| (group << halvings) + (1 << halvings) / 2;
        let mut group: Option<(usize, u64)> = None;
        for (index, n) in histogram.indexed() {
            let number = index >> halvings;
            match &mut group {
                Some((known, sum)) if *known == number => *sum += n,
                _ => {
                    if let Some((known, sum)) = group.replace((number, n)) {
                        push_cell(middle(known), sum);
                    }
                }
            }
        }
        if let Some((known, sum)) = group {
            push_cell(middle(known), sum);
        }
        Packed {
            cells: cells.into_boxed_slice(),
            count: histogram.count(),
            sum: histogram.sum(),
            min: histogram.min().unwrap_or(u64::MAX),
            max: histogram.max().unwrap_or(0),
        }
    }

    /// Adds the packed values to a histogram.
    pub fn add_to<C: Cell>(&self, histogram: &mut Histogram<C>) {
        for (index, n) in self.indexed() {
            histogram.add_cell(index, n);
        }
        histogram.add_exact(self.sum, self.min, self.max);
    }

    /// Returns the number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the number of values above a bound, see [`Histogram::above`].
    #[must_use]
    pub fn above(&self, bound: u64) -> u64 {
        let last = cell_of(bound);
        let above = self.indexed().filter(|(index, _)| *index > last);
        above.map(|(_, n)| n).sum()
    }

    /// Returns the (index, count) pair of each filled bucket in ascending order.
    fn indexed(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        let mut rest = &self.cells[..];
        let mut next = 0;
        std::iter::from_fn(move || {
            let (gap, n) = (pull(&mut rest)?, pull(&mut rest)?);
            let index = next + gap as usize;
            next = index + 1;
            Some((index, n))
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::histogram::MAX_VALUE;

    #[test]
    fn coarse_packing_is_small_and_close() {
        let values: Vec<u64> = (0..200_000).map(|n| 1_000_000 + n * 997).collect();
        let exact = recorded(&values);
        for (halvings, error, cells) in [(2, 0.002, 2_100), (4, 0.008, 530)] {
            let packed = Packed::coarse(&exact, halvings);
            assert!(packed.indexed().count() <= cells);
            let mut unpacked = Histogram::<u64>::default();
            packed.add_to(&mut unpacked);
            assert_eq!(
                (unpacked.count(), unpacked.sum()),
                (exact.count(), exact.sum())
            );
            assert_eq!((unpacked.min(), unpacked.max()), (exact.min(), exact.max()));
            for q in [0.01, 0.5, 0.9, 0.99, 0.999] {
                let (was, is) = (exact.quantile(q).unwrap(), unpacked.quantile(q).unwrap());
                let off = (is as f64 / was as f64 - 1.0).abs();
                assert!(off <= error, "{q}: {was} became {is}");
            }
        }
        let mut once = Histogram::<u64>::default();
        Packed::coarse(&exact, 4).add_to(&mut once);
        assert_eq!(Packed::coarse(&once, 4), Packed::coarse(&exact, 4));
    }

    fn recorded(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::default();
        values.iter().for_each(|value| histogram.record(*value));
        histogram
    }

    #[test]
    fn one_second_of_responses_packs_small() {
        let values: Vec<u64> = (0..1_000).map(|i| 1_000_000 + i * 1_000).collect();
        let packed = Packed::from_histogram(&recorded(&values));
        assert!(packed.cells.len() < 3_000, "{}", packed.cells.len());
        assert_eq!(Packed::from_histogram(&recorded(&[])).cells.len(), 0);
    }

    proptest! {
        #[test]
        fn packing_round_trips(
            a in prop::collection::vec(0..2 * MAX_VALUE, 0..200),
            b in prop::collection::vec(0..10_000_000u64, 0..200),
        ) {
            let mut unpacked = Histogram::<u64>::default();
            Packed::from_histogram(&recorded(&a)).add_to(&mut unpacked);
            Packed::from_histogram(&recorded(&b)).add_to(&mut unpacked);
            let together = recorded(&[a, b].concat());
            prop_assert_eq!(unpacked.cells().collect::<Vec<_>>(), together.cells().collect::<Vec<_>>());
            prop_assert_eq!((unpacked.count(), unpacked.sum(), unpacked.min(), unpacked.max()),
                (together.count(), together.sum(), together.min(), together.max()));
        }
    }
}
